import { beforeEach, describe, expect, it } from "@jest/globals";
import { setImmediate as turn } from "node:timers/promises";
import { podOfPorts } from "@antrea/flows";
import { formatIp } from "@antrea/ip";
import { FakeNode, nothingTaken, type FakeNodeOptions } from "./fake-node.ts";
import type { Failure } from "./steps.ts";
import type { PodInterface } from "../../../src/platform/pod-interfaces/index.ts";

const { signal } = new AbortController();
const nothing = { ...nothingTaken, numbers: [] };

const nodes: readonly (readonly [string, FakeNodeOptions])[] = [
    ["an address of the Node's subnet", {}],
    ["two families", { podCidrs: ["10.10.1.0/24", "fd10:10:0:1::/64"] }],
    ["an address of a pool", { pools: true }],
    ["a bridged address of a pool", { pools: true, bridging: true }],
];

/** What undoes the wiring, from the first that must go to the last: an address is free when nothing of it stands. */
const undoing = ["remove flows", "leave VLAN", "deletePort", "remove route", "release"];

function taken(node: FakeNode): Readonly<Record<string, unknown>> {
    return { ...node.taken(), numbers: [...node.network.ofPorts.used] };
}

async function reconcile(node: FakeNode): Promise<void> {
    // The sweep deletes a link that it has seen in two rounds.
    for (let round = 0; round < 3; round += 1) await node.reconciler.reconcile(signal);
}

async function stepsOfAdd(options: FakeNodeOptions): Promise<readonly string[]> {
    const node = new FakeNode(options);
    await node.add();
    return [...node.steps.asked];
}

/** The Pod's next ADD works, and its DEL leaves nothing. */
async function worksAgain(node: FakeNode): Promise<void> {
    await node.clock.advance(1);
    await node.add();
    expect(node.network.interfaces()).toHaveLength(1);
    expect(node.stored.size).toBe(1);
    await node.flowTable.repair();
    expect(node.ovs.flows).toHaveLength(node.flowTable.size);
    await node.clock.advance(1);
    await node.network.delete(node.request().containerId, "eth0");
    await reconcile(node);
    expect(taken(node)).toEqual(nothing);
}

/** Runs once for each step of an ADD, and names the step of what fails. */
async function atEachStep(
    options: FakeNodeOptions,
    work: (node: FakeNode, at: number) => Promise<void>,
): Promise<void> {
    const steps = await stepsOfAdd(options);
    expect(steps.length).toBeGreaterThan(7);
    for (const [at, name] of steps.entries()) {
        try {
            await work(new FakeNode(options), at);
        } catch (error) {
            throw new Error(`step ${at}, ${name}: ${String(error)}`, { cause: error });
        }
    }
}

describe.each(nodes)("an ADD with %s", (_, options) => {
    describe.each<[string, Failure]>([
        ["a step fails", "before"],
        ["the answer of a step is lost", "after"],
    ])("when %s", (_name, failure) => {
        it("gives back all that it took, in order, and works the next time", async () => {
            await atEachStep(options, async (node, at) => {
                node.steps.failure = (step) => (step === at ? failure : undefined);
                const failed = await node.add().then(
                    () => false,
                    () => true,
                );
                const undone = node.steps.done.filter((name) => undoing.includes(name));
                expect(undone).toEqual(undone.toSorted((one, other) => undoing.indexOf(one) - undoing.indexOf(other)));
                node.steps.clear();
                if (failed) {
                    // A veth pair goes with the sweep at the latest; all else is free at once.
                    expect({ ...taken(node), links: [] }).toEqual(nothing);
                    await reconcile(node);
                    expect(taken(node)).toEqual(nothing);
                }
                await worksAgain(node);
            });
        });

        it("keeps the address while OVS cannot take back port and flows, and the reconcile ends it", async () => {
            await atEachStep(options, async (node, at) => {
                const isUndone = (name: string): boolean => ["remove flows", "leave VLAN", "deletePort"].includes(name);
                node.steps.failure = (step, name) => (step === at ? failure : isUndone(name) ? "before" : undefined);
                const failed = await node.add().then(
                    () => false,
                    () => true,
                );
                const { addresses, allocations: allocations, ports, flows } = node.taken();
                const isWired = (ports as readonly string[]).length > 0 || flows !== 0;
                const isHeld = addresses !== 0 || (allocations as readonly string[]).length > 0;
                // A port whose record has no addresses yet stands for none.
                const isUnfinished = [...node.stored.values()].every(
                    ({ externalIds }) => !externalIds.has("ip-address"),
                );
                if (isWired && !isUnfinished) expect(isHeld).toBe(true);
                node.steps.clear();
                if (failed) {
                    await reconcile(node);
                    expect(taken(node)).toEqual(nothing);
                }
                await worksAgain(node);
            });
        });
    });

    it("that is cancelled at any step leaves nothing, or is whole", async () => {
        await atEachStep(options, async (node, at) => {
            const stop = new AbortController();
            node.steps.failure = (step) => (step === at ? void stop.abort() : undefined);
            const failed = await node.add({}, stop.signal).then(
                () => false,
                () => true,
            );
            node.steps.clear();
            await reconcile(node);
            if (failed) expect(taken(node)).toEqual(nothing);
            await worksAgain(node);
        });
    });

    it("that is overtaken by a DEL at any step leaves nothing", async () => {
        await atEachStep(options, async (node, at) => {
            let deleted: Promise<void> | undefined;
            const { containerId } = node.request();
            node.steps.failure = (step) => {
                if (step === at) deleted = node.network.delete(containerId, "eth0");
                return undefined;
            };
            await node.add().catch(() => undefined);
            await deleted;
            node.steps.clear();
            await reconcile(node);
            expect(taken(node)).toEqual(nothing);
            await worksAgain(node);
        });
    });
});

