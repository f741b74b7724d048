import { describe, expect, it } from "@jest/globals";
import { type IpAllocation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { KubeError, type KubeErrorCode } from "@antrea/kube";
import { AllocationWriter, type Fate } from "../../../src/platform/allocations/index.ts";
import { allocation, ownedBySet } from "../../fakes.ts";

/** One allocation on a server that answers writes as the script says; "lost" writes take effect, "dropped" ones do not. */
class Server {
    allocation: IpAllocation | undefined;
    readonly calls: string[] = [];
    readonly #script: (KubeErrorCode | "lost" | "dropped" | "ok")[];

    constructor(before: IpAllocation | undefined, script: (KubeErrorCode | "lost" | "dropped" | "ok")[] = []) {
        this.allocation = before;
        this.#script = script;
    }

    get writer(): AllocationWriter {
        return new AllocationWriter({
            api: {
                find: () => Promise.resolve(this.allocation as never),
                create: ((_: unknown, object: IpAllocation) =>
                    this.#write("create", () => {
                        if (this.allocation !== undefined) throw new KubeError("ALREADY_EXISTS", "taken");
                        const made = { ...object.metadata, uid: "made", resourceVersion: "1", generation: 1 };
                        return (this.allocation = { ...object, metadata: made });
                    })) as never,
                update: ((_: unknown, object: IpAllocation) =>
                    this.#write("update", () => (this.allocation = object))) as never,
                delete: ((_: unknown, __: unknown, o: { readonly uid: string; readonly resourceVersion: string }) =>
                    this.#write(`delete ${o.uid} ${o.resourceVersion}`, () => (this.allocation = undefined))) as never,
            },
        });
    }

    async #write<T>(call: string, effect: () => T): Promise<T> {
        this.calls.push(call);
        await Promise.resolve();
        const answer = this.#script.shift() ?? "ok";
        if (answer === "ok") return effect();
        if (answer === "lost") effect();
        if (answer === "lost" || answer === "dropped") throw new KubeError("TIMEOUT", "late", { outcomeUnknown: true });
        throw new KubeError(answer, "no");
    }
}

const { signal } = new AbortController();
const mine = ownedBySet("web", 0);
const held = allocation("10.0.0.1", "p", { node: "n1", owner: mine });

describe("AllocationWriter.reserve", () => {
    const wanted = { ip: parseIp("10.0.0.1"), pool: "p", owner: mine };

    it.each([
        ["is made", undefined, [], "made", 1],
        ["is someone's", allocation("10.0.0.1", "p", { node: "n1" }), [], undefined, 1],
        ["was made, the answer was lost", undefined, ["lost"], "made", 2],
        ["was not made, nor was there an answer", undefined, ["dropped"], "made", 2],
    ] as const)("%s", async (_name, before, script, uid, creates) => {
        const server = new Server(before, [...script]);
        expect((await server.writer.reserve(wanted, signal))?.metadata.uid).toBe(uid);
        expect(server.calls).toEqual(Array.from({ length: creates }, () => "create"));
    });

    it("is someone else's although a create before had no answer", async () => {
        const server = new Server(undefined, ["dropped"]);
        const reserving = server.writer.reserve(wanted, signal);
        server.allocation = allocation("10.0.0.1", "p", { node: "n1" });
        expect(await reserving).toBeUndefined();
    });

    it("fails on what is neither", async () => {
        await expect(new Server(undefined, ["FORBIDDEN"]).writer.reserve(wanted, signal)).rejects.toMatchObject({
            code: "FORBIDDEN",
        });
    });

    it("writes the allocation in full", async () => {
        const server = new Server(undefined);
        await server.writer.reserve({ ...wanted, ip: parseIp("fd00::1:2") }, signal);
        expect(server.allocation).toMatchObject({
            metadata: { name: "fd00-0-0-0-0-0-1-2" },
            spec: { address: "fd00::1:2", block: "fd00::1:0/120", pool: "p", state: "Reserved", owner: mine },
        });
        expect(server.allocation?.spec.pod).toBeUndefined();
    });
});

describe("AllocationWriter.change", () => {
    const change = async (server: Server, fate: Fate, uid = "uid-10.0.0.1"): Promise<boolean> =>
        server.writer.change("10.0.0.1", uid, () => (server.allocation === undefined ? undefined : fate), signal);

    it("deletes the very version that was judged", async () => {
        const server = new Server(held);
        expect(await change(server, "delete")).toBe(true);
        expect(server.calls).toEqual(["delete uid-10.0.0.1 1"]);
    });

    it("gives an allocation back to its StatefulSet without its Pod", async () => {
        const server = new Server(held);
        expect(await change(server, "reserve")).toBe(true);
        const { pod: _, ...kept } = held.spec;
        expect(server.allocation).toEqual({ ...held, spec: { ...kept, state: "Reserved" } });
    });

    it("hands an allocation to another owner, its Pod stays", async () => {
        const server = new Server(held);
        expect(await change(server, { adoptBy: "other" })).toBe(true);
        expect(server.allocation).toEqual({ ...held, spec: { ...held.spec, owner: { ...mine, uid: "other" } } });
    });

    it.each([
        ["it is gone", undefined, "delete", "uid-10.0.0.1"],
        ["another has its name", held, "delete", "uid-before"],
        ["it is to stay", held, undefined, "uid-10.0.0.1"],
    ] as const)("writes nothing when %s", async (_name, before, fate, uid) => {
        const server = new Server(before);
        expect(await change(server, fate, uid)).toBe(false);
        expect(server.calls).toEqual([]);
    });

    it("judges anew after a conflict, and leaves what changed", async () => {
        const server = new Server(held, ["CONFLICT", "CONFLICT"]);
        let judged = 0;
        const judge = (): Fate => ((judged += 1) < 3 ? "delete" : undefined);
        expect(await server.writer.change("10.0.0.1", "uid-10.0.0.1", judge, signal)).toBe(false);
        expect(judged).toBe(3);
        expect(server.allocation).toBeDefined();
    });

    it.each([
        ["took effect", "lost", 1],
        ["took no effect", "dropped", 2],
    ] as const)("finds out whether a write without answer %s", async (_name, answer, writes) => {
        const server = new Server(held, [answer]);
        expect(await change(server, "delete")).toBe(true);
        expect(server.calls).toHaveLength(writes);
        expect(server.allocation).toBeUndefined();
    });

    it("gives up on an allocation that others change all the time", async () => {
        const server = new Server(
            held,
            Array.from({ length: 20 }, () => "CONFLICT" as const),
        );
        await expect(change(server, "delete")).rejects.toMatchObject({ code: "BUSY" });
    });

    it("writes nothing after its signal", async () => {
        const server = new Server(held);
        const stop = new AbortController();
        const judge = (): Fate => {
            stop.abort();
            return "delete";
        };
        await expect(server.writer.change("10.0.0.1", "uid-10.0.0.1", judge, stop.signal)).rejects.toThrow();
        expect(server.calls).toEqual([]);
    });
});
