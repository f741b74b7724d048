import {
    forceDeleteAnnotation,
    macAnnotation,
    podIpsAnnotation,
    poolsAnnotation,
    transportAnnotation,
    uplinkCondition,
} from "../names.ts";
import { ipAllocations } from "../resources.ts";
import { quoted } from "./cel.ts";

interface Validation {
    readonly expression: string;
    readonly message?: string;
    readonly messageExpression?: string;
    readonly reason?: "Forbidden" | "Invalid";
}

interface ResourceRule {
    readonly apiGroups: readonly string[];
    readonly apiVersions: readonly string[];
    readonly resources: readonly string[];
    readonly operations: readonly ("CREATE" | "UPDATE" | "DELETE" | "*")[];
}

export interface PolicySpec {
    readonly failurePolicy: "Fail" | "Ignore";
    readonly matchConstraints: {
        readonly resourceRules: readonly ResourceRule[];
        readonly excludeResourceRules?: readonly ResourceRule[];
    };
    readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly Validation[];
}

/** What follows from a broken rule: the request is refused, or answered with a warning. */
export type PolicyAction = "Deny" | "Warn";

/** A ValidatingAdmissionPolicy or its binding (admissionregistration.k8s.io/v1). */
export interface PolicyManifest {
    readonly apiVersion: "admissionregistration.k8s.io/v1";
    readonly kind: "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding";
    readonly metadata: { readonly name: string };
    readonly spec: PolicySpec | { readonly policyName: string; readonly validationActions: readonly [PolicyAction] };
}

export interface AdmissionPolicyOptions {
    /** Namespace of the ServiceAccounts antrea-agent and antrea-controller. */
    readonly namespace: string;
}

/** The policies about IPPools that the API server itself applies, each followed by its binding. */
export function admissionPolicies({ namespace }: AdmissionPolicyOptions): readonly PolicyManifest[] {
    const user = userIn(namespace);
    return withBindings({
        "antrea-agent-ipallocations": agentClaims(user("antrea-agent")),
        "antrea-ipallocations-in-use": claimsInUse(user("antrea-agent"), user("antrea-controller")),
        "antrea-pod-annotations": fixedAnnotations("Pod", "metadata", {
            apiGroups: [""],
            // With its status, which others than its owner may write, the API server takes annotations too.
            resources: ["pods", "pods/status"],
        }),
        // The webhook, which knows the gate, refuses the removal too while pools are used. While they are not, a stale or
        // bad annotation must not stay for good.
        "antrea-template-annotations": fixedAnnotations(
            "Pod template",
            "spec.template.metadata",
            { apiGroups: ["apps"], resources: ["deployments", "statefulsets", "daemonsets", "replicasets"] },
            { mayBeRemoved: true },
        ),
    });
}

/** What the agent of a Node may do to Node objects, with its binding. */
export function nodePolicies({ namespace }: AdmissionPolicyOptions): readonly PolicyManifest[] {
    return withBindings({ "antrea-agent-nodes": agentNode(userIn(namespace)("antrea-agent")) });
}

/** What the controller may do to Nodes, and which objects controller and webhook may make, each with its binding. */
export function programPolicies({ namespace }: AdmissionPolicyOptions): readonly PolicyManifest[] {
    const user = userIn(namespace);
    return withBindings({
        "antrea-controller-nodes": controllerNode(user("antrea-controller")),
        "antrea-own-objects": ownObjects(user("antrea-controller"), user("antrea-webhook")),
    });
}

function userIn(namespace: string): (account: string) => string {
    return (account) => quoted(`system:serviceaccount:${namespace}:${account}`);
}

/** Policies by name, each followed by its binding. */
export function withBindings(
    policies: Readonly<Record<string, PolicySpec>>,
    action: PolicyAction = "Deny",
): readonly PolicyManifest[] {
    return Object.entries(policies).flatMap(([name, spec]) => {
        const common = { apiVersion: "admissionregistration.k8s.io/v1", metadata: { name } } as const;
        return [
            { ...common, kind: "ValidatingAdmissionPolicy", spec },
            {
                ...common,
                kind: "ValidatingAdmissionPolicyBinding",
                spec: { policyName: name, validationActions: [action] },
            },
        ] as const;
    });
}

const claims = (...operations: readonly ("CREATE" | "UPDATE" | "DELETE")[]): PolicySpec["matchConstraints"] => ({
    resourceRules: [
        { apiGroups: [ipAllocations.group], apiVersions: ["*"], resources: [ipAllocations.plural], operations },
    ],
});

const nodeName = quoted("authentication.kubernetes.io/node-name");
/** The Node of the Pod that the token is bound to; "" for a token that is bound to none. */
const ownNode = {
    name: "node",
    expression:
        `has(request.userInfo.extra) && ${nodeName} in request.userInfo.extra ` +
        `? request.userInfo.extra[${nodeName}][0] : ''`,
};

