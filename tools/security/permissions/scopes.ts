/** Objects that a program reaches by their name only, and never another of their kind. */
export interface Scope {
    readonly resource: string;
    /** The program that does; absent: each that reaches the kind. */
    readonly of?: string;
    /** In the Namespace of the release; false: the kind belongs to the cluster. */
    readonly own: boolean;
    readonly names: readonly string[];
}

export const scopes: readonly Scope[] = [
    { resource: "daemonsets", of: "agent", own: true, names: ["antrea-agent"] },
    { resource: "leases", own: true, names: ["antrea-controller"] },
    { resource: "configmaps", own: true, names: ["antrea-node-ipam"] },
    { resource: "secrets", own: true, names: ["antrea-webhook-ca"] },
    { resource: "validatingwebhookconfigurations", own: false, names: ["antrea"] },
];

/**
 * RBAC does not know the name of an object that is being created. Which names may be created is said by the admission
 * policy antrea-own-objects.
 */
export const namelessVerbs: readonly string[] = ["create"];
