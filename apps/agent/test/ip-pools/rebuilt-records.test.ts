import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, parseIp } from "@antrea/ip";
import { identityOf, OneNode } from "./support/one-node.ts";

let node: OneNode;

beforeEach(async () => {
    node = await OneNode.start();
});
afterEach(() => node[Symbol.asyncDispose]());

describe("a record that was rebuilt from little, and names no Pod", () => {
    it("keeps the claim of its container, and that of its address, for the Pod that has it", async () => {
        const addresses = await node.claimed("p1");
        node.wiring.wire("", addresses, "c-p1", "");
        await node.reconcile(3);
        expect(node.cluster.claims().map(({ spec }) => spec.pod?.uid)).toEqual(["uid-p1"]);
        expect([...node.wiring.cut]).toEqual([]);
    });

    it("of another interface keeps no claim", async () => {
        const addresses = await node.claimed("p1");
        node.wiring.wire("", addresses, "c-other", "");
        node.wiring.unwire("c-other");
        await node.reconcile(2);
        expect(node.cluster.claims()).toEqual([]);
    });

    it("says of two ADDs of the Pod which claim is in use, and the other is freed although the Pod lives", async () => {
        node.addPod("p1");
        const [address] = await node.claimed("p1");
        if (address === undefined) throw new Error("nothing was claimed");
        node.put(
            "10.2.0.200",
            { pod: { ...identityOf("p1"), nodeName: "a", containerID: "c-old", interface: "eth0" } },
            "p1",
        );
        node.wiring.wire("", [address], "c-p1", "");
        await node.reconcile(3);
        expect(node.cluster.holders()).toEqual([`${formatIp(address.ip)} p1`]);
    });

    it("is no reason to free a claim of the Pod while another ADD of a Pod without a UID is under way", async () => {
        const ip = await node.added("p1");
        node.wiring.unwire("c-p1");
        node.wiring.adding.add("");
        await node.reconcile(2);
        expect(node.cluster.holders()).not.toContain(`${ip} p1`);
    });
});

describe("a record that was rebuilt before its Pod was known", () => {
    it("is told of under the Pod's name, when that is known", async () => {
        const ip = parseIp("10.9.0.77");
        node.wiring.wire("", [{ ip, pool: "", prefixLength: 24, gateway: ip, vlan: 0 }], "c-p1", "uid-p1");
        await node.reconcile();
        expect(node.agent.events).toEqual([]);
        node.addPod("p1");
        await node.reconcile(2);
        const told = node.agent.events.map(({ reason, regarding }) => [reason, regarding.namespace, regarding.name]);
        expect(told).toEqual([["PoolChanged", "default", "p1"]]);
    });
});

describe("what is told of an isolated interface", () => {
    it("is told anew when its container ends and another one meets the same", async () => {
        await node.added("p1");
        const [claim] = node.cluster.claims();
        node.put(claim?.spec.address ?? "");
        await node.reconcile(2);
        const told = (): number => node.agent.events.filter(({ reason }) => reason === "AddressHeldElsewhere").length;
        const first = told();
        const [wired] = node.wiring.interfaces();
        node.wiring.unwire("c-p1");
        await node.reconcile();
        node.wiring.wire(
            "p1",
            (wired?.addresses ?? []).map((one) => ({ ...one, vlan: 0 })),
        );
        await node.reconcile();
        expect(told()).toBe(first + 1);
    });

    it("is counted, and not any more when it is gone", async () => {
        await node.added("p1");
        node.put(node.cluster.claims()[0]?.spec.address ?? "");
        await node.reconcile(2);
        expect(await node.agent.metric("antrea_agent_ipam_isolated_interfaces")).toBe(1);
        node.wiring.unwire("c-p1");
        expect(await node.agent.metric("antrea_agent_ipam_isolated_interfaces")).toBe(0);
    });
});
