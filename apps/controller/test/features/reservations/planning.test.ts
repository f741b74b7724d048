import { describe, expect, it } from "@jest/globals";
import { type StatefulSet } from "@antrea/kube";
import { formatIp, parseIp } from "@antrea/ip";
import { readPool } from "@antrea/ipam";
import { poolsAnnotation, type IpAllocation } from "@antrea/crd";
import { AllocationReader } from "../../../src/platform/allocations/allocation.ts";
import { demandOf } from "../../../src/features/reservations/demand.ts";
import { planFor } from "../../../src/features/reservations/planning.ts";
import { allocation, ownedBySet } from "../../fakes.ts";

const pool = readPool({
    metadata: { name: "p" },
    spec: { ipVersion: 4, ipRanges: [{ cidr: "10.4.0.0/16", gateway: "10.4.0.1", prefixLength: 16 }] },
});
const usable = pool.addresses;

/** Addresses of ordinals from the first on. */
function allocationsOf(count: number, first: number, node?: string): readonly IpAllocation[] {
    const base = parseIp("10.4.0.2").value;
    return Array.from({ length: count }, (_, index) =>
        allocation(formatIp({ family: 4, value: base + BigInt(first + index) }), "p", {
            owner: ownedBySet("web", first + index, "u"),
            ...(node !== undefined && { node }),
        }),
    );
}

function planOf(replicas: number, pods: number, objects: readonly IpAllocation[]): ReturnType<typeof planFor> {
    const reader = new AllocationReader();
    const allocations = new Map(objects.map((object) => [object.metadata?.name ?? "", reader.read(object)]));
    const set: StatefulSet = {
        metadata: { namespace: "ns", name: "web", uid: "u" },
        spec: {
            replicas,
            template: { metadata: { annotations: { [poolsAnnotation]: "p" } }, spec: { containers: [] } },
        } as unknown as NonNullable<StatefulSet["spec"]>,
        status: { replicas: pods },
    };
    const components = {
        pools: { get: () => pool, usable: () => usable },
        allocations: {
            get: (name: string) => allocations.get(name),
            ofSet: () => new Set(allocations.values()),
            blocksIn: () => [],
        },
    };
    const demand = demandOf(set, undefined);
    return planFor(components, {
        key: "ns/web",
        demand,
        unseen: [],
        isLeftOver: () => false,
        taken: { has: () => false },
    });
}

describe("planFor, of a StatefulSet of 1,000", () => {
    it.each([
        ["that has no Pod yet", 0, [], 744, 64],
        ["whose status counts its Pods", 500, allocationsOf(256, 0), 40, 64],
        ["whose status is behind the Pods that have their addresses", 0, allocationsOf(200, 0, "n1"), 616, 64],
        ["of which all have addresses, and whose Pods are gone", 0, allocationsOf(1_000, 0), 0, 0],
        ["of which the last have addresses", 3, allocationsOf(100, 900), 644, 64],
    ])("%s: no more than 64 at once, and nothing is taken from it", (_name, pods, allocations, beyond, created) => {
        const plan = planOf(1_000, pods, allocations);
        expect(plan).toMatchObject({ beyond, release: [], givenUp: [], missing: undefined });
        expect(plan.create).toHaveLength(created);
    });
});
