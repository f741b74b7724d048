import { type IpAllocation, type IpPool } from "./types.ts";

/** Where a kind of object is served; fits `Resource` of @antrea/kube. */
interface CustomResource<T> {
    readonly group: string;
    readonly version: string;
    readonly plural: string;
    readonly kind: string;
    readonly namespaced: boolean;
    /** Carries the type only; never set. */
    readonly object?: T;
}

export const ipPools: CustomResource<IpPool> = {
    group: "crd.antrea.io",
    version: "v1alpha2",
    plural: "ippools",
    kind: "IPPool",
    namespaced: false,
};

export const ipAllocations: CustomResource<IpAllocation> = {
    group: "crd.antrea.io",
    version: "v1alpha1",
    plural: "ipallocations",
    kind: "IPAllocation",
    namespaced: false,
};
