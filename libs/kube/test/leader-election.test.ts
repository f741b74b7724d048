import { describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { type Lease } from "../src/api/types.ts";
import { KubeError } from "../src/errors.ts";
import { LeaderElection, type LeaderElectionComponents } from "../src/leader-election.ts";

/** One Lease with optimistic concurrency, and switches for what goes wrong. */
class LeaseServer {
    lease: Lease | undefined;
    readonly down = new Set<string>();
    readonly hangs = new Set<string>();
    /** Writes at once, and answers by `release`. */
    readonly answersLate = new Map<string, Promise<void>>();
    #version = 0;

    api(client: string): LeaderElectionComponents["api"] {
        const gate = async (signal?: AbortSignal): Promise<void> => {
            if (this.hangs.has(client)) {
                await new Promise((_resolve, reject) =>
                    signal?.addEventListener("abort", () => reject(new KubeError("ABORTED", "aborted"))),
                );
            }
            if (this.down.has(client)) throw new KubeError("CONNECTION_FAILED", "down");
        };
        const store = (object: Lease): Lease => {
            this.#version += 1;
            this.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
            return this.lease;
        };
        return {
            find: (async (_resource: unknown, _ref: unknown, o: { signal?: AbortSignal }) => {
                await gate(o.signal);
                return this.lease;
            }) as never,
            create: (async (_resource: unknown, object: Lease, o: { signal?: AbortSignal }) => {
                await gate(o.signal);
                if (this.lease !== undefined) throw new KubeError("ALREADY_EXISTS", "exists");
                return store(object);
            }) as never,
            update: (async (_resource: unknown, object: Lease, o: { signal?: AbortSignal }) => {
                await gate(o.signal);
                if (object.metadata?.resourceVersion !== this.lease?.metadata?.resourceVersion) {
                    throw new KubeError("CONFLICT", "changed");
                }
                const stored = store(object);
                await this.answersLate.get(client);
                return stored;
            }) as never,
        };
    }
}

describe("LeaderElection", () => {
    function make(names: readonly string[]) {
        const clock = new ManualClock();
        const server = new LeaseServer();
        const leading = new Set<string>();
        let most = 0;
        const candidates = names.map((name) => {
            const stop = new AbortController();
            const log = new MemoryLog();
            const election = new LeaderElection(
                { api: server.api(name), logger: log.logger, clock },
                { namespace: "kube-system", name: "test", identity: name },
            );
            const run = election.run(stop.signal, async (signal) => {
                leading.add(name);
                most = Math.max(most, leading.size);
                await new Promise((resolve) => signal.addEventListener("abort", resolve));
                leading.delete(name);
            });
            return { name, stop, election, run, log };
        });
        return { clock, server, leading, candidates, most: () => most };
    }

    it("one leads, renews and keeps the lease; the other waits", async () => {
        const { clock, server, leading, candidates } = make(["a", "b"]);
        await clock.advance(60_000);
        expect(leading.size).toBe(1);
        expect(server.lease?.spec).toMatchObject({ leaseDurationSeconds: 15, leaseTransitions: 0 });
        const transitions = server.lease?.spec?.leaseTransitions;
        await clock.advance(600_000);
        expect(server.lease?.spec?.leaseTransitions).toBe(transitions);
        for (const { stop } of candidates) stop.abort();
        await clock.advance(5_000);
        await Promise.all(candidates.map(({ run }) => run));
        expect(clock.pending).toBe(0);
    });

    it("releases at a graceful stop, so that the other leads within a retry period", async () => {
        const { clock, leading, candidates, server } = make(["a", "b"]);
        await clock.advance(5_000);
        const leader = candidates.find(({ name }) => leading.has(name));
        leader?.stop.abort();
        await settle();
        expect(server.lease?.spec?.holderIdentity).toBe("");
        await clock.advance(2_500);
        expect(leading.size).toBe(1);
        expect(leading.has(leader?.name ?? "")).toBe(false);
        expect(server.lease?.spec?.leaseTransitions).toBe(1);
    });

    it.each(["down", "hangs"] as const)("a leader whose server %s stops before the other begins", async (fault) => {
        const { clock, server, leading, candidates, most } = make(["a", "b"]);
        await clock.advance(5_000);
        const before = [...leading][0] ?? "";
        server[fault].add(before);
        const lostAt = clock.monotonic();
        while (leading.has(before)) await clock.advance(100);
        expect(clock.monotonic() - lostAt).toBeLessThanOrEqual(10_100);
        expect(leading.size).toBe(0);
        while (leading.size === 0) await clock.advance(100);
        expect(clock.monotonic() - lostAt).toBeLessThanOrEqual(18_000);
        server[fault].clear();
        await clock.advance(60_000);
        expect(leading.has(before)).toBe(false);
        expect(most()).toBe(1);
        for (const { stop } of candidates) stop.abort();
        await settle();
    });

    it("counts its deadline from when the last renewal was sent, however late the answer came", async () => {
        const { clock, server, leading } = make(["a"]);
        await clock.advance(5_000);
        const late = Promise.withResolvers<void>();
        server.answersLate.set("a", late.promise);
        const version = server.lease?.metadata?.resourceVersion;
        while (server.lease?.metadata?.resourceVersion === version) await clock.advance(100);
        const sentAt = clock.monotonic();
        await clock.advance(4_500);
        server.down.add("a");
        late.resolve();
        while (leading.has("a")) await clock.advance(100);
        expect(clock.monotonic() - sentAt).toBeLessThanOrEqual(10_100);
    });

    it("stops at once when another has the lease", async () => {
        const { clock, server, leading } = make(["a"]);
        await clock.advance(3_000);
        expect([...leading]).toEqual(["a"]);
        server.lease = {
            metadata: { resourceVersion: "999" },
            spec: { holderIdentity: "intruder", leaseDurationSeconds: 15, renewTime: "x" },
        };
        await clock.advance(4_000);
        expect(leading.size).toBe(0);
    });

    it("refuses durations with which two could lead at once", () => {
        const options = { namespace: "n", name: "l", identity: "i", leaseDurationMs: 10_000, renewDeadlineMs: 10_000 };
        const components = { api: new LeaseServer().api("a"), logger: new MemoryLog().logger };
        expect(() => new LeaderElection(components, options)).toThrow(/renewDeadlineMs < leaseDurationMs/);
    });

    it.each([
        [{ leaseDurationMs: 10_000, renewDeadlineMs: 10_000 }],
        [{ renewDeadlineMs: 2_000, retryPeriodMs: 2_000 }],
        [{ retryPeriodMs: 11_000 }],
    ])("refuses %j", (durations) => {
        const components = { api: new LeaseServer().api("a"), logger: new MemoryLog().logger };
        const options = { namespace: "n", name: "l", identity: "i", ...durations };
        expect(() => new LeaderElection(components, options)).toThrow(expect.objectContaining({ code: "BAD_CONFIG" }));
    });

    it("writes a Lease that others can read: holder, duration, since when, last renewal and how many there were", async () => {
        const { clock, server, candidates } = make(["a"]);
        const [a] = candidates;
        expect(a?.election).toMatchObject({ leading: false, holder: undefined });
        await clock.advance(1);
        const begin = "2026-01-01T00:00:00.000000Z";
        const first = { holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0, acquireTime: begin };
        expect(server.lease).toEqual({
            metadata: { namespace: "kube-system", name: "test", resourceVersion: "1" },
            spec: { ...first, renewTime: begin },
        });
        expect(a?.election).toMatchObject({ leading: true, holder: "a" });
        await clock.advance(2_000);
        expect(server.lease?.spec).toEqual({ ...first, renewTime: "2026-01-01T00:00:02.000000Z" });
        a?.stop.abort();
        await settle();
        const end = "2026-01-01T00:00:02.001000Z";
        expect(server.lease?.spec).toEqual({
            holderIdentity: "",
            leaseDurationSeconds: 1,
            leaseTransitions: 0,
            acquireTime: end,
            renewTime: end,
        });
        expect(a?.election).toMatchObject({ leading: false, holder: undefined });
        expect(a?.log.records.map(({ level, msg, lease }) => [level, msg, lease])).toEqual([
            ["info", "leading", "test"],
            ["info", "leadership released", "test"],
        ]);
        await clock.advance(10_000);
        await a?.run;
    });

    it.each([
        ["its duration", { leaseDurationSeconds: 30 }, 30_000],
        ["our own duration where it names none", {}, 15_000],
    ])("leaves the lease of another alone for %s since it was seen to be renewed", async (_name, spec, ms) => {
        const { clock, server, leading } = make(["a"]);
        const other = { ...spec, holderIdentity: "b", leaseTransitions: 4, acquireTime: "x" };
        server.lease = { metadata: { resourceVersion: "900" }, spec: { ...other, renewTime: "1" } };
        await clock.advance(10_000);
        server.lease = { metadata: { resourceVersion: "901" }, spec: { ...other, renewTime: "2" } };
        await clock.advance(ms);
        expect(leading.size).toBe(0);
        expect(server.lease?.spec?.holderIdentity).toBe("b");
        await clock.advance(5_000);
        expect([...leading]).toEqual(["a"]);
        expect(server.lease?.spec).toMatchObject({ holderIdentity: "a", leaseTransitions: 5 });
        expect(server.lease?.spec?.acquireTime).toMatch(/^2026-/);
    });

    it("leaves it alone also where the other has taken it anew in the moment of its last renewal", async () => {
        const { clock, server, leading } = make(["a"]);
        const spec = { holderIdentity: "b", leaseDurationSeconds: 15, renewTime: "1" };
        server.lease = { metadata: { resourceVersion: "900" }, spec: { ...spec, leaseTransitions: 4 } };
        await clock.advance(10_000);
        server.lease = { metadata: { resourceVersion: "901" }, spec: { ...spec, leaseTransitions: 6 } };
        await clock.advance(14_000);
        expect(leading.size).toBe(0);
        await clock.advance(6_000);
        expect(leading.size).toBe(1);
    });

    it("takes a lease that nobody holds at once, also one without content", async () => {
        for (const lease of [{}, { spec: {} }, { spec: { holderIdentity: "" } }]) {
            const { clock, server, leading } = make(["a"]);
            server.lease = lease;
            await clock.advance(1);
            expect([...leading]).toEqual(["a"]);
            expect(server.lease?.spec?.leaseTransitions).toBe(1);
        }
    });

    it("goes on with the lease that its name still holds, without a transition", async () => {
        const { clock, server, leading } = make(["a"]);
        const spec = { holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 4, acquireTime: "before" };
        server.lease = { spec: { ...spec, renewTime: "1" } };
        await clock.advance(1);
        expect([...leading]).toEqual(["a"]);
        expect(server.lease?.spec).toMatchObject({ acquireTime: "before", leaseTransitions: 4 });
    });

    it("does not release a lease that it lost, and reports who has it", async () => {
        const { clock, server, leading, candidates } = make(["a"]);
        await clock.advance(3_000);
        server.lease = {
            metadata: { resourceVersion: "999" },
            spec: { holderIdentity: "intruder", leaseDurationSeconds: 15, renewTime: "x" },
        };
        await clock.advance(4_000);
        expect(leading.size).toBe(0);
        expect(server.lease?.spec?.holderIdentity).toBe("intruder");
        const records = candidates[0]?.log.records ?? [];
        expect(records).toEqual(
            expect.arrayContaining([
                expect.objectContaining({ level: "info", msg: "leading", lease: "test", identity: "a" }),
                expect.objectContaining({ msg: "leadership lost", lease: "test", holder: "intruder" }),
            ]),
        );
        // A conflict is everyday life of an election.
        const failed = records.filter(({ msg }) => msg === "cannot take or renew the lease");
        expect(failed.map(({ level, lease }) => [level, lease])).toEqual([["debug", "test"]]);
    });

    it.each<[string, () => Promise<void>]>([
        ["fails", () => Promise.reject(new Error("made up"))],
        [
            "throws at once",
            () => {
                throw new Error("made up");
            },
        ],
    ])("ends its term and releases the lease when its work %s, logs that, and campaigns again", async (_name, lead) => {
        const clock = new ManualClock();
        const server = new LeaseServer();
        const log = new MemoryLog();
        const components = { api: server.api("a"), logger: log.logger, clock };
        const election = new LeaderElection(components, { namespace: "n", name: "test", identity: "a" });
        const stop = new AbortController();
        const began: number[] = [];
        const run = election.run(stop.signal, () => {
            began.push(clock.monotonic());
            return lead();
        });
        await clock.advance(1);
        expect(election.leading).toBe(false);
        expect(server.lease?.spec?.holderIdentity).toBe("");
        expect(log.messages("error")).toEqual(["the leader's work failed"]);
        await clock.advance(2_500);
        expect(began).toHaveLength(2);
        expect(began[1]).toBeGreaterThanOrEqual(2_000);
        stop.abort();
        await clock.advance(5_000);
        await run;
    });

    it("warns when the server cannot be asked, and when the lease cannot be released", async () => {
        const { clock, server, candidates, leading } = make(["a"]);
        const [a] = candidates;
        server.down.add("a");
        await clock.advance(1);
        expect(a?.log.records).toEqual([
            expect.objectContaining({ level: "warn", msg: "cannot take or renew the lease", lease: "test" }),
        ]);
        server.down.clear();
        await clock.advance(2_500);
        expect(leading.size).toBe(1);
        server.down.add("a");
        a?.stop.abort();
        await clock.advance(1);
        await a?.run;
        expect(a?.log.records.at(-1)).toMatchObject({
            level: "warn",
            msg: "cannot release the lease; it will expire",
            lease: "test",
        });
    });
});
