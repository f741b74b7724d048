// Whole imports of types: an import with a type in its braces would load zod into every program.
import type { z } from "zod";
import type { condition } from "./schema/condition.ts";
import type { allocationOwner, allocationPod, ipAllocationSpec } from "./schema/ip-allocation.ts";
import type { ipPoolStatus, ipPoolUsage } from "./schema/ip-pool-status.ts";
import type { ipPoolSpec, ipRange } from "./schema/ip-pool.ts";

/** A type as JSON has it: nothing may be changed in place. */
type Immutable<T> = T extends readonly (infer Item)[]
    ? readonly Immutable<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Immutable<T[Key]> }
      : T;

/**
 * The part of Kubernetes ObjectMeta that this project uses; timestamps are RFC 3339. The API server sets `uid`,
 * `resourceVersion`, `generation` and the timestamps: they are absent in an object that is to be created.
 */
export interface Metadata {
    readonly name?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    /** Number of the last change of the spec, from 1. */
    readonly generation?: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    /** The deletion waits until these are removed. */
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
}

/** A status condition (metav1.Condition). */
export type Condition = Immutable<z.infer<typeof condition>>;
/** An item of `spec.ipRanges` of an IPPool: `cidr`, or `start` and `end` (both included), and its subnet. */
export type IpRangeSpec = Immutable<z.infer<typeof ipRange>>;
/** `spec` of an IPPool: IP version and address ranges with their subnets. */
export type IpPoolSpec = Immutable<z.infer<typeof ipPoolSpec>>;
/** `status.usage` of an IPPool: numbers of total, used, reserved and free addresses. */
export type IpPoolUsage = Immutable<z.infer<typeof ipPoolUsage>>;
/** `status` of an IPPool: usage, conditions and hints where addresses are free. */
export type IpPoolStatus = Immutable<z.infer<typeof ipPoolStatus>>;
/** Owner of an IPAllocation, for which the address is kept. */
export type AllocationOwner = Immutable<z.infer<typeof allocationOwner>>;
/** `spec.pod` of an IPAllocation: the Pod that uses the address, its Node, sandbox and interface. */
export type AllocationPod = Immutable<z.infer<typeof allocationPod>>;
/** `spec` of an IPAllocation: address, block, pool, state, owner and, if allocated, the Pod. */
export type IpAllocationSpec = Immutable<z.infer<typeof ipAllocationSpec>>;
/**
 * `Allocated`: a Pod uses the address, `spec.pod` is set. `Reserved`: it is kept for its owner and `spec.pod` is
 * absent.
 */
export type AllocationState = IpAllocationSpec["state"];

interface CustomObject {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly metadata?: Metadata;
}

/** An IPPool (crd.antrea.io/v1alpha2): a set of addresses from which Pods get theirs. Cluster-scoped. */
export interface IpPool extends CustomObject {
    readonly spec: IpPoolSpec;
    readonly status?: IpPoolStatus;
}

/**
 * An IPAllocation (crd.antrea.io/v1alpha1): one address in use or reserved. Its name encodes the address.
 * Cluster-scoped.
 */
export interface IpAllocation extends CustomObject {
    readonly spec: IpAllocationSpec;
}
