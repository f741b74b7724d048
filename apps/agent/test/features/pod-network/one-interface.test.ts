import { beforeEach, describe, expect, it } from "@jest/globals";
import { wiringErrorCode } from "../../../src/features/pod-network/index.ts";
import { refuseOtherNetwork } from "../../../src/features/pod-network/one-interface.ts";
import { podRecord } from "../../support/records.ts";
import { FakeNode } from "./fake-node.ts";
import {
    type AddRequest,
    networkHash,
    networkOfHash,
    pendingAlias,
    releasedAlias,
} from "../../../src/platform/pod-interfaces/index.ts";

const container = "ab12".repeat(16);
const other = "cd34".repeat(16);
const netns = "/run/netns/ab12ab12";

let node: FakeNode;

const refusal = (adding: Promise<unknown>): Promise<unknown> =>
    adding.then(
        () => undefined,
        (error: unknown) => error,
    );

describe.each([
    ["the Node's subnet", false],
    ["a pool", true],
])("of %s", (_, pools) => {
    beforeEach(() => {
        node = new FakeNode({ pools });
    });

    it("a container gets one interface: the ADD of another is refused before anything is made", async () => {
        const answer = await node.add();
        const before = node.taken();
        const error = await refusal(node.add({ ifName: "net1" }));
        expect(error).toMatchObject({
            code: "SECOND_INTERFACE",
            fault: "caller",
            message: `container ${container} has interface eth0 on the Pod network already, and net1 is refused: a Pod gets one interface of it; next: take the network of type "antrea" that asks for net1 out of the Pod's annotation k8s.v1.cni.cncf.io/networks, or let another plugin serve it`,
        });
        expect(wiringErrorCode(error)).toBe("INVALID_NETWORK_CONFIG");
        expect(node.taken()).toEqual(before);
        expect(await node.add()).toEqual(answer);
    });

    it("also when the other comes first, and when both come at once", async () => {
        const both = [node.add({ ifName: "net1" }), node.add()];
        const ended = await Promise.allSettled(both);
        expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
        expect(await refusal(node.add())).toMatchObject({
            message: expect.stringContaining("has interface net1 on the Pod network already, and eth0 is refused"),
        });
    });

    it("after a DEL the other is served, also while OVS is away and the first cannot be removed yet", async () => {
        await node.add();
        node.steps.failure = (_index, name) => (name === "deletePort" ? "before" : undefined);
        await node.network.delete(container, "eth0");
        await node.clock.advance(1);
        expect(await node.add({ ifName: "net1" })).toMatchObject({ ifName: "net1" });
    });

    it("interfaces that an earlier agent made for one container are both kept, and their ADDs repeated", async () => {
        const eth0 = await node.add();
        const known = node.network.interfaces()[0];
        if (known === undefined) throw new Error("no interface");
        const net1 = { ...known.record, ifName: "net1", hostIfName: "web-0-ffffff" };
        node.putLink(net1.hostIfName, "", { netns, ifName: "net1" });
        node.network.adopt(net1, 40_000);
        expect(await node.add()).toEqual(eth0);
        expect(await node.add({ ifName: "net1" })).toMatchObject({ ifName: "net1" });
    });

    it("the record names the network, and the ADD of another one for the same interface is refused", async () => {
        const answer = await node.add({ network: "antrea" });
        expect([...node.stored.values()].map(({ externalIds }) => externalIds.get("cni-network"))).toEqual(["antrea"]);
        const before = node.taken();
        expect(await refusal(node.add({ network: "foo" }))).toMatchObject({
            code: "SECOND_INTERFACE",
            message: `container ${container} has interface eth0 of network "antrea" already, and network "foo" asks for the same; next: take network "foo" out of the Pod's annotation k8s.v1.cni.cncf.io/networks, or DEL eth0 first`,
        });
        expect(node.taken()).toEqual(before);
        expect(await node.add({ network: "antrea" })).toEqual(answer);
    });

    it("a record without the network's name, of an earlier agent or rebuilt without the database, gets it with a repeated ADD", async () => {
        await node.add();
        const known = node.network.interfaces()[0];
        if (known === undefined) throw new Error("no interface");
        node.network.adopt({ ...known.record, network: undefined }, known.ofPort);
        expect(await node.add({ network: "pods" })).toMatchObject({ network: "pods" });
        expect([...node.stored.values()].map(({ externalIds }) => externalIds.get("cni-network"))).toEqual(["pods"]);
    });

    it("a namespace in which another container has its interface is refused", async () => {
        await node.add({ containerId: other, podUid: "uid-web-1", podName: "web-1", netns });
        const before = node.taken();
        const error = await refusal(node.add({ netns, ifName: "net1" }));
        expect(error).toMatchObject({
            code: "OTHERS_NETNS",
            message: `${netns} is the network namespace of container ${other}, whose interface eth0 is in it, not of container ${container}; the process it names may have ended, and another one have its number now; next: let the runtime make the sandbox of Pod default/web-0 anew`,
        });
        expect(wiringErrorCode(error)).toBe("INVALID_ENVIRONMENT_VARIABLES");
        expect(node.taken()).toEqual(before);
    });

    it.each([
        ["of a container that was deleted", releasedAlias],
        ["that this container's ADD left before", pendingAlias(container)],
        ["of somebody else", "storage"],
    ])("an interface in the namespace %s stands in nobody's way", async (__, alias) => {
        node.putLink("web-0-ffffff", alias, { netns, ifName: "net7" });
        expect(await node.add({ netns })).toMatchObject({ ifName: "eth0" });
    });

    it.each([
        ["another index than the end of ours", () => 77, 0],
        ["the very index of the end of ours", (ours: number | undefined) => ours ?? 0, 1],
    ])(
        "an end with %s, whose peer is in a third namespace under the index of ours, is not ours",
        async (__, indexOf) => {
            await node.add({ containerId: other, podUid: "uid-web-1", podName: "web-1" });
            const [host] = [...node.links.values()].filter(({ kind }) => kind === "veth");
            const peerIndex = host?.index ?? 0;
            node.foreignEnds.push({ netns, name: "inner0", index: indexOf(host?.peerIndex), kind: "veth", peerIndex });
            expect(await node.add({ netns })).toMatchObject({ ifName: "eth0" });
        },
    );
});

describe("an interface whose record was rebuilt from its link", () => {
    const called = (network: string, recorded: string | undefined): (() => void) => {
        const record = podRecord({ network: recorded });
        const request: AddRequest = { ...record, network, receivedAt: 0 };
        return () => refuseOtherNetwork({ record, ofPort: 1, addedAt: 0 }, request);
    };

    it("is not another network's to have, as far as its alias shows", () => {
        const rebuilt = networkOfHash(networkHash("storage"));
        expect(called("storage", rebuilt)).not.toThrow();
        expect(called("antrea", rebuilt)).toThrow(
            expect.objectContaining({
                code: "SECOND_INTERFACE",
                message: expect.stringContaining("has interface eth0 of another network already"),
            }),
        );
        expect(called("antrea", networkOfHash(undefined))).not.toThrow();
    });
});
