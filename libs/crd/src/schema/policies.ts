import { forceDeleteAnnotation, podIpsAnnotation, poolsAnnotation } from "../names.ts";
import { ipAllocations } from "../resources.ts";
import { quoted } from "./cel.ts";
import { bothWays, kept, same } from "./unchanged.ts";

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

/** `spec` of a ValidatingAdmissionPolicy, reduced to the fields that this project sets. */
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

/** Effect of a violated policy: `Deny` rejects the request, `Warn` returns a warning to the client. */
export type PolicyAction = "Deny" | "Warn";

/** A ValidatingAdmissionPolicy or its ValidatingAdmissionPolicyBinding (admissionregistration.k8s.io/v1). */
export interface PolicyManifest {
    readonly apiVersion: "admissionregistration.k8s.io/v1";
    readonly kind: "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding";
    readonly metadata: { readonly name: string };
    readonly spec: PolicySpec | { readonly policyName: string; readonly validationActions: readonly [PolicyAction] };
}

/** Options of the functions that return admission policies: whose requests the policies concern. */
export interface AdmissionPolicyOptions {
    /** Namespace of the ServiceAccounts antrea-agent and antrea-controller. */
    readonly namespace: string;
}

/**
 * Returns the policies, each followed by its binding, that protect IPAllocations and the IPAM annotations of Pods and
 * Pod templates: an agent writes allocations of its own Node only; nobody but agents and controller changes or deletes
 * an allocation in use without `ipam.antrea.io/force-delete`; annotations do not change, but those of templates can be
 * removed.
 */
export function admissionPolicies({ namespace }: AdmissionPolicyOptions): readonly PolicyManifest[] {
    const user = userIn(namespace);
    return withBindings({
        "antrea-agent-ipallocations": agentAllocations(user("antrea-agent")),
        "antrea-ipallocations-in-use": allocationsInUse(user("antrea-agent"), user("antrea-controller")),
        "antrea-pod-annotations": fixedAnnotations("Pod", "metadata", {
            apiGroups: [""],
            // An update of the status, which not only the owner may write, can change annotations too.
            resources: ["pods", "pods/status"],
        }),
        // The webhook, which has the feature gate, rejects the removal too while pools are in use. While they are
        // not, it must be possible to remove a stale or invalid annotation.
        "antrea-template-annotations": fixedAnnotations(
            "Pod template",
            "spec.template.metadata",
            { apiGroups: ["apps"], resources: ["deployments", "statefulsets", "daemonsets", "replicasets"] },
            { mayBeRemoved: true },
        ),
    });
}

/**
 * Returns the policies, each followed by its binding, that restrict the controller's updates of Nodes to their
 * podCIDRs, and the objects that the controller and the webhook may create to their own by name. Deletions and other
 * updates are left to RBAC.
 */
export function programPolicies({ namespace }: AdmissionPolicyOptions): readonly PolicyManifest[] {
    const user = userIn(namespace);
    return withBindings({
        "antrea-controller-nodes": controllerNode(user("antrea-controller")),
        "antrea-own-objects": ownObjects(user("antrea-controller"), user("antrea-webhook")),
    });
}

/** Returns a function from the name of a ServiceAccount of this Namespace to its user name, as a CEL literal. */
export function userIn(namespace: string): (account: string) => string {
    return (account) => quoted(`system:serviceaccount:${namespace}:${account}`);
}

/**
 * Returns a ValidatingAdmissionPolicy for each entry (name to spec), each followed by its binding of the same name with
 * this action (default `Deny`).
 */
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

const allocations = (...operations: readonly ("CREATE" | "UPDATE" | "DELETE")[]): PolicySpec["matchConstraints"] => ({
    resourceRules: [
        { apiGroups: [ipAllocations.group], apiVersions: ["*"], resources: [ipAllocations.plural], operations },
    ],
});

const nodeName = quoted("authentication.kubernetes.io/node-name");
/** CEL variable `variables.node`: the Node of the Pod to which the token is bound; "" for an unbound token. */
export const ownNode = {
    name: "node",
    expression:
        `has(request.userInfo.extra) && ${nodeName} in request.userInfo.extra ` +
        `? request.userInfo.extra[${nodeName}][0] : ''`,
};

