import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { allocationName, ipAllocations, type IpAllocation, type IpAllocationSpec } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import fc from "fast-check";
import { allocation, allocationOf, pod, setAllocation } from "./allocations.ts";
import { outcome } from "./outcome.ts";
import { named, render, run } from "./render.ts";

const address = "10.2.0.12";
const without = (field: keyof IpAllocationSpec): IpAllocation => {
    const { [field]: _, ...spec } = allocation(address).spec;
    return allocationOf(address, spec as IpAllocationSpec);
};
const called = (name: string, object: IpAllocation): IpAllocation => ({ ...object, metadata: { name } });

const accepted: readonly [string, IpAllocation][] = [
    ["a Pod's", allocation(address)],
    ["an IPv6 one", allocation("3ffe:ffff:1:1ff::100")],
    ["an ordinal's, reserved", setAllocation(address, { index: 0 })],
    ["an ordinal's, allocated", setAllocation(address, { index: 12, nodeName: "node1" })],
    [
        "one whose set is not known by UID",
        allocation(address, {
            owner: { kind: "StatefulSet", namespace: "shop", name: "db", index: 0 },
            pod: { ...pod, name: "db-0" },
        }),
    ],
    [
        "a Node's",
        allocationOf(address, {
            ...setAllocation(address, { index: 0 }).spec,
            owner: { kind: "Node", name: "node1", uid: "u" },
        }),
    ],
    [
        "a gateway's",
        allocationOf(address, {
            ...setAllocation(address, { index: 0 }).spec,
            owner: { kind: "Gateway", name: address },
        }),
    ],
    [
        "an ordinal's for an interface of a network, reserved",
        allocationOf(address, {
            ...setAllocation(address, { index: 0 }).spec,
            owner: { kind: "StatefulSet", namespace: "shop", name: "db", index: 0, interface: "net1" },
        }),
    ],
    [
        "an ordinal's for an interface of a network, allocated",
        allocation(address, {
            owner: { kind: "StatefulSet", namespace: "shop", name: "db", index: 0, interface: "net1" },
            pod: { ...pod, name: "db-0", interface: "net1", network: "shop/macvlan" },
        }),
    ],
    ["one with the definition of its pool", allocation(address, { poolUID: "uid-pool", poolGeneration: 3 })],
    ["one of a static Pod", allocation(address, { pod: { ...pod, uid: "0123456789abcdef0123456789abcdef" } })],
    [
        "one with long names",
        allocation(address, {
            pod: { ...pod, name: "n".repeat(253), containerID: "c".repeat(253), interface: "i".repeat(15) },
        }),
    ],
];

