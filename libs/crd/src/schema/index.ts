export { condition } from "./condition.ts";
export { customResourceDefinitions, type CrdManifest } from "./definitions.ts";
export { allocationOwner, allocationPod, ipAllocationSpec } from "./ip-allocation.ts";
export { ipPoolSpec, ipRange } from "./ip-pool.ts";
export { ipPoolStatus, ipPoolUsage } from "./ip-pool-status.ts";
export { nodePolicies } from "./node-policies.ts";
export { admissionPolicies, programPolicies, type AdmissionPolicyOptions, type PolicyManifest } from "./policies.ts";
export { unavailablePolicies } from "./unavailable.ts";
