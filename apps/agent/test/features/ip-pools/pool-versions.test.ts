import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { formatRange, parseIp } from "@antrea/ip";
import { type KubeObject } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { PoolCache, type PoolCacheComponents } from "../../../src/features/ip-pools/pool-cache.ts";
import { silentLogger } from "../../support/logger.ts";

const limit = (): AbortSignal => AbortSignal.timeout(60_000);

/** Answers of an API server that lost its past: resourceVersions are lower than before. */
const futureVersion = {
    kind: "Status",
    code: 504,
    reason: "Timeout",
    details: { causes: [{ reason: "ResourceVersionTooLarge" }] },
};

/** What lists, the watch and a GET of IPPools say, each by itself. */
class ScriptedApi {
    listed: readonly IpPool[] = [];
    found: IpPool | undefined;
    /** Runs before a GET is answered. */
    before: () => Promise<void> = () => Promise.resolve();
    #watch: Readable | undefined;

    readonly api: PoolCacheComponents["api"] = {
        list: (async ({ plural }: { readonly plural: string }) => {
            const items: readonly KubeObject[] = plural === "ippools" ? this.listed : [];
            return { items, resourceVersion: "1000" };
        }) as never,
        watch: async ({ plural }, { signal }) => {
            const stream = new Readable({ read: () => undefined });
            signal.addEventListener("abort", () => stream.destroy(new Error("aborted")));
            if (plural === "ippools") this.#watch = stream;
            return stream as never;
        },
        find: (async () => {
            const answer = this.found;
            await this.before();
            return answer;
        }) as never,
    };

    send(type: string, object: unknown): void {
        this.#watch?.push(`${JSON.stringify({ type, object })}\n`);
    }

    /** etcd was restored from a backup with these. */
    restore(...listed: readonly IpPool[]): void {
        this.listed = listed;
        this.send("ERROR", futureVersion);
    }
}

function pool(resourceVersion: number, generation: number, end: string, uid = "u1"): IpPool {
    const ipRanges = [{ start: "10.0.0.1", end, gateway: "10.0.255.1", prefixLength: 16 }];
    const metadata = { name: "pool1", uid, resourceVersion: String(resourceVersion), generation };
    return { metadata, spec: { ipVersion: 4, ipRanges } } as IpPool;
}

describe("PoolCache", () => {
    let api: ScriptedApi;
    let cache: PoolCache;

    const known = (): string | undefined => {
        const found = cache.known("pool1");
        return found && `${found.version.generation} ${found.usable.ranges.map(formatRange).join()}`;
    };
    const live = async (): Promise<string | undefined> => {
        const found = await cache.live("pool1", limit());
        return found && `${found.version.generation} ${found.usable.ranges.map(formatRange).join()}`;
    };

    beforeEach(async () => {
        api = new ScriptedApi();
        api.listed = [pool(500, 5, "10.0.0.9")];
        const nodes = { list: () => [], onChange: () => ({ [Symbol.dispose]: () => undefined }) };
        cache = new PoolCache({
            api: api.api,
            logger: silentLogger,
            nodes: { ...nodes, synced: () => Promise.resolve(), hasSynced: true },
        });
        cache.start(limit());
        await cache.synced(limit());
        // Let the watch be open.
        await new Promise((resolve) => setTimeout(resolve, 10));
    });
    afterEach(() => cache.close());

    it("follows changes and deletions after etcd was restored, and versions are lower than before", async () => {
        expect(known()).toBe("5 10.0.0.1-10.0.0.9");
        api.restore(pool(100, 1, "10.0.0.3"));
        await eventually(() => known() === "1 10.0.0.1-10.0.0.3");
        await new Promise((resolve) => setTimeout(resolve, 10));
        api.send("MODIFIED", pool(101, 2, "10.0.0.4"));
        await eventually(() => known() === "2 10.0.0.1-10.0.0.4");
        api.send("DELETED", pool(102, 2, "10.0.0.4"));
        await eventually(() => known() === undefined);
        expect(cache.poolOf(parseIp("10.0.0.4"))).toBeUndefined();
    });

    it("reads live what the API server has, not at what was reported last, and keeps it", async () => {
        api.found = pool(100, 1, "10.0.0.3", "u0");
        expect(await live()).toBe("1 10.0.0.1-10.0.0.3");
        expect(known()).toBe("1 10.0.0.1-10.0.0.3");
    });

    it("forgets a pool by a list that lacks it, although a live read found a newer one", async () => {
        api.found = pool(600, 6, "10.0.0.6");
        expect(await live()).toBe("6 10.0.0.1-10.0.0.6");
        api.restore();
        await eventually(() => known() === undefined);
    });

    it("is as in a list, although a live read found a newer one", async () => {
        api.found = pool(600, 6, "10.0.0.6");
        await live();
        api.restore(pool(550, 4, "10.0.0.5"));
        await eventually(() => known() === "4 10.0.0.1-10.0.0.5");
    });

    it("forgets a pool that only a live read found by a list that lacks it, to which that is no change", async () => {
        api.send("DELETED", pool(501, 5, "10.0.0.9"));
        await eventually(() => known() === undefined);
        api.found = pool(600, 1, "10.0.0.6", "u2");
        await live();
        expect(known()).toBe("1 10.0.0.1-10.0.0.6");
        api.restore();
        await eventually(() => known() === undefined);
        expect([cache.poolOf(parseIp("10.0.0.4")), cache.isMissing("pool1")]).toEqual([undefined, true]);
    });

    it("is as in a list that shows no change, although a live read found a newer one", async () => {
        api.found = pool(600, 6, "10.0.0.6");
        await live();
        expect(known()).toBe("6 10.0.0.1-10.0.0.6");
        api.restore(pool(500, 5, "10.0.0.9"));
        await eventually(() => known() === "5 10.0.0.1-10.0.0.9");
    });

    it("keeps what a live read found while the watch reports what was before", async () => {
        api.found = pool(600, 6, "10.0.0.6");
        await live();
        api.send("MODIFIED", pool(550, 5, "10.0.0.5"));
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(known()).toBe("6 10.0.0.1-10.0.0.6");
        api.send("MODIFIED", pool(601, 7, "10.0.0.7"));
        await eventually(() => known() === "7 10.0.0.1-10.0.0.7");
        api.send("MODIFIED", pool(602, 8, "10.0.0.8"));
        await eventually(() => known() === "8 10.0.0.1-10.0.0.8");
    });

    it("keeps what the watch reports while a live read is under way", async () => {
        api.found = pool(600, 6, "10.0.0.6");
        api.before = async () => {
            api.send("MODIFIED", pool(601, 7, "10.0.0.7"));
            await eventually(() => known() === "7 10.0.0.1-10.0.0.7");
        };
        expect(await live()).toBe("6 10.0.0.1-10.0.0.6");
        expect(known()).toBe("7 10.0.0.1-10.0.0.7");
    });

    it("is as the watch reports again when a live read finds nothing", async () => {
        api.found = pool(600, 1, "10.0.0.6", "u2");
        await live();
        api.found = undefined;
        expect(await live()).toBeUndefined();
        expect(known()).toBe("5 10.0.0.1-10.0.0.9");
    });
});