/**
 * The controller assigns podCIDRs to Nodes. The API server itself rejects later changes of them, and of the status by
 * this request.
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
 * RBAC cannot restrict `create` to a name. The type of a Secret is checked too: with the type of service account
 * tokens, the control plane would fill it with the token of any account of its Namespace.
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
 * An agent writes allocations of Pods on its own Node only: it creates them Allocated, changes and releases its own (a
 * Pod's by deletion, a StatefulSet's by making it Reserved), and allocates those reserved for a StatefulSet. That the
 * Pod fits the owner is a rule of the CRD, for all clients. Stored allocations may lack any field, so all are optional
 * here.
 */
function agentAllocations(agent: string): PolicySpec {
    const allocatedHere = (object: string): string =>
        `${object} != null && ${object}.?spec.?state.orValue('') == 'Allocated' && ` +
        `${object}.?spec.?pod.?nodeName.orValue('') == variables.node`;
    const ownerKind = (object: string): string => `${object}.?spec.?owner.?kind.orValue('')`;
    const kept = (field: string): string =>
        `object.metadata.?${field}.orValue([]).all(one, oldObject != null && one in oldObject.metadata.?${field}.orValue([]))`;
    const rejection = (rule: string): string =>
        `'the agent of Node ' + variables.node + ' cannot ' + variables.verb + ' the allocation of ' + request.name + ${quoted(`: ${rule}`)}`;
    return {
        failurePolicy: "Fail",
        matchConstraints: allocations("CREATE", "UPDATE", "DELETE"),
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
                message: "the token is not bound to a Node; an agent writes allocations with the token of its own Pod",
                reason: "Forbidden",
            },
            {
                expression: `object == null || (${kept("finalizers")} && ${kept("ownerReferences")})`,
                message: "allocations have no finalizers and no ownerReferences",
                reason: "Forbidden",
            },
            {
                expression: `request.operation != 'CREATE' || (variables.mine && ${ownerKind("object")} in ['Pod', 'StatefulSet'])`,
                messageExpression: rejection("it must be Allocated to a Pod of its own Node"),
                reason: "Forbidden",
            },
            {
                expression: `request.operation != 'DELETE' || (variables.wasMine && ${ownerKind("oldObject")} == 'Pod')`,
                messageExpression: rejection("it must be owned by, and Allocated to, a Pod of its own Node"),
                reason: "Forbidden",
            },
            {
                expression:
                    "request.operation != 'UPDATE' || (object.?spec.?owner == oldObject.?spec.?owner && " +
                    "((variables.wasMine && variables.mine) || " +
                    `(${ownerKind("object")} == 'StatefulSet' && ` +
                    "(variables.wasMine ? object.spec.state == 'Reserved' : " +
                    "variables.mine && oldObject.?spec.?state.orValue('') == 'Reserved'))))",
                messageExpression: rejection(
                    "it may change those of its own Node, and those of StatefulSets from and to Reserved, but no owner",
                ),
                reason: "Forbidden",
            },
        ],
    };
}

/** An address in use must not be released by mistake; the annotation overrides this. */
function allocationsInUse(agent: string, controller: string): PolicySpec {
    const forced = `oldObject.metadata.?annotations[?${quoted(forceDeleteAnnotation)}].orValue('') == 'true'`;
    const pod = (field: string): string => `oldObject.?spec.?pod.?${field}.orValue('?')`;
    return {
        failurePolicy: "Fail",
        matchConstraints: allocations("UPDATE", "DELETE"),
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
                    "If it is no longer in use, first run: kubectl annotate ipallocation ' + oldObject.metadata.name + " +
                    quoted(` ${forceDeleteAnnotation}=true`),
                reason: "Forbidden",
            },
        ],
    };
}

/**
 * The address of a Pod is chosen once, when it starts: a later change would have no effect or an unexpected one.
 * failurePolicy is Ignore because a failing policy must not block Pods, and the agent reads the annotations at that
 * moment only.
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