const refused: readonly [string, IpAllocation, string][] = [
    [
        "on another interface than its owner keeps it for",
        allocation(address, {
            owner: { kind: "StatefulSet", namespace: "shop", name: "db", index: 0, interface: "net1" },
            pod: { ...pod, name: "db-0", interface: "eth0" },
        }),
        "must be the interface for which the owner keeps the address",
    ],
    ["without address", without("address"), "spec.address: Required value"],
    ["without block", without("block"), "spec.block: Required value"],
    ["without pool", without("pool"), "spec.pool: Required value"],
    ["without state", without("state"), "spec.state: Required value"],
    ["without owner", without("owner"), "spec.owner: Required value"],
    [
        "Allocated without Pod",
        without("pod"),
        "spec.state: Invalid value: pod must be set exactly when state is Allocated",
    ],
    [
        "Reserved with Pod",
        allocation(address, { state: "Reserved" }),
        "pod must be set exactly when state is Allocated",
    ],
    [
        "of a state that does not exist",
        allocation(address, { state: "Free" as "Reserved" }),
        'spec.state: Unsupported value: "Free"',
    ],
    [
        "of an owner that does not exist",
        allocation(address, { owner: { kind: "Job" as "Pod" } }),
        'spec.owner.kind: Unsupported value: "Job"',
    ],
    [
        "of another name",
        called("10.2.0.13", allocation(address)),
        "metadata.name 10.2.0.13 is not the name of an allocation of 10.2.0.12",
    ],
    [
        "of a name with leading zeros",
        called("3ffe-ffff-1-01ff-0-0-0-100", allocation("3ffe:ffff:1:1ff::100")),
        "is not the name of an allocation of 3ffe:ffff:1:1ff::100",
    ],
    ["of a short name", called("fd00--1", allocation("fd00::1")), "is not the name of an allocation of fd00::1"],
    [
        "of an address that is not canonical",
        called("3ffe-0-0-0-0-0-0-1", allocation("3ffe:0::1")),
        'spec.address: Invalid value: "3ffe:0::1": must be an address in canonical text',
    ],
    [
        "of an address in capitals",
        called("fd00-0-0-0-0-0-0-a", allocation("fd00::A")),
        "must be an address in canonical text",
    ],
    [
        "of no address",
        called("pod", allocationOf(address, { ...allocation(address).spec, address: "pod" })),
        "must be an address in canonical text",
    ],
    [
        "of another block",
        allocation(address, { block: "10.2.1.0/24" }),
        "spec.block: Invalid value: 10.2.1.0/24 is not the aligned /24 (IPv4) or /120 (IPv6) that 10.2.0.12 lies in",
    ],
    ["of a greater block", allocation(address, { block: "10.2.0.0/16" }), "10.2.0.0/16 is not the aligned"],
    ["of a block with host bits", allocation(address, { block: "10.2.0.12/24" }), "10.2.0.12/24 is not the aligned"],
    [
        "of its block in other text, which no watch of the block selects",
        allocation("fd00::12", { block: "FD00::/120" }),
        "FD00::/120 is not the aligned",
    ],
    ["of a block of the other family", allocation(address, { block: "fd00::/120" }), "fd00::/120 is not the aligned"],
    [
        "of a Pod without UID",
        allocation(address, { owner: { kind: "Pod", namespace: "shop", name: "web" } }),
        "spec.owner: Invalid value: a Pod has namespace, name and uid",
    ],
    [
        "of a StatefulSet without index",
        allocationOf(address, {
            ...setAllocation(address, { index: 0 }).spec,
            owner: { kind: "StatefulSet", namespace: "shop", name: "db" },
        }),
        "a StatefulSet namespace, name and index",
    ],
    [
        "of a Node without name",
        allocationOf(address, { ...setAllocation(address, { index: 0 }).spec, owner: { kind: "Node" } }),
        "a Node and a Gateway a name",
    ],
    [
        "of a gateway without name",
        allocationOf(address, { ...setAllocation(address, { index: 0 }).spec, owner: { kind: "Gateway" } }),
        "a Node and a Gateway a name",
    ],
    [
        "of another Pod than its owner",
        allocation(address, { owner: { kind: "Pod", namespace: "shop", name: "web", uid: "other" } }),
        "spec.pod: Invalid value: must be the Pod that owns the address",
    ],
    [
        "of another ordinal",
        allocationOf(address, {
            ...setAllocation(address, { index: 1, nodeName: "node1" }).spec,
            owner: setAllocation(address, { index: 10 }).spec.owner,
        }),
        "or a Pod of the StatefulSet that owns it",
    ],
    [
        "of an ordinal with leading zeros",
        allocation(address, { owner: setAllocation(address, { index: 1 }).spec.owner, pod: { ...pod, name: "db-01" } }),
        "or a Pod of the StatefulSet that owns it",
    ],
    [
        "of an ordinal in another Namespace",
        allocation(address, {
            owner: setAllocation(address, { index: 1 }).spec.owner,
            pod: { ...pod, name: "db-1", namespace: "bank" },
        }),
        "or a Pod of the StatefulSet that owns it",
    ],
    [
        "of a gateway, used by a Pod",
        allocation(address, { owner: { kind: "Gateway", name: address } }),
        "spec.pod: Invalid value",
    ],
    [
        "of a Node, used by a Pod",
        allocation(address, { owner: { kind: "Node", name: "node1" } }),
        "spec.pod: Invalid value",
    ],
    [
        "with the UID of its pool alone",
        allocation(address, { poolUID: "uid-pool" }),
        "spec.poolUID: Invalid value: poolUID and poolGeneration must be set together",
    ],
    [
        "with the generation of its pool alone",
        allocation(address, { poolGeneration: 3 }),
        "poolUID and poolGeneration must be set together",
    ],
    [
        "of a generation that no pool has",
        allocation(address, { poolUID: "uid-pool", poolGeneration: 0 }),
        "spec.poolGeneration: Invalid value: 0",
    ],
    [
        "of an interface the kernel cannot have",
        allocation(address, { pod: { ...pod, interface: "i".repeat(16) } }),
        "spec.pod.interface: Too long",
    ],
];

