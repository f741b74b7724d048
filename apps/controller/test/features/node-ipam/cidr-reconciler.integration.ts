import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { systemClock, type Clock } from "@antrea/async";
import { Informer, KubeError, nodes, type ApiClient, type Node } from "@antrea/kube";
import { TestApiServer, eventually } from "@antrea/kube/testing";
import { parsePrefix } from "@antrea/ip";
import { MemoryLog } from "@antrea/runtime/testing";
import { CidrReconciler } from "../../../src/features/node-ipam/cidr-reconciler.ts";
import { podCidrs } from "../../controller-process.ts";

describe("CidrReconciler", () => {
    let server: TestApiServer;
    let api: ApiClient;

    beforeAll(async () => {
        server = await TestApiServer.start();
        ({ api } = server.clients());
    });
    afterAll(() => server.stop());

    interface Ways {
        /** The way of patches to the API server. */
        readonly patch?: ApiClient["patch"];
        /** Carried out before each write of the ledger but the first. */
        readonly beforeWrite?: (informer: Informer<Node>) => Promise<void>;
        readonly coolingMs?: number;
        readonly clock?: Clock;
    }

    /** One term on the real API server, with the ways to it as the test wants them. */
    function term(cluster: string, { patch = api.patch.bind(api), beforeWrite, coolingMs, clock = systemClock }: Ways) {
        const stop = new AbortController();
        const log = new MemoryLog();
        const informer = new Informer<Node>({ api, logger: log.logger }, { resource: nodes });
        informer.start(stop.signal);
        const update = (async (...args: Parameters<ApiClient["update"]>) => {
            await beforeWrite?.(informer);
            return api.update(...args);
        }) as ApiClient["update"];
        const bound = { find: api.find.bind(api), create: api.create.bind(api), update, patch };
        const allocated: string[] = [];
        const allocator = new CidrReconciler(
            {
                api: bound,
                nodes: informer,
                recorder: { record: () => undefined },
                metrics: {
                    allocated: () => allocated.push("one"),
                    exhausted: () => undefined,
                    ledgerWritten: () => undefined,
                },
                logger: log.logger,
                clock,
            },
            {
                settings: {
                    clusters: [{ prefix: parsePrefix(cluster), nodeMaskSize: 24 }],
                    serviceCidrs: [],
                    ...(coolingMs !== undefined && { coolingMs }),
                },
                namespace: "default",
                ledgerName: `ledger-${cluster.split("/")[0]}`,
                holder: crypto.randomUUID(),
            },
        );
        const run = allocator.run(stop.signal);
        return {
            allocator,
            allocated,
            async [Symbol.asyncDispose](): Promise<void> {
                stop.abort();
                await run;
                await informer.close();
                for (const [name] of await podCidrs(api)) await server.deleteNode(name);
            },
        };
    }

    it("reads the Node when a patch has no answer: done or not, the Node gets what is recorded, once", async () => {
        let patches = 0;
        const unanswered = new KubeError("TIMEOUT", "no answer", { outcomeUnknown: true });
        const patch = (async (...args: Parameters<ApiClient["patch"]>) => {
            patches += 1;
            // The first is lost on its way, of the second the answer.
            if (patches === 1) throw unanswered;
            const node = await api.patch(...args);
            if (patches === 2) throw unanswered;
            return node;
        }) as ApiClient["patch"];
        await using each = term("10.1.0.0/16", { patch });
        await server.addNode("a");
        await eventually(async () => (await podCidrs(api)).get("a")?.length === 1);
        expect((await podCidrs(api)).get("a")).toEqual(["10.1.0.0/24"]);
        await server.addNode("b");
        await eventually(() => each.allocated.length === 2);
        expect((await podCidrs(api)).get("b")).toEqual(["10.1.1.0/24"]);
        expect(patches).toBe(3);
    });

    it("accepts that someone else was quicker, and gives its promise to the next", async () => {
        let quicker = true;
        let answered = false;
        const patch = (async (...args: Parameters<ApiClient["patch"]>) => {
            if (quicker) {
                quicker = false;
                const spec = { podCIDR: "10.2.7.0/24", podCIDRs: ["10.2.7.0/24"] };
                await api.patch(nodes, { name: "a" }, { type: "merge", body: { spec } });
            }
            try {
                return await api.patch(...args);
            } finally {
                answered = true;
            }
        }) as ApiClient["patch"];
        await using each = term("10.2.0.0/16", { patch });
        await server.addNode("a");
        await eventually(() => answered && each.allocator.state.allocator.usage[0]?.free === 255);
        expect((await podCidrs(api)).get("a")).toEqual(["10.2.7.0/24"]);
    });

    it("does not patch a Node that was registered anew in the meantime", async () => {
        let swapped = false;
        const patch = (async (...args: Parameters<ApiClient["patch"]>) => {
            if (!swapped) {
                swapped = true;
                await server.deleteNode("a");
                await server.addNode("a");
            }
            return api.patch(...args);
        }) as ApiClient["patch"];
        await using each = term("10.3.0.0/16", { patch });
        await server.addNode("a");
        await eventually(async () => (await podCidrs(api)).get("a")?.length === 1);
        expect((await podCidrs(api)).get("a")).toEqual(["10.3.0.0/24"]);
        await eventually(() => each.allocator.state.allocator.usage[0]?.free === 255);
    });

    it("promises nothing to a Node that goes while the promise is written", async () => {
        let isDeleted = false;
        const beforeWrite = async (informer: Informer<Node>): Promise<void> => {
            if (isDeleted || informer.get("a") === undefined) return;
            isDeleted = true;
            await server.deleteNode("a");
            await eventually(() => informer.get("a") === undefined);
        };
        await using each = term("10.5.0.0/16", { beforeWrite });
        await server.addNode("a");
        await eventually(() => isDeleted);
        await server.addNode("b");
        await eventually(() => each.allocated.length === 1);
        expect([...each.allocator.state.allocator.nodes()]).toEqual(["b"]);
        expect(each.allocator.state.allocator.goneNodes).toBe(1);
    });

    it("serves waiting Nodes as soon as a subnet has rested, and leaks none", async () => {
        // No timer of 30 s ends: a Node that waits is not served because it is checked again every 30 s.
        const after: Clock["after"] = (ms, callback) => systemClock.after(ms < 30_000 ? ms : 600_000, callback);
        await using each = term("10.4.0.0/23", { coolingMs: 1_500, clock: { ...systemClock, after } });
        await server.addNode("a");
        await server.addNode("b");
        await eventually(async () => [...(await podCidrs(api)).values()].flat().length === 2);
        await server.addNode("c");
        await eventually(() => each.allocator.state.waiting.has("c"));
        const deletedAt = performance.now();
        await server.deleteNode("a");
        await eventually(async () => (await podCidrs(api)).get("c")?.length === 1, { timeoutMs: 120_000 });
        expect(performance.now() - deletedAt).toBeGreaterThan(1_400);
        expect(each.allocator.state.waiting.size).toBe(0);
    });
});
