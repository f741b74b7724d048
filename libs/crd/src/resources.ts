import { type IpAllocation, type IpPool } from "./types.ts";

/** REST mapping of a custom resource; assignable to `Resource` of @antrea/kube. */
interface CustomResource<T> {
    readonly group: string;
    readonly version: string;
    readonly plural: string;
    readonly kind: string;
    readonly namespaced: boolean;
    /** Carries the type only; never set. */
    readonly object?: T;
}

/** REST mapping of IPPool, crd.antrea.io/v1alpha2, cluster-scoped. */
export const ipPools: CustomResource<IpPool> = {
    group: "crd.antrea.io",
    version: "v1alpha2",
    plural: "ippools",
    kind: "IPPool",
    namespaced: false,
};

/** REST mapping of IPAllocation, crd.antrea.io/v1alpha1, cluster-scoped. */
export const ipAllocations: CustomResource<IpAllocation> = {
    group: "crd.antrea.io",
    version: "v1alpha1",
    plural: "ipallocations",
    kind: "IPAllocation",
    namespaced: false,
};
