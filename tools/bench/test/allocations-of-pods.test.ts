import { describe, expect, it } from "@jest/globals";
import { type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { allocationOf, podOf } from "../allocations/simulated-agent.ts";
import { allocationsOfPods, heldGateways } from "../allocations-of-pods.ts";

describe("allocations", () => {
    const api = pagesOf(
        [of("10.0.0.1", { kind: "Gateway", name: "10.0.0.1" }), claimed("10.0.0.2")],
        [
            of("10.0.0.3", { kind: "StatefulSet", namespace: "bench", name: "web", uid: "1", index: 0 }),
            of("10.0.0.4", { kind: "Node", name: "node-1" }),
            of("10.0.1.1", { kind: "Gateway", name: "10.0.1.1" }),
        ],
    );

    it("of Pods and StatefulSets are counted, not those that hold gateways and addresses of Nodes", async () => {
        const names = (await allocationsOfPods(api)).map(({ spec }) => spec.address);
        expect(names).toEqual(["10.0.0.2", "10.0.0.3"]);
    });

    it("that hold gateways are counted alone", async () => {
        expect(await heldGateways(api)).toBe(2);
    });
});

function claimed(address: string): IpAllocation {
    return allocationOf(parseIp(address), "pool", "node-1", podOf({ agent: 0, round: 0 }, 0));
}

function of(address: string, owner: AllocationOwner): IpAllocation {
    const { spec, ...allocation } = claimed(address);
    const { pod: _, ...rest } = spec;
    return { ...allocation, spec: { ...rest, state: "Reserved", owner } };
}

function pagesOf(...pages: readonly (readonly IpAllocation[])[]): Pick<ApiClient, "pages"> {
    return {
        pages: async function* () {
            for (const items of pages) yield { items, resourceVersion: "1" } as never;
        },
    };
}
