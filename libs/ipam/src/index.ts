// Annotations: what Pods and Namespaces ask for.
export {
    poolsOf,
    readPodIps,
    readPoolNames,
    statefulSetOf,
    type Annotations,
    type NamedPools,
    type PodIps,
    type PoolNames,
    type StatefulSetPlace,
} from "./annotations.ts";

// The addresses that the cluster itself uses.
export {
    clusterAddresses,
    maxNodeAddresses,
    nodeAddressesIn,
    nodeAddressesOf,
    podCidrTexts,
    type ClusterAddresses,
    type NodeAddressesInPool,
    type NodeWithAddresses,
    type ServiceCidrWithRanges,
} from "./cluster-addresses.ts";
export { isOutOfService, outOfServiceTaint } from "./out-of-service.ts";

// Pools: what they hand out.
export { blocksOf, type BlockSet } from "./blocks.ts";
export { Exclusions } from "./exclusions.ts";
export { PoolIndex, rangesOf, type Overlap, type PoolRange } from "./pool-index.ts";
export { readPool, type Pool, type PoolSubnet } from "./pool.ts";
export { freeBlocks, poolUsage, saturate, type PoolUsage } from "./usage.ts";

// StatefulSets: what their ordinals are to have.
export { planReservations } from "./reservations.ts";
export { compareOfOrdinal } from "./kept-allocations.ts";
export {
    type ListedPool,
    type LivingSet,
    type MissingReservations,
    type NewReservation,
    type ReservationInput,
    type ReservationPlan,
} from "./reservation-plan.ts";

// Admission: what is refused.
export { refusalsText, refusalText, type Refusal } from "./refusal.ts";
export { type Verdict } from "./admission/verdict.ts";
export { checkPoolCreate, checkPoolDelete, checkPoolUpdate } from "./admission/pool.ts";
export { type PoolContext } from "./admission/pool-context.ts";
export { comparePools, newGateways, type PoolChange } from "./admission/pool-change.ts";
export { holderText, isUse, namesPool, notInUse, takenWarnings, type PoolUse } from "./admission/pool-use.ts";
export { changesNamespacePools, checkNamespace, isEnded, usesNamespacePools } from "./admission/namespace.ts";
export {
    checkPodTemplate,
    checkScale,
    templateAnnotations,
    type TemplateKind,
    type WorkloadShape,
} from "./admission/template.ts";
export { checkPod, type PodShape, type WorkloadRequest } from "./admission/workload.ts";
export { type WorkloadContext } from "./admission/workload-context.ts";
