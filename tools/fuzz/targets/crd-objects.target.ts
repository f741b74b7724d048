import { type IpAllocation, type IpPool } from "@antrea/crd";
import { ipAllocationSpec, ipPoolSpec, ipPoolStatus } from "@antrea/crd/schema";
import { AntreaError } from "@antrea/errors";
import { blocksOf, comparePools, freeBlocks, poolUsage, readPool } from "@antrea/ipam";
import { readAllocation } from "@antrea/antctl/cluster";
import { AllocationReader } from "@antrea/controller/platform/allocations/allocation";
import { allocationIp, holderText, isForOrdinal, mayTake } from "@antrea/agent/features/ip-pools/allocations";
import { allocationOf, poolOf } from "@antrea/webhook/testing/objects";
import { isRecord, json, parsed } from "../fixture.ts";
import { type Target } from "../target.ts";

const range = { cidr: "10.1.0.0/28", gateway: "10.1.0.1", prefixLength: 24 };
const before = poolOf("a", range) as IpPool;
const poolBefore = readPool(before);
const reader = new AllocationReader();

/** IPPools and IPAllocations of any version that match their schema, also of a newer one with additional fields. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    bytesPerByte: 16_384,
    seeds: () => [
        json(before),
        json(
            poolOf(
                "b",
                { ...range, vlan: 7 },
                { start: "10.1.0.16", end: "10.1.0.99", gateway: "10.1.0.1", prefixLength: 24 },
            ),
        ),
        json(poolOf("c", { cidr: "fd00::/64", gateway: "fd00::1", prefixLength: 64 })),
        json({ ...before, status: { usage: { total: 1, used: 2 }, freeBlocks: ["10.1.0.0/24"], conditions: [] } }),
        json(allocationOf("a", "10.1.0.5", "web-0")),
        json(allocationOf("a", "fd00::5")),
        json({
            metadata: { name: "10.1.0.9" },
            spec: { ...allocationOf("a", "10.1.0.9").spec, owner: { kind: "Node", name: "n1" } },
        }),
    ],
    run: (input) => {
        const object = parsed(input);
        if (!isRecord(object) || !isRecord(object.metadata) || typeof object.metadata.name !== "string") return;
        const { spec, status } = object;
        if (ipPoolSpec.safeParse(spec).success && (status === undefined || ipPoolStatus.safeParse(status).success)) {
            checkPool(object as never);
        }
        if (ipAllocationSpec.safeParse(spec).success) checkAllocation(object as never);
    },
    isRefusal: (error) => error instanceof AntreaError && error.fault !== "internal",
};

function checkPool(object: IpPool): void {
    const pool = readPool(object);
    blocksOf(pool.addresses);
    comparePools(poolBefore, pool);
    comparePools(pool, poolBefore);
    poolUsage(pool.addresses, []);
    freeBlocks(pool.addresses, () => 1, 5);
}

function checkAllocation(object: IpAllocation): void {
    reader.read(object);
    readAllocation(object);
    holderText(object);
    isForOrdinal(object, "ns", { name: "web", ordinal: 0 });
    const pod = { namespace: "ns", name: "web-0", uid: "1" };
    mayTake(object, { pod, nodeName: "n", containerId: "c", ifName: "eth0" });
    allocationIp(object);
}
