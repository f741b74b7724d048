import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { allocationName } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { AllocationReader, describeHolder, setKeyOf } from "../../../src/platform/allocations/allocation.ts";
import { allocation, ownedBySet } from "../../fakes.ts";

describe("AllocationReader", () => {
    it("keeps what the controller needs and nothing else", () => {
        const parsed = new AllocationReader().read(allocation("10.0.0.7", "p", { node: "n1" }));
        expect(parsed).toEqual({
            metadata: { name: "10.0.0.7", uid: "uid-10.0.0.7", resourceVersion: "1" },
            ip: { family: 4, value: 0x0a000007n },
            block: "10.0.0.0/24",
            pool: "p",
            owner: { kind: "Pod", namespace: "ns", name: "pod-10.0.0.7", uid: "pod-uid-10.0.0.7" },
            pod: { namespace: "ns", name: "pod-10.0.0.7", uid: "pod-uid-10.0.0.7", nodeName: "n1" },
            createdAt: "2026-01-01T00:00:00Z",
            generation: 1,
        });
    });

    it("reads the address of every name that an allocation can have", () => {
        const reader = new AllocationReader();
        const ips: fc.Arbitrary<IpAddress> = fc.oneof(
            fc.bigInt(0n, 2n ** 32n - 1n).map((value) => ({ family: 4, value }) as const),
            fc.bigInt(2n ** 64n, 2n ** 128n - 1n).map((value) => ({ family: 6, value }) as const),
        );
        fc.assert(
            fc.property(ips, (ip) => {
                const parsed = reader.read(allocation(formatIp(ip), "p"));
                expect(parsed.metadata.name).toBe(allocationName(ip));
                expect(parsed.ip).toEqual(ip);
            }),
        );
    });

    it.each(["", "web", "10.0.0", "10.0.0.x", "01.2.3.4", "a-b-c", "fd00::1"])(
        "does not stumble over the name %p, which no allocation has",
        (name) => {
            const object = allocation("10.0.0.7", "p");
            const parsed = new AllocationReader().read({ ...object, metadata: { ...object.metadata, name } });
            expect(parsed.ip).toEqual({ family: 4, value: 0n });
        },
    );
});

describe("who has an address", () => {
    it.each([
        ["a Pod", allocation("10.0.0.1", "p", { node: "n1" }), "Pod ns/pod-10.0.0.1 on Node n1", undefined],
        [
            "a Pod of a StatefulSet",
            allocation("10.0.0.1", "p", { node: "n1", owner: ownedBySet("web", 3) }),
            "Pod ns/pod-10.0.0.1 on Node n1",
            "ns/web",
        ],
        [
            "a StatefulSet",
            allocation("10.0.0.1", "p", { owner: ownedBySet("web", 3) }),
            "StatefulSet ns/web (ordinal 3)",
            "ns/web",
        ],
        ["a Node", allocation("10.0.0.1", "p", { owner: { kind: "Node", name: "n1" } }), "Node n1", undefined],
    ])("%s", (_name, object, text, key) => {
        const parsed = new AllocationReader().read(object);
        expect(describeHolder(parsed)).toBe(text);
        expect(setKeyOf(parsed)).toBe(key);
    });
});
