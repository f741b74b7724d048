import { daemons, type Daemon } from "../programs.ts";

/** What of a rendered manifest says who may do what. */
export interface RbacManifest {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace?: string };
    readonly rules?: readonly {
        readonly apiGroups: readonly string[];
        readonly resources: readonly string[];
        readonly resourceNames?: readonly string[];
        readonly verbs: readonly string[];
    }[];
    readonly roleRef?: { readonly kind: string; readonly name: string };
    readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** One verb on one resource that an account has. */
export interface Grant {
    readonly verb: string;
    readonly group: string;
    readonly resource: string;
    /** Only in the Namespace of the release; else in all of the cluster. */
    readonly own: boolean;
    /** Only of these names; undefined: any. */
    readonly names: readonly string[] | undefined;
}

/** All that the ServiceAccount antrea-NAME may do, by the roles that are bound to it. */
export function grantsOf(daemon: Daemon, manifests: readonly RbacManifest[]): readonly Grant[] {
    const bindings = manifests.filter(
        ({ kind, subjects = [] }) =>
            (kind === "ClusterRoleBinding" || kind === "RoleBinding") &&
            subjects.some((one) => one.kind === "ServiceAccount" && one.name === `antrea-${daemon}`),
    );
    return bindings.flatMap(({ kind, roleRef }) => {
        const role = manifests.find((one) => one.kind === roleRef?.kind && one.metadata.name === roleRef?.name);
        return (role?.rules ?? []).flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
            apiGroups.flatMap((group) =>
                resources.flatMap((resource) =>
                    verbs.map((verb) => ({ verb, group, resource, own: kind === "RoleBinding", names: resourceNames })),
                ),
            ),
        );
    });
}

/** Accounts of ours that have no program, or that are bound to a role of somebody else. */
export function strangers(manifests: readonly RbacManifest[]): readonly string[] {
    const accounts = daemons.map((daemon) => `antrea-${daemon}`);
    const roles = new Set(
        manifests.filter(({ kind }) => kind.endsWith("Role")).map(({ kind, metadata }) => `${kind}/${metadata.name}`),
    );
    return manifests.flatMap(({ kind, metadata, roleRef, subjects = [] }) => {
        if (kind === "ServiceAccount" && !accounts.includes(metadata.name)) return [`ServiceAccount ${metadata.name}`];
        if (roleRef === undefined) return [];
        const unknown = subjects.filter((one) => one.kind !== "ServiceAccount" || !accounts.includes(one.name));
        const elsewhere = roles.has(`${roleRef.kind}/${roleRef.name}`)
            ? []
            : [`${kind} ${metadata.name}: ${roleRef.name}`];
        return [...unknown.map((one) => `${kind} ${metadata.name}: ${one.kind} ${one.name}`), ...elsewhere];
    });
}