type Rule = (one: string, other: string) => string;

/** What one object has in a map it has in the other too, but for some keys; read by keys, so that unknown ones count. */
function kept(field: string, but: readonly string[]): Rule {
    return (one, other) => {
        const [ours, theirs] = [one, other].map((object) => `dyn(${object}).?${field}.orValue({})`);
        return `${ours}.all(key, key in [${but.map(quoted).join(", ")}] || (key in ${theirs} && ${ours}[key] == ${theirs}[key]))`;
    };
}

function bothWays(rule: Rule): readonly string[] {
    return [rule("object", "oldObject"), rule("oldObject", "object")];
}

function same(field: string): string {
    return `object.${field} == oldObject.${field}`;
}

/** An agent announces how its own Node is reached and whether its interface is bridged, and changes nothing else. */
function agentNode(agent: string): PolicySpec {
    const announced = [transportAnnotation, macAnnotation];
    const otherConditions = (object: string): string =>
        `${object}.?status.?conditions.orValue([]).filter(one, one.type != ${quoted(uplinkCondition)})`;
    const rules = [
        ...["?spec", "metadata.?labels", "metadata.?finalizers", "metadata.?ownerReferences"].map(same),
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
                message: `an agent changes nothing of its Node but the annotations ${announced.join(", ")} and the condition ${uplinkCondition}`,
                reason: "Forbidden",
            },
        ],
    };
}

/**
 * The controller gives Nodes their podCIDRs. That these are never changed, and the status not by this way, are rules of
 * the API server.
 */
function controllerNode(controller: string): PolicySpec {
    const given = ["podCIDR", "podCIDRs"];
    const metadata = ["labels", "annotations", "finalizers", "ownerReferences"].map((field) => `metadata.?${field}`);
    return {
        failurePolicy: "Fail",
        matchConstraints: {
            resourceRules: [{ apiGroups: [""], apiVersions: ["*"], resources: ["nodes"], operations: ["UPDATE"] }],
        },
        matchConditions: [{ name: "controller", expression: `request.userInfo.username == ${controller}` }],
        validations: [
            {
                expression: [...metadata.map(same), ...bothWays(kept("spec", given))].join(" && "),
                message: `antrea-controller changes nothing of Nodes but spec.${given.join(" and spec.")}`,
                reason: "Forbidden",
            },
        ],
    };
}

/**
 * RBAC cannot bind the right to create to a name. A Secret of a certain type would be filled with the token of any
 * account of its Namespace, so the type counts too.
 */
function ownObjects(controller: string, webhook: string): PolicySpec {
    const own = { configmaps: "antrea-node-ipam", leases: "antrea-controller", secrets: "antrea-webhook-ca" };
    const names = Object.entries(own).map(([resource, name]) => `${quoted(resource)}: ${quoted(name)}`);
    return {
        failurePolicy: "Fail",
        matchConstraints: {
            resourceRules: [
                { apiGroups: [""], apiVersions: ["*"], resources: ["configmaps", "secrets"], operations: ["CREATE"] },
                {
                    apiGroups: ["coordination.k8s.io"],
                    apiVersions: ["*"],
                    resources: ["leases"],
                    operations: ["CREATE"],
                },
            ],
        },
        matchConditions: [{ name: "program", expression: `request.userInfo.username in [${controller}, ${webhook}]` }],
        validations: [
            {
                expression: `object.metadata.?name.orValue('') == {${names.join(", ")}}[request.resource.resource]`,
                message: `antrea creates no ${Object.keys(own).join(", ")} but ${Object.values(own).join(", ")}`,
                reason: "Forbidden",
            },
            {
                expression: "request.resource.resource != 'secrets' || dyn(object).?type.orValue('') == 'Opaque'",
                message: "the type of the Secret must be Opaque",
                reason: "Forbidden",
            },
        ],
    };
}

/**
 * An agent writes claims of Pods on its own Node only: it creates them Allocated, changes its own, frees its own (a Pod's
 * by deletion, a StatefulSet's by making it Reserved), and takes up those reserved for a StatefulSet. That the Pod fits
 * the owner is a rule of the CRD, for everyone. Stored claims may lack any field, so all are read as optional.
 */
