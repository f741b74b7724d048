import { describe, expect, it } from "@jest/globals";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { parseIp, RangeSet, rangeOf } from "@antrea/ip";
import { AllocationReader } from "../../src/ip-pools/index.ts";
import { FakeApi } from "../support/fake-api.ts";
import { allocationOf } from "../support/objects.ts";

const { signal } = new AbortController();

function nodeAllocation(address: string): IpAllocation {
    const allocation = allocationOf("pool", address);
    return { ...allocation, spec: { ...allocation.spec, owner: { kind: "Node", name: "n", uid: "1" } } };
}

describe("the allocations of a pool", () => {
    it("are a page of those in use, and whether there are more", async () => {
        const fake = new FakeApi();
        const reader = new AllocationReader({ api: fake.api });
        const found = async (): Promise<unknown> => {
            const { allocations, isPart } = await reader.anyOf("pool", signal);
            return [...allocations.map(({ spec }) => spec.address), isPart];
        };
        expect(await found()).toEqual([false]);
        for (let index = 1; index <= 4; index += 1) fake.put(ipAllocations, nodeAllocation(`10.1.0.${index}`));
        expect(await found()).toEqual([false]);
        for (let index = 5; index <= 6; index += 1)
            fake.put(ipAllocations, allocationOf("pool", `10.1.0.${index}`, "p"));
        expect(await found()).toEqual(["10.1.0.5", "10.1.0.6", false]);
        for (let index = 7; index <= 9; index += 1)
            fake.put(ipAllocations, allocationOf("pool", `10.1.0.${index}`, "p"));
        expect(await found()).toEqual(["10.1.0.5", "10.1.0.6", true]);
        expect(fake.requests.at(-1)).toBe("list ipallocations spec.pool=pool");
    });

    it("of gateways are read one by one, whichever pools they name and however many they are", async () => {
        const fake = new FakeApi();
        const reader = new AllocationReader({ api: fake.api });
        fake.put(ipAllocations, allocationOf("other", "10.1.0.70", "p"));
        const gateways = RangeSet.of([rangeOf(parseIp("10.1.0.1"), parseIp("10.1.0.70"))]);
        expect((await reader.at(gateways, signal)).map(({ spec }) => spec.address)).toEqual(["10.1.0.70"]);
        expect(fake.requests).toHaveLength(70);
        expect(await reader.at(RangeSet.empty, signal)).toEqual([]);
    });

    it("of a few addresses are read one by one, of many from the list", async () => {
        const fake = new FakeApi();
        const reader = new AllocationReader({ api: fake.api });
        fake.put(ipAllocations, allocationOf("pool", "10.1.0.5", "p"));
        fake.put(ipAllocations, allocationOf("pool", "fd00::5", "p"));
        const few = RangeSet.ofAddresses(["10.1.0.5", "10.1.0.6", "fd00::5"].map(parseIp));
        expect((await reader.of("pool", few, signal)).map(({ spec }) => spec.address)).toEqual(["10.1.0.5", "fd00::5"]);
        expect(fake.requests).toEqual([
            "get ipallocations 10.1.0.5",
            "get ipallocations 10.1.0.6",
            "get ipallocations fd00-0-0-0-0-0-0-5",
        ]);
        const many = RangeSet.of([rangeOf(parseIp("10.1.0.0"), parseIp("10.1.0.200"))]);
        expect((await reader.of("pool", many, signal)).map(({ spec }) => spec.address)).toEqual(["10.1.0.5"]);
        expect(fake.requests.at(-1)).toBe("list ipallocations spec.pool=pool");
    });
});
