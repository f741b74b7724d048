import { describe, expect, it } from "@jest/globals";
import { type IpPool, type IpPoolStatus } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { Informer, KubeError, nodes, type Node } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { AllocationCache } from "../../../src/platform/allocations/index.ts";
import { PoolStatusWriter } from "../../../src/features/pool-status/pool-status.ts";
import { PoolCache } from "../../../src/platform/pool-cache/index.ts";
import { FakeApi, allocation, ownedBySet } from "../../fakes.ts";

interface Written {
    readonly metadata: { readonly uid: string; readonly resourceVersion: string };
    readonly status: IpPoolStatus;
}

/** Each has a /28 of its own. */
function pool(index: number): IpPool {
    const base = 0x0a000000n + BigInt(index) * 16n;
    const ip = (offset: bigint): string => formatIp({ family: 4, value: base + offset });
    return {
        metadata: { name: `p${index}`, uid: `uid-${index}`, resourceVersion: `${index}`, generation: 1 },
        spec: { ipVersion: 4, ipRanges: [{ start: ip(2n), end: ip(9n), gateway: ip(1n), prefixLength: 28 }] },
    };
}

describe("PoolStatusWriter", () => {
    async function start(
        pools: readonly IpPool[],
        allocations: Parameters<typeof allocation>[],
        patch: (name: string, body: Written) => Promise<unknown>,
    ) {
        const { logger } = new MemoryLog();
        const fake = new FakeApi({ ippools: pools, ipallocations: allocations.map((one) => allocation(...one)) });
        const stop = new AbortController();
        const informer = new Informer<Node>({ api: fake.api, logger }, { resource: nodes });
        const pool = new PoolCache({ api: fake.api, nodes: informer, logger });
        const cache = new AllocationCache({ api: fake.api, logger });
        informer.start(stop.signal);
        for (const { part } of [pool, cache]) await part.start?.(stop.signal);
        const api = {
            patch: ((_: unknown, { name }: { readonly name: string }, { body }: { readonly body: Written }) =>
                patch(name, body)) as never,
        };
        const recorder = { record: () => undefined };
        const writer = new PoolStatusWriter(
            { api, pools: pool, allocations: cache, recorder, logger },
            { quietMs: 50 },
        );
        const run = writer.run(stop.signal);
        return {
            fake,
            writer,
            async [Symbol.asyncDispose](): Promise<void> {
                stop.abort();
                await run;
                await Promise.all([informer.close(), pool.part.stop?.(), cache.part.stop?.()]);
            },
        };
    }

    it("checks 10,000 pools at once and writes each that changed once, for the very version it saw", async () => {
        const written = new Map<string, Written>();
        let writes = 0;
        await using each = await start(
            Array.from({ length: 10_000 }, (_, index) => pool(index)),
            [["10.0.0.5", "p0", { node: "n" }]],
            (name, body) => {
                writes += 1;
                written.set(name, body);
                return Promise.resolve();
            },
        );
        await eventually(() => written.size === 10_000, { timeoutMs: 120_000 });
        expect(writes).toBe(10_000);
        expect(written.get("p0")?.status.usage).toEqual({ total: 8, used: 1, reserved: 0, free: 7 });
        expect(written.get("p77")).toMatchObject({
            metadata: { uid: "uid-77", resourceVersion: "77" },
            status: { usage: { total: 8, used: 0, reserved: 0, free: 8 }, freeBlocks: ["10.0.4.0/24"] },
        });
        expect(each.writer.usages.size).toBe(10_000);
    });

    it("counts what an allocation takes that names a pool which is gone", async () => {
        const written: IpPoolStatus[] = [];
        await using _each = await start(
            [pool(1)],
            [
                ["10.0.0.19", "gone", { owner: ownedBySet("web", 0) }],
                ["10.0.0.20", "gone", { node: "n" }],
            ],
            (_name, { status }) => Promise.resolve(void written.push(status)),
        );
        await eventually(() => written.length > 0);
        expect(written[0]?.usage).toEqual({ total: 8, used: 1, reserved: 1, free: 6 });
    });

    it("checks a pool again that changed meanwhile, and forgets one that is gone", async () => {
        const answers = [new KubeError("CONFLICT", "changed"), new KubeError("NOT_FOUND", "gone")];
        let writes = 0;
        await using each = await start([pool(1)], [], () => {
            const answer = answers[writes];
            writes += 1;
            return answer === undefined ? Promise.resolve() : Promise.reject(answer);
        });
        await eventually(() => writes === 2);
        await new Promise((resolve) => setTimeout(resolve, 500));
        expect(writes).toBe(2);
        await each.fake.send("ippools", "DELETED", pool(1));
        await eventually(() => each.writer.usages.size === 0);
    });
});