describe("an ADD whose address of the Node's subnet is claimed for another meanwhile", () => {
    it("fails at whichever step that was, leaves nothing, and the next one has another address", async () => {
        await atEachStep({}, async (node, at) => {
            node.steps.failure = (step) => {
                if (step === at) node.claimedElsewhere.add("10.10.1.2");
                return undefined;
            };
            const failed = await node.add().then(
                () => false,
                (error: unknown) => expect(error).toMatchObject({ code: "TAKEN" }) === undefined,
            );
            const isLast = at === node.steps.asked.length - 1;
            const ips = (): readonly string[] =>
                node.network.interfaces().flatMap(({ record }) => record.addresses.map(({ ip }) => formatIp(ip)));
            // Claimed before the ADD chose an address, it is not chosen.
            expect(failed || isLast || ips().join() === "10.10.1.3").toBe(true);
            node.steps.clear();
            if (!failed) return;
            await reconcile(node);
            expect(taken(node)).toEqual(nothing);
            await node.clock.advance(1);
            await node.add();
            expect(ips()).toEqual(["10.10.1.3"]);
        });
    });
});

describe("an ADD whose allocation is deleted by force meanwhile", () => {
    it("fails at whichever step that was, leaves nothing, and the next one allocates anew", async () => {
        const refused: string[] = [];
        await atEachStep({ pools: true }, async (node, at) => {
            node.steps.failure = (step, name) => {
                if (step === at && node.allocations.delete(node.request().containerId)) refused.push(name);
                return undefined;
            };
            const before = refused.length;
            const error = await node.add().then(
                () => undefined,
                (reason: unknown) => reason,
            );
            if (refused.length === before) return expect(error).toBeUndefined();
            expect(error).toMatchObject({
                code: "ALLOCATION_DELETED",
                message: expect.stringMatching(
                    /the IPAllocation of \S+ \(IPPool \S+\) for eth0 of Pod \S+ was deleted/,
                ),
            });
            node.steps.clear();
            await reconcile(node);
            expect(taken(node)).toEqual(nothing);
            await node.clock.advance(1);
            await node.add();
            expect(node.network.interfaces()).toHaveLength(1);
        });
        expect(refused.length).toBeGreaterThan(3);
    });
});

describe("an isolation, or its end, of which a step fails", () => {
    const work = {
        isolated: (node: FakeNode, known: PodInterface) => node.network.isolate(known),
        reconnected: (node: FakeNode, known: PodInterface) => node.network.reconnect(known),
    };
    const only = (node: FakeNode): PodInterface => {
        const [known] = node.network.interfaces();
        if (known === undefined) throw new Error("no interface");
        return known;
    };
    /** What OVS, the links and the VLAN have of the interface. */
    const seen = (node: FakeNode): unknown => {
        const { flows, routes, vlanPods, links } = node.taken();
        const records = [...node.stored.values()].map(({ externalIds }) => externalIds.get("isolated"));
        return { flows, routes, vlanPods, links, records, isIsolated: node.network.isIsolated(only(node)) };
    };
    const cases = nodes.flatMap(([name, options]) =>
        (["isolated", "reconnected"] as const).flatMap((what) =>
            (["before", "after"] as const).map((failure) => ({ name, options, what, failure })),
        ),
    );

    it.each(cases)("$name, $what, $failure: is whole when it is repeated", async ({ options, what, failure }) => {
        const begun = async (): Promise<FakeNode> => {
            const node = new FakeNode(options);
            await node.add();
            if (what === "reconnected") await node.network.isolate(only(node));
            node.steps.clear();
            return node;
        };
        const whole = await begun();
        await work[what](whole, only(whole));
        const steps = [...whole.steps.asked];
        expect(steps.length).toBeGreaterThan(2);
        expect(seen(whole)).toMatchObject({ isIsolated: what === "isolated" });
        for (const [at, name] of steps.entries()) {
            const node = await begun();
            node.steps.failure = (step) => (step === at ? failure : undefined);
            const failed = await work[what](node, only(node)).then(
                () => false,
                () => true,
            );
            // Of what began to be isolated nothing connects it again; what is not connected whole is isolated still.
            if (failed)
                expect({ at, name, isIsolated: node.network.isIsolated(only(node)) }).toMatchObject({
                    isIsolated: true,
                });
            node.steps.clear();
            await node.flowTable.repair();
            await node.reconciler.reconcile(signal);
            await work[what](node, only(node));
            expect({ at, name, ...(seen(node) as object) }).toEqual({ at, name, ...(seen(whole) as object) });
            await worksAgain(node);
        }
    });
});

