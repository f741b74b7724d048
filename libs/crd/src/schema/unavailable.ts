import { ipAllocations, ipPools } from "../resources.ts";
import { withBindings, type PolicyManifest, type PolicySpec } from "./policies.ts";

const operations = ["CREATE", "UPDATE"] as const;

/**
 * Warnings, never refusals, about objects that this version accepts and nothing serves, each policy with its binding.
 * The warning names the kind, as kubectl shows it beside "created".
 */
export function unavailablePolicies(): readonly PolicyManifest[] {
    return withBindings(
        {
            "antrea-network-policies": warning(
                [
                    {
                        apiGroups: ["networking.k8s.io"],
                        apiVersions: ["*"],
                        resources: ["networkpolicies"],
                        operations,
                    },
                    { apiGroups: ["policy.networking.k8s.io"], apiVersions: ["*"], resources: ["*"], operations },
                ],
                "is not enforced: this version of Antrea has no network policies, and traffic passes as without it",
            ),
            "antrea-unavailable-kinds": {
                ...warning(
                    [
                        { apiGroups: [ipPools.group], apiVersions: ["*"], resources: ["*"], operations },
                        {
                            apiGroups: [`multicluster.${ipPools.group}`],
                            apiVersions: ["*"],
                            resources: ["*"],
                            operations,
                        },
                    ],
                    "has no effect: the feature is not available in this version of Antrea",
                    [ipPools, ipAllocations].map(({ group, plural }) => ({
                        ...{ apiGroups: [group], apiVersions: ["*"], operations: ["*"] as const },
                        resources: [plural, `${plural}/*`],
                    })),
                ),
            },
        },
        "Warn",
    );
}

/** Ignore: a warning that cannot be given must not keep an object from being written. */
function warning(
    resourceRules: PolicySpec["matchConstraints"]["resourceRules"],
    text: string,
    excludeResourceRules?: PolicySpec["matchConstraints"]["resourceRules"],
): PolicySpec {
    return {
        failurePolicy: "Ignore",
        matchConstraints: { resourceRules, ...(excludeResourceRules !== undefined && { excludeResourceRules }) },
        validations: [
            {
                expression: "false",
                messageExpression: `request.resource.resource + '.' + request.resource.group + '/' + object.metadata.?name.orValue('') + ' ${text}'`,
            },
        ],
    };
}
