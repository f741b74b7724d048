/** Objects that a program accesses only by name, and never another of their kind. */
export interface Scope {
    readonly resource: string;
    /** The program; absent: every program that accesses the kind. */
    readonly of?: string;
    /** In the release's Namespace; false: the kind is cluster-scoped. */
    readonly own: boolean;
    readonly names: readonly string[];
}

/** All such objects. */
export const scopes: readonly Scope[] = [
    { resource: "daemonsets", of: "agent", own: true, names: ["antrea-agent"] },
    { resource: "leases", own: true, names: ["antrea-controller"] },
    { resource: "configmaps", own: true, names: ["antrea-node-ipam"] },
    { resource: "secrets", own: true, names: ["antrea-webhook-ca"] },
    { resource: "validatingwebhookconfigurations", own: false, names: ["antrea"] },
];

/**
 * RBAC cannot restrict a create by name. The admission policy antrea-own-objects restricts the names that may be
 * created.
 */
export const namelessVerbs: readonly string[] = ["create"];
