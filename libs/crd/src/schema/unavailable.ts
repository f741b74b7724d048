import { ipAllocations, ipPools } from "../resources.ts";
import { quoted } from "./cel.ts";
import { withBindings, type PolicyManifest, type PolicySpec } from "./policies.ts";

/**
 * Annotations of Services, Namespaces and Nodes that upstream Antrea reads for features that are not available here.
 */
const annotations = {
    prefixes: ["nodeportlocal.antrea.io/", "service.antrea.io/"],
    keys: ["networkpolicy.antrea.io/enable-logging", "node.antrea.io/max-egress-ips", "node.antrea.io/bgp-router-id"],
} as const;

const operations = ["CREATE", "UPDATE"] as const;

/**
 * Returns policies that warn, and never reject, when a client writes objects or annotations for features that are not
 * available in this version, each followed by its binding. The warning names the resource and the object.
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
                        apiGroups: [group],
                        apiVersions: ["*"],
                        operations: ["*"] as const,
                        resources: [plural, `${plural}/*`],
                    })),
                ),
            },
            "antrea-unavailable-annotations": annotationWarning(),
        },
        "Warn",
    );
}

/** Warns only the client that sets or changes such an annotation, not each program that writes the object later. */
function annotationWarning(): PolicySpec {
    // a field that every Service has does not show that the feature is wanted
    const isDefault = `(key == ${quoted("service.antrea.io/load-balancer-mode")} && variables.now[key] == ${quoted("nat")})`;
    const tests = [
        ...annotations.prefixes.map((prefix) => `key.startsWith(${quoted(prefix)})`),
        `key in [${annotations.keys.map(quoted).join(", ")}]`,
    ];
    const earlier = "(oldObject == null ? {} : oldObject.metadata.?annotations.orValue({}))";
    return {
        failurePolicy: "Ignore",
        matchConstraints: {
            resourceRules: [
                { apiGroups: [""], apiVersions: ["*"], resources: ["services", "namespaces", "nodes"], operations },
            ],
        },
        variables: [
            { name: "now", expression: "object.metadata.?annotations.orValue({})" },
            { name: "earlier", expression: earlier },
            {
                name: "unread",
                expression:
                    `variables.now.filter(key, (${tests.join(" || ")}) && !${isDefault} && ` +
                    `!(key in variables.earlier && variables.earlier[key] == variables.now[key]))`,
            },
        ],
        validations: [
            {
                expression: "variables.unread.size() == 0",
                messageExpression:
                    "request.resource.resource + '/' + " +
                    "(has(object.metadata.namespace) ? object.metadata.namespace + '/' : '') + object.metadata.?name.orValue('') + ': annotations ' + variables.unread.join(', ') + " +
                    "' have no effect: the feature is not available in this version of Antrea'",
            },
        ],
    };
}

/** failurePolicy is Ignore: a warning that cannot be given must not block the write. */
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