function agentClaims(agent: string): PolicySpec {
    const allocatedHere = (object: string): string =>
        `${object} != null && ${object}.?spec.?state.orValue('') == 'Allocated' && ` +
        `${object}.?spec.?pod.?nodeName.orValue('') == variables.node`;
    const ownerKind = (object: string): string => `${object}.?spec.?owner.?kind.orValue('')`;
    const kept = (field: string): string =>
        `object.metadata.?${field}.orValue([]).all(one, oldObject != null && one in oldObject.metadata.?${field}.orValue([]))`;
    const told = (rule: string): string =>
        `'the agent of Node ' + variables.node + ' cannot ' + variables.verb + ' the claim of ' + request.name + ${quoted(`: ${rule}`)}`;
    return {
        failurePolicy: "Fail",
        matchConstraints: claims("CREATE", "UPDATE", "DELETE"),
        matchConditions: [{ name: "agent", expression: `request.userInfo.username == ${agent}` }],
        variables: [
            ownNode,
            { name: "verb", expression: "request.operation.lowerAscii()" },
            { name: "mine", expression: allocatedHere("object") },
            { name: "wasMine", expression: allocatedHere("oldObject") },
        ],
        validations: [
            {
                expression: "variables.node != ''",
                message: "the token is not bound to a Node; an agent writes claims with the token of its own Pod",
                reason: "Forbidden",
            },
            {
                expression: `object == null || (${kept("finalizers")} && ${kept("ownerReferences")})`,
                message: "claims have no finalizers and no ownerReferences",
                reason: "Forbidden",
            },
            {
                expression: `request.operation != 'CREATE' || (variables.mine && ${ownerKind("object")} in ['Pod', 'StatefulSet'])`,
                messageExpression: told("it must be Allocated to a Pod of its own Node"),
                reason: "Forbidden",
            },
            {
                expression: `request.operation != 'DELETE' || (variables.wasMine && ${ownerKind("oldObject")} == 'Pod')`,
                messageExpression: told("it must be owned by, and Allocated to, a Pod of its own Node"),
                reason: "Forbidden",
            },
            {
                expression:
                    "request.operation != 'UPDATE' || (object.?spec.?owner == oldObject.?spec.?owner && " +
                    "((variables.wasMine && variables.mine) || " +
                    `(${ownerKind("object")} == 'StatefulSet' && ` +
                    "(variables.wasMine ? object.spec.state == 'Reserved' : " +
                    "variables.mine && oldObject.?spec.?state.orValue('') == 'Reserved'))))",
                messageExpression: told(
                    "it may change those of its own Node, and those of StatefulSets from and to Reserved, but no owner",
                ),
                reason: "Forbidden",
            },
        ],
    };
}

/** Who uses an address loses it by nobody's mistake; the annotation breaks the glass. */
function claimsInUse(agent: string, controller: string): PolicySpec {
    const forced = `oldObject.metadata.?annotations[?${quoted(forceDeleteAnnotation)}].orValue('') == 'true'`;
    const pod = (field: string): string => `oldObject.?spec.?pod.?${field}.orValue('?')`;
    return {
        failurePolicy: "Fail",
        matchConstraints: claims("UPDATE", "DELETE"),
        matchConditions: [
            { name: "someone-else", expression: `!(request.userInfo.username in [${agent}, ${controller}])` },
            { name: "in-use", expression: "oldObject.?spec.?state.orValue('') == 'Allocated'" },
        ],
        validations: [
            {
                expression: `${forced} || (object != null && object.spec == oldObject.spec)`,
                messageExpression:
                    `'address ' + oldObject.metadata.name + ' is used by Pod ' + ${pod("namespace")} + '/' + ${pod("name")} + ` +
                    `' on Node ' + ${pod("nodeName")} + ': delete the Pod, and the address is freed. ` +
                    "If nothing uses it any more, first run: kubectl annotate ipallocation ' + oldObject.metadata.name + " +
                    quoted(` ${forceDeleteAnnotation}=true`),
                reason: "Forbidden",
            },
        ],
    };
}

/**
 * A Pod's address is chosen once, when it starts: a change would have no effect, or one nobody expects. Ignore, as no
 * mistake of ours may stand in the way of Pods, and the agent reads the annotations at that one moment only.
 */
function fixedAnnotations(
    what: string,
    path: string,
    { apiGroups, resources }: { readonly apiGroups: readonly string[]; readonly resources: readonly string[] },
    { mayBeRemoved = false }: { readonly mayBeRemoved?: boolean } = {},
): PolicySpec {
    const value = (object: string, key: string): string => `${object}.${path}.?annotations[?${quoted(key)}]`;
    const shown = (object: string, key: string): string =>
        `${value(object, key)}.optMap(v, '"' + v + '"').orValue('nothing')`;
    return {
        failurePolicy: "Ignore",
        matchConstraints: { resourceRules: [{ apiGroups, apiVersions: ["*"], resources, operations: ["UPDATE"] }] },
        validations: [poolsAnnotation, podIpsAnnotation].map((key) => ({
            expression:
                (mayBeRemoved ? `!${value("object", key)}.hasValue() || ` : "") +
                `${value("object", key)} == ${value("oldObject", key)}`,
            messageExpression:
                `${quoted(`${path}.annotations[${key}] of a ${what} cannot be changed, from `)} + ${shown("oldObject", key)} + ` +
                `' to ' + ${shown("object", key)} + '; delete the object and create it again'`,
            reason: "Invalid" as const,
        })),
    };
}
