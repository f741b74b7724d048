import { describe, expect, it } from "@jest/globals";
import { KubeError, type ConfigMap } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { parsePrefix } from "@antrea/ip";
import { decodeLedger } from "../../../src/features/node-ipam/ledger.ts";
import { LedgerStore, type LedgerStoreComponents } from "../../../src/features/node-ipam/ledger-store.ts";
import { type Ledger } from "../../../src/features/node-ipam/types.ts";

type Fault = "lost request" | "lost answer" | "refused";

/** One ConfigMap with optimistic concurrency; faults happen to the next writes. */
class OneConfigMap {
    stored: ConfigMap | undefined;
    writes = 0;
    readonly faults: Fault[] = [];
    #version = 0;

    readonly api: LedgerStoreComponents["api"] = {
        find: (async () => {
            await Promise.resolve();
            return this.stored;
        }) as never,
        create: ((_resource: unknown, object: ConfigMap) =>
            this.#write(object, () => {
                if (this.stored !== undefined) throw new KubeError("ALREADY_EXISTS", "exists");
            })) as never,
        update: ((_resource: unknown, object: ConfigMap) =>
            this.#write(object, () => {
                if (this.stored === undefined) throw new KubeError("NOT_FOUND", "gone");
                if (this.stored.metadata?.resourceVersion !== object.metadata?.resourceVersion) {
                    throw new KubeError("CONFLICT", "changed");
                }
            })) as never,
    };

    get nodes(): readonly string[] {
        return decodeLedger(this.stored ?? {}).ledger.entries.map(({ node }) => node);
    }

    touch(data: Record<string, string> = {}): void {
        this.#version += 1;
        this.stored = {
            metadata: { ...this.stored?.metadata, resourceVersion: String(this.#version) },
            data: { ...this.stored?.data, ...data },
        };
    }

    async #write(object: ConfigMap, check: () => void): Promise<ConfigMap> {
        await new Promise((resolve) => setImmediate(resolve));
        const fault = this.faults.shift();
        if (fault === "refused") throw new KubeError("FORBIDDEN", "no");
        const lost = new KubeError("TIMEOUT", "no answer", { outcomeUnknown: true });
        if (fault === "lost request") throw lost;
        check();
        this.writes += 1;
        this.#version += 1;
        this.stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
        if (fault === "lost answer") throw lost;
        return this.stored;
    }
}

function open(map: OneConfigMap, holder: string) {
    const names: string[] = [];
    const durable: string[] = [];
    const cidrs = [parsePrefix("10.0.0.0/24")];
    const store = new LedgerStore(
        { api: map.api, logger: new MemoryLog().logger },
        {
            namespace: "n",
            name: "l",
            holder,
            signal: new AbortController().signal,
            snapshot: (): Ledger => ({
                entries: names.map((node) => ({ node, cidrs, text: "10.0.0.0/24" })),
                next: [],
            }),
            written: (ledger) => durable.splice(0, durable.length, ...ledger.entries.map(({ node }) => node)),
        },
    );
    return { store, names, durable };
}

describe("LedgerStore", () => {
    it("shares writes among those who commit together, and resolves only what is durable", async () => {
        const map = new OneConfigMap();
        const { store, names, durable } = open(map, "a");
        await store.takeOver();
        await Promise.all(
            Array.from({ length: 100 }, async (_, index) => {
                names.push(`n${index}`);
                await store.commit();
                expect(durable).toContain(`n${index}`);
                expect(map.nodes).toContain(`n${index}`);
            }),
        );
        expect(map.writes).toBe(2);
        names.push("x");
        const first = store.commit();
        await new Promise((resolve) => setImmediate(resolve));
        names.push("y");
        await Promise.all([first, store.commit()]);
        expect(map.nodes).toContain("y");
        expect(map.writes).toBe(4);
    });

    it.each<readonly [string, readonly Fault[]]>([
        ["the request gets lost", ["lost request"]],
        ["the answer gets lost", ["lost answer"]],
        ["both, one after the other", ["lost request", "lost answer"]],
    ])("when %s, the write is done once", async (_name, faults) => {
        const map = new OneConfigMap();
        const { store, names } = open(map, "a");
        await store.takeOver();
        const before = map.writes;
        map.faults.push(...faults);
        names.push("x");
        await store.commit();
        expect(map.nodes).toEqual(["x"]);
        expect(map.writes).toBe(before + 1);
    });

    it("taking over survives lost answers", async () => {
        const map = new OneConfigMap();
        map.faults.push("lost answer", "lost request");
        const { store } = open(map, "a");
        await store.takeOver();
        expect(map.stored?.data?.holder).toBe("a");
    });

    it("writes over what others changed, and again what was removed", async () => {
        const map = new OneConfigMap();
        const { store, names } = open(map, "a");
        await store.takeOver();
        names.push("x");
        map.touch({ nodes: "" });
        await store.commit();
        expect(map.nodes).toEqual(["x"]);
        map.stored = undefined;
        await store.commit();
        expect(map.nodes).toEqual(["x"]);
    });

    it("the one before has lost for good, whatever it has under way", async () => {
        const map = new OneConfigMap();
        const old = open(map, "old");
        await old.store.takeOver();
        old.names.push("x");
        await old.store.commit();
        const late = open(map, "new");
        const taken = await late.store.takeOver();
        expect(taken.entries.map(({ node }) => node)).toEqual(["x"]);
        old.names.push("y");
        map.faults.push("lost request");
        await expect(old.store.commit()).rejects.toMatchObject({ code: "LEDGER_LOST" });
        await expect(old.store.commit()).rejects.toMatchObject({ code: "LEDGER_LOST" });
        expect(old.store.lost).toBe(true);
        expect(map.nodes).toEqual(["x"]);
    });

    it("rejects this time when it is refused, and works the next time", async () => {
        const map = new OneConfigMap();
        const { store, names } = open(map, "a");
        await store.takeOver();
        names.push("x");
        map.faults.push("refused");
        await expect(store.commit()).rejects.toMatchObject({ code: "FORBIDDEN" });
        await store.commit();
        expect(map.nodes).toEqual(["x"]);
    });
});
