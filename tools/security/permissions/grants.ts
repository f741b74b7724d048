import { daemons, type Daemon } from "../programs.ts";

/** The RBAC objects of a rendered manifest. */
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

/** One verb on one resource that an account is granted. */
export interface Grant {
    readonly verb: string;
    readonly group: string;
    readonly resource: string;
    /** Only in the release's Namespace; otherwise cluster-wide. */
    readonly own: boolean;
    /** Only for these names; undefined: any. */
    readonly names: readonly string[] | undefined;
}

/** All permissions of the ServiceAccount antrea-NAME, from the roles bound to it. */
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

/** ServiceAccounts without a program, bindings with other subjects, and bindings to roles outside the manifests. */
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
