import {
    macAnnotation,
    networkStatusAnnotation,
    secondaryBridgeCondition,
    transportAnnotation,
    uplinkCondition,
} from "../names.ts";
import { quoted } from "./cel.ts";
import {
    ownNode,
    userIn,
    withBindings,
    type AdmissionPolicyOptions,
    type PolicyManifest,
    type PolicySpec,
} from "./policies.ts";
import { bothWays, kept, same } from "./unchanged.ts";

/**
 * Returns the policies, each followed by its binding, that restrict an agent to its own Node: of the Node object to the
 * annotations and conditions that it announces, of the Pods on it to the annotation with the state of their networks.
 */
export function nodePolicies({ namespace }: AdmissionPolicyOptions): readonly PolicyManifest[] {
    const agent = userIn(namespace)("antrea-agent");
    return withBindings({ "antrea-agent-nodes": agentNode(agent), "antrea-agent-pods": agentPod(agent) });
}

/** Of the metadata and the spec, all that an update can change, but the annotations. */
const besideAnnotations = ["?spec", "metadata.?labels", "metadata.?finalizers", "metadata.?ownerReferences"];

/**
 * An agent announces how its own Node is reached, and whether its uplink and its secondary bridge are as configured, and
 * changes nothing else.
 */
function agentNode(agent: string): PolicySpec {
    const announced = [transportAnnotation, macAnnotation];
    const conditions = [uplinkCondition, secondaryBridgeCondition];
    const otherConditions = (object: string): string =>
        `${object}.?status.?conditions.orValue([]).filter(one, !(one.type in [${conditions.map(quoted).join(", ")}]))`;
    const rules = [
        ...besideAnnotations.map(same),
        ...[kept("metadata.?annotations", announced), kept("status", ["conditions"])].flatMap(bothWays),
        `${otherConditions("object")} == ${otherConditions("oldObject")}`,
    ];
    return {
        failurePolicy: "Fail",
        matchConstraints: {
            resourceRules: [
                {
                    apiGroups: [""],
                    apiVersions: ["*"],
                    resources: ["nodes", "nodes/status"],
                    operations: ["UPDATE"],
                },
            ],
        },
        matchConditions: [{ name: "agent", expression: `request.userInfo.username == ${agent}` }],
        variables: [ownNode],
        validations: [
            {
                expression: "variables.node == request.name",
                messageExpression:
                    "'the agent of Node ' + variables.node + ' cannot change Node ' + request.name + ': it is not its own'",
                reason: "Forbidden",
            },
            {
                expression: rules.join(" && "),
                message: `an agent changes nothing of its Node but the annotations ${announced.join(", ")} and the conditions ${conditions.join(", ")}`,
                reason: "Forbidden",
            },
        ],
    };
}

/**
 * An agent writes the state of the networks of Pods on its own Node, and changes nothing else of them. RBAC cannot
 * restrict `pods/status` to that, which has the addresses and the readiness of Pods, and whose updates can change
 * metadata too.
 */
function agentPod(agent: string): PolicySpec {
    const rules = [
        ...besideAnnotations.map(same),
        ...[kept("metadata.?annotations", [networkStatusAnnotation]), kept("status", [])].flatMap(bothWays),
    ];
    return {
        failurePolicy: "Fail",
        matchConstraints: {
            resourceRules: [
                { apiGroups: [""], apiVersions: ["*"], resources: ["pods", "pods/status"], operations: ["UPDATE"] },
            ],
        },
        matchConditions: [{ name: "agent", expression: `request.userInfo.username == ${agent}` }],
        variables: [ownNode],
        validations: [
            {
                // A Pod that is not scheduled is on the Node '', as an unbound token is.
                expression: "variables.node != '' && oldObject.?spec.?nodeName.orValue('') == variables.node",
                messageExpression:
                    "'the agent of Node ' + variables.node + ' cannot change Pod ' + request.namespace + '/' + request.name + ': it is not on its Node'",
                reason: "Forbidden",
            },
            {
                expression: rules.join(" && "),
                message: `an agent changes nothing of a Pod but the annotation ${networkStatusAnnotation}`,
                reason: "Forbidden",
            },
        ],
    };
}
