import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { away } from "./support/fake-api.ts";
import { identityOf, OneNode } from "./support/one-node.ts";

const address = { ip: parseIp("10.2.0.77"), pool: "pool1", prefixLength: 16, gateway: parseIp("10.2.0.1"), vlan: 0 };
const ordinal = { kind: "StatefulSet", namespace: "default", name: "web", uid: "uid-set", index: 0 } as const;

let node: OneNode;
let log: MemoryLog;

function addSetPod(): void {
    const set = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "uid-set", controller: true };
    const metadata = { ...identityOf("web-0"), ownerReferences: [set] };
    node.cluster.api.put(pods, { metadata, spec: { nodeName: "a" }, status: { phase: "Running" } } as never);
}

/** An agent that lists Pods after this. */
async function start(listing: () => Promise<void>): Promise<void> {
    node.cluster.api.before = (method, kind) => (method === "list" && kind === "pods" ? listing() : Promise.resolve());
    log = new MemoryLog();
    node.agent = node.cluster.agent("a", { confirmMs: 0, logger: log.logger });
    await node.agent.pools.synced(AbortSignal.timeout(60_000));
}

/** The agent is started, and its watch of Pods has not delivered the Pod yet. */
async function startBeforeThePod(): Promise<void> {
    await start(() => Promise.resolve());
    await node.agent.pools.pods.synced(AbortSignal.timeout(60_000));
    node.cluster.api.remove(pods, "default/web-0");
    await eventually(() => node.agent.pools.pods.known(identityOf("web-0")) === undefined);
    node.cluster.api.holdEvents();
    addSetPod();
}

beforeEach(async () => {
    node = await OneNode.start();
});
afterEach(() => node[Symbol.asyncDispose]());

describe.each(["", "web-0"])(
    "an allocation that is made again for a Pod of a StatefulSet; the record names %p",
    (name) => {
        beforeEach(() => {
            addSetPod();
            node.wiring.wire(name, [address], "c-w", "uid-web-0");
        });

        it("waits for the Pods to be listed, if that is soon", async () => {
            const listing = Promise.withResolvers<void>();
            await start(() => listing.promise);
            const pass = node.reconcile();
            await new Promise((resolve) => setTimeout(resolve, 100));
            expect(node.cluster.allocations()).toEqual([]);
            listing.resolve();
            await pass;
            expect(node.cluster.allocations()[0]?.spec.owner).toEqual(ordinal);
        });

        it("has its owner when the watch of Pods has not delivered the Pod yet", async () => {
            await startBeforeThePod();
            await node.reconcile();
            expect(node.cluster.allocations()[0]?.spec).toMatchObject({ owner: ordinal, pod: identityOf("web-0") });
        });

        it("takes what is reserved for its ordinal then, too", async () => {
            await startBeforeThePod();
            node.put("10.2.0.77", { state: "Reserved", owner: ordinal, pod: undefined });
            await node.reconcile();
            expect([...node.wiring.cut]).toEqual([]);
            expect(node.cluster.allocations()[0]?.spec).toMatchObject({ state: "Allocated", pod: identityOf("web-0") });
        });
    },
);

describe("an allocation that is made again while Pods cannot be listed", () => {
    const whileAway = (): Promise<void> => Promise.reject(away());

    it("is kept for the ordinal of the Pod that the record names: that Pod is read", async () => {
        addSetPod();
        node.wiring.wire("web-0", [address], "c-w");
        await start(whileAway);
        await node.reconcile();
        expect(node.cluster.allocations()[0]?.spec.owner).toEqual(ordinal);
    });

    it("is made for the Pod alone, which is logged, when it is unknown what it is of", async () => {
        addSetPod();
        node.wiring.wire("", [address], "c-w", "uid-web-0");
        await start(whileAway);
        await node.reconcile();
        expect(node.cluster.allocations()[0]?.spec.owner).toMatchObject({ kind: "Pod", uid: "uid-web-0" });
        expect(log.messages("warn")).toContain(
            "owner of a recreated allocation cannot be read; it is recreated for the Pod only",
        );
    });
});

it("an allocation of a Pod that was made by its ADD keeps its owner, also when a StatefulSet takes over the Pod", async () => {
    node.addPod("web-0");
    const addresses = await node.claimed("web-0");
    node.wiring.wire("web-0", addresses);
    addSetPod();
    await node.agent.pools.pods.synced(AbortSignal.timeout(60_000));
    await node.reconcile(3);
    expect(node.cluster.allocations()[0]?.spec.owner).toEqual({ kind: "Pod", ...identityOf("web-0") });
});
