import { beforeEach, describe, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import { podOfPorts } from "@antrea/flows";
import { reporting } from "../../../src/platform/reporting.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { FakeNode, type FakeNodeOptions } from "./fake-node.ts";

const { signal } = new AbortController();
const container = "ab12".repeat(16);

let log: LogEntry[];
let node: FakeNode;

function begin(options: FakeNodeOptions = { pools: true }): void {
    log = [];
    node = new FakeNode({ ...options, logger: listLogger(log) });
}

beforeEach(() => begin());

const warnings = (): readonly LogEntry[] => log.filter(({ level }) => level === "warn");
const veths = (): readonly string[] =>
    [...node.links.values()].filter(({ kind }) => kind === "veth").map(({ name }) => name);

async function wired(): Promise<string> {
    await node.add();
    node.steps.clear();
    const [name = ""] = node.stored.keys();
    return name;
}

function failing(...names: readonly string[]): void {
    node.steps.failure = (_, name) => (names.includes(name) ? "before" : undefined);
}

describe("a DEL", () => {
    it("of which OVS does nothing names the Pod and the reason, and keeps the address", async () => {
        await wired();
        failing("deletePort");
        await node.network.delete(container, "eth0");
        expect(warnings()).toMatchObject([
            {
                message: "unwiring is left to the reconcile",
                fields: { pod: "default/web-0", reason: "deletePort failed" },
            },
        ]);
        expect([...node.allocations]).toEqual([container]);
    });

    it("frees the address although its route stays, which the next Pod with it or the reconcile sets right", async () => {
        await wired();
        failing("remove route");
        await node.network.delete(container, "eth0");
        expect(warnings()).toMatchObject([
            {
                message: "route not removed; left to the next reconcile",
                fields: { pod: "default/web-0", reason: "remove route failed" },
            },
        ]);
        expect(node.taken()).toMatchObject({ interfaces: 0, ports: [], allocations: [] });
    });

    it("goes on when the link cannot be switched off, and reports which one stays on", async () => {
        const name = await wired();
        failing("close link");
        await node.network.delete(container, "eth0");
        expect(warnings()).toMatchObject([
            { message: "link of a Pod cannot be set down", fields: { link: name, reason: "close link failed" } },
        ]);
        expect(node.taken()).toMatchObject({ interfaces: 0, ports: [], allocations: [] });
    });

    it("is not surprised by a link that goes with its namespace meanwhile", async () => {
        const name = await wired();
        node.steps.failure = (_, step) => {
            if (step === "close link") node.links.delete(name);
            return undefined;
        };
        await node.network.delete(container, "eth0");
        expect(warnings()).toEqual([]);
        expect(node.taken()).toMatchObject({ interfaces: 0, ports: [], allocations: [] });
    });

    it("logs whose interface is gone", async () => {
        await wired();
        await node.network.delete(container, "eth0");
        expect(log.at(-1)).toMatchObject({
            level: "info",
            message: "Pod interface removed",
            fields: { pod: "default/web-0", container },
        });
    });

    it("and a failed ADD need no pools, nor bridging", async () => {
        begin({});
        failing("set flows");
        await expect(node.add()).rejects.toMatchObject({ message: "set flows failed" });
        node.steps.clear();
        await wired();
        await node.network.delete(container, "eth0");
        expect(node.taken()).toMatchObject({ addresses: 0, interfaces: 0, ports: [] });
    });

    it("reports how long it waited for OVS", async () => {
        await wired();
        node.steps.hanging.add("remove flows");
        const deleted = node.network.delete(container, "eth0");
        for (let turn = 0; turn < 50; turn += 1) await settle();
        await node.clock.advance(5_000);
        await deleted;
        expect(warnings()).toMatchObject([
            { fields: { reason: expect.stringContaining("unwiring took longer than 5 s") } },
        ]);
    });
});

describe("an ADD that failed", () => {
    it("leaves no link behind for the sweep, unless it cannot be deleted", async () => {
        failing("set flows");
        await expect(node.add()).rejects.toMatchObject({ message: "set flows failed" });
        expect(veths()).toEqual([]);
        failing("set flows", "deleteLink");
        await expect(node.add()).rejects.toMatchObject({ message: "set flows failed" });
        expect(warnings().at(-1)).toMatchObject({
            message: "veth pair not removed; left to the next reconcile",
            fields: { link: veths()[0], reason: "deleteLink failed" },
        });
    });

    it("before it had addresses gives its allocation and its number back although its port stays, and reports it", async () => {
        failing("claim", "deletePort");
        await expect(node.add()).rejects.toMatchObject({ message: "claim failed" });
        const [port] = node.stored.keys();
        expect(warnings()).toMatchObject([
            {
                message: "incomplete port not removed; left to the next reconcile",
                fields: { port, reason: "deletePort failed" },
            },
        ]);
        expect(node.network.ofPorts.used.size).toBe(0);
        expect([...node.allocations]).toEqual([]);
    });

    it("frees both numbers when OVS gave another than it was asked for", async () => {
        node.foreignOfPorts.add(podOfPorts.first);
        let sent = 0;
        node.steps.failure = (_, name) => (name === "set flows" && (sent += 1) === 2 ? "before" : undefined);
        await expect(node.add()).rejects.toMatchObject({ message: "set flows failed" });
        expect([...node.network.ofPorts.used]).toEqual([]);
    });

    it("keeps its number while its port may be in OVS: another Pod would get its flows", async () => {
        failing("set flows", "deletePort");
        await expect(node.add()).rejects.toMatchObject({ message: "set flows failed" });
        expect([...node.network.ofPorts.used]).toEqual([podOfPorts.first]);
        node.steps.clear();
        await node.reconciler.reconcile(signal);
        expect([...node.network.ofPorts.used]).toEqual([]);
    });
});

describe("work on a wired interface that OVS does not answer", () => {
    it.each([
        ["restoring the interface", "restore", (known: never) => node.network.restore(known)],
        ["isolating the interface", "isolate", (known: never) => node.network.isolate(known)],
        ["reconnecting the interface", "reconnect", (known: never) => node.network.reconnect(known)],
    ] as const)("ends after 20 s and reports what took so long: %s", async (what, _, work) => {
        await wired();
        const [known] = node.network.interfaces();
        node.steps.hanging.add("ensurePort");
        const working = work(known as never);
        working.catch(() => undefined);
        for (let turn = 0; turn < 50; turn += 1) await settle();
        await node.clock.advance(20_000);
        // Not as an abort, which is no failure: whoever reports failures, as for the readiness, reports this one.
        const reports: (string | undefined)[] = [];
        const report = (problem: string | undefined): void => void reports.push(problem);
        await expect(reporting({ what: "not as it must be", report }, () => working)).rejects.toMatchObject({
            code: "TOO_SLOW",
            fault: "timeout",
        });
        expect(reports).toEqual([`not as it must be: ${what} took longer than 20 s: ensurePort was cancelled`]);
    });

    it("stays an abort if its caller gives it up, which nobody reports", async () => {
        await wired();
        const [known] = node.network.interfaces();
        node.steps.hanging.add("ensurePort");
        const stop = new AbortController();
        const working = node.network.restore(known as never, stop.signal);
        working.catch(() => undefined);
        for (let turn = 0; turn < 50; turn += 1) await settle();
        stop.abort(new Error("the agent ends"));
        const reports: unknown[] = [];
        await expect(
            reporting({ what: "no", report: (problem) => reports.push(problem) }, () => working),
        ).rejects.toMatchObject({ code: "ABORTED", cause: { message: "the agent ends" } });
        expect(reports).toEqual([]);
    });
});
