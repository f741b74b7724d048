import { describe, expect, it } from "@jest/globals";
import { type IpAllocation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import {
    allocationIp,
    holderText,
    interfaceOfOwner,
    isForOrdinal,
    isForPod,
    isHeldBy,
    mayTake,
    namesContainer,
    newAllocation,
    reservedAgain,
    takenBy,
    type Holder,
} from "../../../src/features/ip-pools/allocations.ts";

const holder: Holder = {
    pod: { namespace: "ns", name: "web-1", uid: "u1" },
    nodeName: "a",
    containerId: "c1",
    ifName: "eth0",
};
const allocation = newAllocation(parseIp("3ffe:ffff:1:1ff::100"), "pool6", holder);
const reserved: IpAllocation = {
    metadata: { name: "10.2.0.12", uid: "x", resourceVersion: "7", annotations: { note: "kept" } },
    spec: {
        address: "10.2.0.12",
        block: "10.2.0.0/24",
        pool: "p",
        state: "Reserved",
        owner: { kind: "StatefulSet", namespace: "ns", name: "web", uid: "s", index: 1 },
    },
};

describe("allocations", () => {
    it("are written as the API wants them", () => {
        expect(allocation).toEqual({
            metadata: { name: "3ffe-ffff-1-1ff-0-0-0-100" },
            spec: {
                address: "3ffe:ffff:1:1ff::100",
                block: "3ffe:ffff:1:1ff::100/120",
                pool: "pool6",
                state: "Allocated",
                owner: { kind: "Pod", namespace: "ns", name: "web-1", uid: "u1" },
                pod: {
                    namespace: "ns",
                    name: "web-1",
                    uid: "u1",
                    nodeName: "a",
                    containerID: "c1",
                    interface: "eth0",
                },
            },
        });
        expect(allocationIp(allocation)).toEqual(parseIp("3ffe:ffff:1:1ff::100"));
    });

    it("go from reserved to a Pod and back, keeping owner, version and what others wrote", () => {
        const taken = takenBy(reserved, holder);
        expect(taken.metadata).toBe(reserved.metadata);
        expect(taken.spec).toMatchObject({ state: "Allocated", owner: reserved.spec.owner, pod: { uid: "u1" } });
        expect(reservedAgain(taken)).toEqual(reserved);
    });

    it.each<[what: string, change: Partial<Holder>, may: boolean, held: boolean]>([
        ["the same sandbox", {}, true, true],
        ["another sandbox of the Pod", { containerId: "c2" }, true, false],
        ["another interface of the Pod", { ifName: "eth1" }, false, false],
        ["another Pod of the same name", { pod: { ...holder.pod, uid: "u2" } }, false, false],
        ["a Pod without a UID", { pod: { ...holder.pod, uid: "" } }, false, false],
    ])("of a Pod: %s", (_what, change, may, held) => {
        expect(mayTake(allocation, { ...holder, ...change })).toBe(may);
        expect(isHeldBy(allocation, { ...holder, ...change })).toBe(held);
    });

    it.each<[what: string, pod: Partial<Holder["pod"]>, may: boolean]>([
        ["the Pod of the ordinal, whatever its UID", { uid: "u9" }, true],
        ["the Pod of another ordinal", { name: "web-2" }, false],
        ["the Pod of the ordinal in another Namespace", { namespace: "other" }, false],
    ])("of a StatefulSet: %s", (_what, pod, may) => {
        expect(mayTake(reserved, { ...holder, pod: { ...holder.pod, ...pod } })).toBe(may);
    });

    it("of a Node are nobody's to take", () => {
        const node: IpAllocation = { ...reserved, spec: { ...reserved.spec, owner: { kind: "Node", name: "web-1" } } };
        expect(mayTake(node, holder)).toBe(false);
        expect(holderText(node)).toBe("Node web-1, whose address it is");
    });

    it("of a kind of owner that is not known are nobody's to take, and are reported by kind and name", () => {
        const owner = { kind: "Lease", namespace: "ns", name: "web", index: 1 } as never;
        const unknown: IpAllocation = { ...reserved, spec: { ...reserved.spec, owner } };
        expect(mayTake(unknown, holder)).toBe(false);
        expect(holderText(unknown)).toBe("Lease ns/web, for which it is reserved");
        const kept = { kind: "Pod", namespace: "ns", name: "web" } as const;
        expect(holderText({ ...reserved, spec: { ...reserved.spec, owner: kept } })).toBe(
            "Pod ns/web, for which it is reserved",
        );
        const named = (owner: object): string =>
            holderText({ ...reserved, spec: { ...reserved.spec, owner: owner as never } });
        expect(named({ kind: "Cluster", name: "c" })).toBe("Cluster c, for which it is reserved");
        expect(named({ kind: "Cluster" })).toBe("Cluster ?, for which it is reserved");
        expect(
            holderText({
                ...reserved,
                spec: { ...reserved.spec, owner: { kind: "Gateway", name: "10.2.0.1" } },
            } as never),
        ).toBe("IPPool p, whose gateway it is");
    });

    it.each<[string, string, string, number, boolean]>([
        ["the ordinal", "team-a", "web", 1, true],
        ["another Namespace", "team-b", "web", 1, false],
        ["another set", "team-a", "db", 1, false],
        ["another ordinal", "team-a", "web", 2, false],
    ])("of StatefulSets are for %s", (_name, namespace, name, ordinal, expected) => {
        const owner = { kind: "StatefulSet", namespace: "team-a", name: "web", index: 1 } as const;
        const reserved = { ...allocation, spec: { ...allocation.spec, owner } };
        expect(isForOrdinal(reserved, namespace, { name, ordinal })).toBe(expected);
    });

    it("of StatefulSets are for one interface of the ordinal: that of the Pod network, or one of a network", () => {
        const owner = { kind: "StatefulSet", namespace: "ns", name: "web", index: 1 } as const;
        const keptFor = (networkInterface?: string): IpAllocation => ({
            ...reserved,
            spec: {
                ...reserved.spec,
                owner: networkInterface === undefined ? owner : { ...owner, interface: networkInterface },
            },
        });
        const pod = { namespace: "ns", name: "web-1", uid: "u" };
        const own: Holder = { pod, nodeName: "a", containerId: "c", ifName: "eth0" };
        const net1: Holder = { ...own, ifName: "net1", network: "macvlan" };
        const place = { name: "web", ordinal: 1 };
        for (const [kept, holder] of [
            [keptFor(), own],
            [keptFor("net1"), net1],
        ] as const) {
            expect([own, net1].map((one) => mayTake(kept, one))).toEqual([holder === own, holder === net1]);
            expect(isForOrdinal(kept, "ns", place, interfaceOfOwner(holder))).toBe(true);
            expect(isForOrdinal(kept, "ns", place, holder === own ? "net1" : undefined)).toBe(false);
        }
        expect(mayTake(keptFor("net2"), net1)).toBe(false);
        expect(holderText(keptFor("net1"))).toBe(
            "interface net1 of ordinal 1 of StatefulSet ns/web, for which it is reserved",
        );
        expect(takenBy(keptFor("net1"), net1).spec.pod).toMatchObject({ interface: "net1", network: "macvlan" });
        expect(takenBy(keptFor(), own).spec.pod).not.toHaveProperty("network");
    });

    it("are fenced by container and interface, and matched by UID", () => {
        expect(namesContainer(allocation, { containerId: "c1", ifName: "eth0" })).toBe(true);
        expect(namesContainer(allocation, { containerId: "c1", ifName: "eth1" })).toBe(false);
        expect(namesContainer(reserved, { containerId: "c1", ifName: "eth0" })).toBe(false);
        expect(isForPod(allocation, "", "eth0")).toBe(false);
    });

    it("report who has them", () => {
        expect(holderText(allocation)).toBe("Pod ns/web-1 (UID u1) on Node a");
        expect(holderText(reserved)).toBe("ordinal 1 of StatefulSet ns/web, for which it is reserved");
    });
});