describe("an ADD to which OVS gives another port number than it was asked for", () => {
    it.each(nodes)("frees the number that it asked for: %s", async (_, options) => {
        const node = new FakeNode(options);
        node.foreignOfPorts.add(podOfPorts.first);
        await node.add();
        expect(node.network.interfaces().map(({ ofPort }) => ofPort)).toEqual([7]);
        expect(node.ovs.flows.some(({ match }) => match.in_port === podOfPorts.first)).toBe(false);
        expect(node.ovs.flows.some(({ match }) => match.in_port === 7)).toBe(true);
        expect([...node.network.ofPorts.used]).toEqual([7]);
    });
});

describe("an interface whose port gets another number, and a step of restoring it fails", () => {
    it.each(nodes)("is whole after the next reconcile: %s", async (_, options) => {
        const wired = async (): Promise<FakeNode> => {
            const node = new FakeNode(options);
            await node.add();
            node.foreignOfPorts.add(podOfPorts.first);
            node.steps.clear();
            return node;
        };
        const first = await wired();
        await first.reconciler.restoreAll(signal);
        for (const [at, name] of first.steps.asked.entries()) {
            const node = await wired();
            node.steps.failure = (step) => (step === at ? "before" : undefined);
            await node.reconciler.restoreAll(signal).catch(() => undefined);
            node.steps.clear();
            // The check of each minute: flows first.
            await node.flowTable.repair();
            await node.reconciler.reconcile(signal);
            const [port] = node.stored.values();
            const inPorts = new Set(node.ovs.flows.flatMap(({ match }) => match.in_port ?? []));
            const numbers = [...node.network.ofPorts.used];
            expect({ at, name, numbers, inPorts }).toEqual({
                at,
                name,
                numbers: [port?.ofPort],
                inPorts: new Set([port?.ofPort]),
            });
            expect(node.ovs.flows).toHaveLength(node.flowTable.size);
            await worksAgain(node);
        }
    });
});

describe("an interface whose port got another number, and whose flows do not come into OVS in time", () => {
    let node: FakeNode;

    beforeEach(async () => {
        node = new FakeNode();
        await node.add();
        node.foreignOfPorts.add(podOfPorts.first);
        node.steps.clear();
        node.steps.hanging.add("set flows");
        const restoring = node.reconciler.restoreAll(signal);
        while (!node.steps.asked.includes("set flows")) await turn();
        await node.clock.advance(20_000);
        await restoring;
        node.steps.clear();
    });

    it("keeps the number that its port and its desired flows have, and no other Pod is given it", async () => {
        expect([...node.network.ofPorts.used].toSorted()).toEqual([podOfPorts.first, 7].toSorted());
        await node.reconciler.restoreAll(signal);
        expect([...node.network.ofPorts.used]).toEqual([7]);
        await worksAgain(node);
    });

    it("gives both numbers back with its DEL", async () => {
        await node.network.delete(node.request().containerId, "eth0");
        await reconcile(node);
        expect(taken(node)).toEqual(nothing);
    });
});

describe("a sandbox that ended", () => {
    let node: FakeNode;

    beforeEach(async () => {
        node = new FakeNode({ pools: true });
        await node.add();
    });

    it("without a DEL keeps its allocation for the Pod's next sandbox, and loses all else", async () => {
        const allocations = [...node.allocations];
        for (const { name, kind } of node.links.values()) if (kind === "veth") node.links.delete(name);
        await node.reconciler.reconcile(signal);
        expect(allocations).toHaveLength(1);
        expect(taken(node)).toEqual({ ...nothing, allocations: allocations });
    });

    it("with a DEL that OVS kept from its end loses its allocation too, once the reconcile is through", async () => {
        const allocations = [...node.allocations];
        node.steps.failure = (_, name) => (name === "deletePort" ? "before" : undefined);
        await node.network.delete(node.request().containerId, "eth0");
        expect([...node.allocations]).toEqual(allocations);
        node.steps.clear();
        await reconcile(node);
        expect(taken(node)).toEqual(nothing);
    });
});