describe("the definition of IPAllocation", () => {
    let server: TestApiServer;
    let api: ApiClient;

    const judge = (object: IpAllocation): Promise<string> => {
        const body = JSON.stringify({ apiVersion: "crd.antrea.io/v1alpha1", kind: "IPAllocation", ...object });
        const path = "/apis/crd.antrea.io/v1alpha1/ipallocations?dryRun=All";
        return outcome(api.request({ method: "POST", path, body }));
    };
    const kubectl = async (...args: readonly string[]): Promise<string> =>
        (await run("kubectl", ["--kubeconfig", server.kubeconfig(), ...args])).stdout;

    beforeAll(async () => {
        server = await TestApiServer.start();
        ({ api } = server.clients());
        await server.apply([named(await render(), "CustomResourceDefinition", "ipallocations.crd.antrea.io")]);
    });
    afterAll(() => server.stop());

    it.each(accepted)("accepts %s allocation", async (_name, object) => {
        expect(await judge(object)).toBe("ok");
    });

    it.each(refused)("refuses an allocation %s", async (_name, object, message) => {
        expect(await judge(object)).toContain(message);
    });

    it("has one name for every address, the one that @antrea/crd makes", async () => {
        await fc.assert(
            fc.asyncProperty(fc.oneof(fc.ipV4(), fc.ipV6()), async (text) => {
                let ip;
                try {
                    ip = parseIp(text);
                } catch {
                    return; // IPv4 in IPv6
                }
                const answer = await judge(allocation(text));
                expect(allocationName(ip)).toMatch(/^[0-9.]+$|^([0-9a-f]+-){7}[0-9a-f]+$/);
                if (text === formatIp(ip)) {
                    expect(answer).toBe("ok");
                } else {
                    // A text of more than 39 characters, such as 0000:…:0000:1.2.3.4, fails its length before its form.
                    expect(answer).toMatch(
                        /must be an address in canonical text|Too long: may not be more than 39 bytes/,
                    );
                }
            }),
            { numRuns: 200 },
        );
    });

    it("is the lock: a second allocation of an address is refused", async () => {
        await api.create(ipAllocations, allocation("10.2.0.99"));
        await expect(api.create(ipAllocations, allocation("10.2.0.99", { pool: "pool2" }))).rejects.toMatchObject({
            code: "ALREADY_EXISTS",
        });
    });

    it("never changes address, block and pool", async () => {
        const object = await api.create(ipAllocations, allocation("10.2.0.98"));
        const change = (spec: Partial<IpAllocationSpec>): Promise<string> =>
            outcome(api.update(ipAllocations, { ...object, spec: { ...object.spec, ...spec } }));
        expect(await change({ address: "10.2.0.97" })).toContain(
            'spec.address: Invalid value: "10.2.0.97": cannot be changed',
        );
        expect(await change({ block: "10.3.0.0/24" })).toContain(
            'spec.block: Invalid value: "10.3.0.0/24": cannot be changed',
        );
        expect(await change({ pool: "pool2" })).toContain('spec.pool: Invalid value: "pool2": cannot be changed');
        expect(await change({ pod: { ...pod, containerID: "beef" } })).toBe("ok");
    });

    it("is selected by pool, block, state and Node, and shown in columns", async () => {
        await api.create(
            ipAllocations,
            allocation("10.9.0.1", { pool: "selected", pod: { ...pod, nodeName: "node9" } }),
        );
        await api.create(
            ipAllocations,
            allocationOf("10.9.1.1", { ...setAllocation("10.9.1.1", { index: 0 }).spec, pool: "selected" }),
        );
        const select = async (fieldSelector: string): Promise<readonly (string | undefined)[]> =>
            (await api.list(ipAllocations, { fieldSelector })).items.map(({ metadata }) => metadata?.name);
        expect(await select("spec.pool=selected")).toEqual(["10.9.0.1", "10.9.1.1"]);
        expect(await select("spec.block=10.9.1.0/24")).toEqual(["10.9.1.1"]);
        expect(await select("spec.owner.name=db,spec.pool=selected")).toEqual(["10.9.1.1"]);
        expect(await select("spec.pod.nodeName=node9")).toEqual(["10.9.0.1"]);
        expect(await select("spec.pool=selected,spec.state=Reserved")).toEqual(["10.9.1.1"]);
        const lines = (await kubectl("get", "ipa", "--field-selector=spec.pool=selected")).split("\n");
        const [head, allocated, reserved] = lines.map((line) => line.split(/\s{2,}/));
        expect(head).toEqual(["NAME", "ADDRESS", "POOL", "STATE", "NAMESPACE", "POD", "NODE", "OWNER", "AGE"]);
        expect(allocated?.slice(0, 7)).toEqual([
            "10.9.0.1",
            "10.9.0.1",
            "selected",
            "Allocated",
            "shop",
            "web",
            "node9",
        ]);
        expect(reserved?.slice(0, 5)).toEqual(["10.9.1.1", "10.9.1.1", "selected", "Reserved", "shop"]);
        const wide = await kubectl("get", "ipa", "--field-selector=spec.pool=selected", "-o", "wide");
        const [titles = "", ...rows] = wide.split("\n");
        const named = ["OWNER-NAME", "ORDINAL", "INTERFACE", "NETWORK"];
        // Cells may be empty: a cell begins where its title does.
        const starts = [...named.map((title) => titles.indexOf(title)), titles.length];
        const cells = rows.slice(0, 2).map((row) => named.map((_, at) => row.slice(starts[at], starts[at + 1]).trim()));
        expect(cells).toEqual([
            ["web", "", "eth0", ""],
            ["db", "0", "", ""],
        ]);
        expect(await kubectl("explain", "ipallocations.spec.pod.containerID")).toContain("ID of its sandbox.");
    });

    it("has no status apart", async () => {
        await api.create(ipAllocations, allocation("10.2.0.96"));
        await expect(
            api.patch(ipAllocations, { name: "10.2.0.96" }, { type: "merge", body: {} }, { subresource: "status" }),
        ).rejects.toMatchObject({ code: "NOT_FOUND" });
    });
});
