import { describe, expect, it } from "@jest/globals";
import { OpenFlowError, type BundleMod, type FlowMod, type Message } from "../../src/codec/index.ts";
import { Calls, type CallSpec } from "../../src/connection/calls.ts";
import { Gate } from "../../src/connection/gate.ts";
import { flowsSpec, portsSpec } from "../../src/connection/multipart-requests.ts";
import { barrierSpec, bundleRequest } from "../../src/connection/requests.ts";
import { Xids } from "../../src/connection/xids.ts";

const made = (code: "REFUSED" | "DISCONNECTED" | "ABORTED"): OpenFlowError =>
    new OpenFlowError(code, "environment", "made up");
const barrier = (xid: number): Message => ({ type: "barrier_reply", xid });
const refusal = (xid: number): Message => ({
    type: "error",
    xid,
    error: { errorType: 5, errorCode: 1, name: "OFPFMFC_TABLE_FULL", data: new Uint8Array(0) },
});

/** A call of the xids 5 to 7 that is done by a barrier reply. */
function spec(first = 5, last = 7): CallSpec<number> {
    return {
        what: "the call",
        firstXid: first,
        lastXid: last,
        answer: (message, frameBytes) => {
            if (message.type === "error") return { kind: "fail", error: made("REFUSED") };
            return message.type === "barrier_reply" ? { kind: "done", value: frameBytes } : { kind: "wait" };
        },
    };
}

describe("Xids", () => {
    it("begin at 1, and again at 1 when a run does not fit any more", () => {
        const xids = new Xids();
        expect([xids.take(1), xids.take(3), xids.take(1)]).toEqual([1, 2, 5]);
        const late = new Xids(0xfffffffe);
        expect([late.take(2), late.take(1)]).toEqual([0xfffffffe, 1]);
        expect(new Xids(0xfffffffe).take(3)).toBe(1);
    });
});

describe("Calls", () => {
    const forever = { timeoutMs: 60_000 };

    it("give an answer to the call of its xid, and errors to the call in whose range they are", async () => {
        const calls = new Calls();
        const [first, second] = [
            calls.add(spec(), forever, () => undefined),
            calls.add(spec(8, 9), forever, () => undefined),
        ];
        expect(calls.size).toBe(2);
        expect([4, 10].map((xid) => calls.dispatch(refusal(xid), 8))).toEqual([false, false]);
        expect(calls.dispatch({ type: "barrier_request", xid: 7 }, 8)).toBe(true);
        expect(calls.size).toBe(2);
        expect(calls.dispatch(refusal(5), 8)).toBe(true);
        await expect(first).rejects.toMatchObject({ code: "REFUSED" });
        expect(calls.dispatch(refusal(6), 8)).toBe(false);
        expect(calls.dispatch(barrier(9), 24)).toBe(true);
        expect(await second).toBe(24);
        expect(calls.size).toBe(0);
        expect([calls.dispatch(barrier(9), 8), calls.fail(9, made("REFUSED"))]).toEqual([false, false]);
    });

    it("reject a call whose message cannot be read, and all when the connection ends", async () => {
        const calls = new Calls();
        const all = [spec(5, 7), spec(8, 8), spec(9, 9)].map((each) => calls.add(each, forever, () => undefined));
        expect(calls.fail(6, made("REFUSED"))).toBe(true);
        calls.failAll((xid) => new OpenFlowError("DISCONNECTED", "environment", `call ${xid}`));
        const results = await Promise.allSettled(all);
        expect(results.map((result) => result.status === "rejected" && (result.reason as Error).message)).toEqual([
            "made up",
            "call 8",
            "call 9",
        ]);
        expect(calls.size).toBe(0);
    });

    it("end with their time, their signal, and what sending throws", async () => {
        const calls = new Calls();
        await expect(calls.add(spec(), { timeoutMs: 5 }, () => undefined)).rejects.toMatchObject({
            code: "TIMEOUT",
            fault: "timeout",
            message: "the call: no answer within 5 ms; whether it took effect is not known",
        });
        const stop = new AbortController();
        const cancelled = calls.add(spec(), { ...forever, signal: stop.signal }, () => undefined);
        expect(calls.size).toBe(1);
        const reason = new Error("why");
        stop.abort(reason);
        await expect(cancelled).rejects.toMatchObject({
            code: "ABORTED",
            fault: "aborted",
            message: "the call: cancelled",
            cause: reason,
        });
        let sent = 0;
        const late = calls.add(spec(), { ...forever, signal: stop.signal }, () => (sent += 1));
        await expect(late).rejects.toMatchObject({ code: "ABORTED", cause: reason });
        expect(sent).toBe(0);
        const full = calls.add(spec(), forever, () => {
            throw made("DISCONNECTED");
        });
        await expect(full).rejects.toMatchObject({ code: "DISCONNECTED" });
        expect(calls.size).toBe(0);
    });
});

describe("Gate", () => {
    it("lets through in order whoever waits, and at once whoever comes while it is open", async () => {
        const gate = new Gate<string>();
        const order: string[] = [];
        const waiting = [1, 2].map(async (n) => order.push(`${n} ${await gate.pass({ timeoutMs: 60_000 })}`));
        expect(gate.value).toBeUndefined();
        gate.open("a");
        await Promise.all(waiting);
        expect(order).toEqual(["1 a", "2 a"]);
        expect([gate.value, await gate.pass({ timeoutMs: 60_000 })]).toEqual(["a", "a"]);
        gate.shut();
        expect(gate.value).toBeUndefined();
        const later = gate.pass({ timeoutMs: 60_000 });
        gate.open("b");
        expect(await later).toBe("b");
    });

    it("refuses after the time, the signal, and the end", async () => {
        const gate = new Gate<string>();
        await expect(gate.pass({ timeoutMs: 5 })).rejects.toMatchObject({
            code: "NOT_CONNECTED",
            fault: "environment",
            message: "not connected to the switch within 5 ms; nothing was sent",
        });
        const stop = new AbortController();
        const cancelled = gate.pass({ timeoutMs: 60_000, signal: stop.signal });
        stop.abort();
        const words = { code: "ABORTED", message: "waiting for the connection: cancelled" };
        await expect(cancelled).rejects.toMatchObject(words);
        gate.open("a");
        await expect(gate.pass({ timeoutMs: 60_000, signal: stop.signal })).rejects.toMatchObject(words);
        gate.shut();
        const waiting = gate.pass({ timeoutMs: 60_000 });
        const end = made("ABORTED");
        gate.end(end);
        await expect(waiting).rejects.toBe(end);
        await expect(gate.pass({ timeoutMs: 60_000 })).rejects.toBe(end);
        gate.open("b");
        gate.end(end);
        expect(gate.value).toBeUndefined();
    });
});

describe("what a request makes of an answer", () => {
    const add = (priority: number): FlowMod => ({
        command: "add",
        flow: { table: 0, priority, match: {}, actions: [] },
    });
    const bundle = (ordered = true) => bundleRequest([add(1), add(2)], { firstXid: 10, bundleId: 3, ordered });
    const commit = (control: number): Message => ({
        type: "bundle_control",
        xid: 13,
        control: { bundleId: 3, control, flags: 3 },
    });

    it("a bundle is done when its commit is answered, not before", () => {
        const { spec } = bundle();
        expect(spec).toMatchObject({ what: "bundle of 2 changes", firstXid: 10, lastXid: 13 });
        expect(spec.answer(commit(1), 8)).toEqual({ kind: "wait" });
        expect(spec.answer(barrier(13), 8)).toEqual({ kind: "wait" });
        expect(spec.answer(commit(5), 8)).toEqual({ kind: "done", value: undefined });
    });

    it("a bundle is atomic, and ordered unless it need not be", () => {
        const flags = (ordered: boolean): number => new DataView(bundle(ordered).bytes.buffer).getUint16(14);
        expect([flags(true), flags(false)]).toEqual([3, 1]);
    });

    it.each([
        [
            11,
            "bundle of 2 changes: change 0, add table=0,priority=1,actions=drop: the switch refused it with OFPFMFC_TABLE_FULL",
            0,
        ],
        [
            12,
            "bundle of 2 changes: change 1, add table=0,priority=2,actions=drop: the switch refused it with OFPFMFC_TABLE_FULL",
            1,
        ],
        [10, "bundle of 2 changes: the switch refused it with OFPFMFC_TABLE_FULL", undefined],
    ])("a bundle fails with the first error, here of xid %i, when its commit fails", (xid, message, index) => {
        const { spec } = bundle();
        expect(spec.answer(refusal(xid), 8)).toEqual({ kind: "wait" });
        expect(spec.answer(refusal(12), 8)).toEqual({ kind: "wait" });
        const end = spec.answer(refusal(13), 8);
        expect(end).toMatchObject({ kind: "fail", error: { code: "REFUSED", fault: "caller", message } });
        expect(end).toMatchObject({
            error: { details: { errorType: 5, errorCode: 1, errorName: "OFPFMFC_TABLE_FULL" } },
        });
        const details = end.kind === "fail" ? end.error.details : {};
        expect(details["index"]).toBe(index);
    });

    it("a bundle that was committed in part is an error of ours, which names the part", () => {
        const { spec } = bundle();
        spec.answer(refusal(11), 8);
        expect(spec.answer(commit(5), 8)).toMatchObject({
            kind: "fail",
            error: {
                code: "REFUSED",
                fault: "internal",
                message: expect.stringMatching(
                    /change 0, .*; the switch applied the rest of the bundle, which must be repaired$/,
                ),
                details: { index: 0, partial: true },
            },
        });
    });

    it("a change that cannot be written is named, also when it cannot be formatted", () => {
        const request = (mod: FlowMod) => (): unknown =>
            bundleRequest([add(1), mod], { firstXid: 1, bundleId: 1, ordered: true });
        const bad = { command: "add", flow: { table: 0, priority: 7, match: { reg0: -1 }, actions: [] } } as const;
        expect(request(bad)).toThrow(
            expect.objectContaining({
                code: "BAD_VALUE",
                fault: "caller",
                message: "bundle: change 1, add table=0,priority=7: reg0: -1 does not fit into 32 bits",
                details: { index: 1, flow: "add table=0,priority=7" },
            }),
        );
        expect(request({ command: "delete", flow: { match: { reg0: -1 } } })).toThrow(
            "delete table=all,priority=default: ",
        );
        // The match of a deletion need not be consistent; that of an addition must be.
        const odd = { match: { tcp_dst: 1 }, table: 0, priority: 1, actions: [] };
        expect(request({ command: "delete", flow: odd })).not.toThrow();
        expect(request({ command: "modify", flow: odd })).toThrow(expect.objectContaining({ code: "BAD_FIELD" }));
    });

    it("a barrier is done by its reply, and refused by an error", () => {
        const spec = barrierSpec("barrier", 4);
        expect(spec.answer({ type: "barrier_request", xid: 4 }, 8)).toEqual({ kind: "wait" });
        expect(spec.answer(barrier(4), 8)).toEqual({ kind: "done", value: undefined });
        expect(spec.answer(refusal(4), 8)).toMatchObject({
            kind: "fail",
            error: { message: "barrier: the switch refused it with OFPFMFC_TABLE_FULL" },
        });
    });

    it("messages before a barrier fail with the first error, when the barrier is done", () => {
        const spec = barrierSpec("add meter 7", 4, 6);
        expect(spec.answer(refusal(5), 8)).toEqual({ kind: "wait" });
        expect(spec.answer(barrier(6), 8)).toMatchObject({
            kind: "fail",
            error: { code: "REFUSED", message: "add meter 7: the switch refused it with OFPFMFC_TABLE_FULL" },
        });
    });

    it("a change of a group at fault is named by its id", () => {
        const group: BundleMod = { command: "delete", group: { id: 9 } };
        const { spec } = bundleRequest([group], { firstXid: 10, bundleId: 1, ordered: true });
        expect(spec.answer(refusal(11), 8)).toEqual({ kind: "wait" });
        expect(spec.answer(refusal(12), 8)).toMatchObject({
            kind: "fail",
            error: {
                message:
                    "bundle of 1 changes: change 0, delete group_id=9: the switch refused it with OFPFMFC_TABLE_FULL",
                details: { index: 0, group: 9 },
            },
        });
        const bad: BundleMod = { command: "add", group: { id: 9, type: "indirect", buckets: [] } };
        expect(() => bundleRequest([group, bad], { firstXid: 10, bundleId: 1, ordered: true })).toThrow(
            expect.objectContaining({
                code: "BAD_VALUE",
                message:
                    "bundle: change 1, add group_id=9: group 9: it has 0 buckets, a group of type indirect has exactly one",
                details: expect.objectContaining({ index: 1, group: 9 }),
            }),
        );
    });

    it("a list is all parts up to the last, within its limit", () => {
        const port = (n: number) => ({ port: n, mac: new Uint8Array(6), name: `p${n}`, config: 0, state: 0 });
        const part = (more: boolean, ...ports: number[]): Message => ({
            type: "multipart_reply",
            xid: 4,
            reply: { more, kind: "ports", ports: ports.map(port) },
        });
        const spec = portsSpec(4, 100);
        expect(spec.answer(barrier(4), 1_000)).toEqual({ kind: "wait" });
        expect(spec.answer(part(true, 1), 50)).toEqual({ kind: "wait" });
        expect(spec.answer(part(true), 25)).toEqual({ kind: "wait" });
        expect(spec.answer(part(false, 2, 3), 25)).toMatchObject({ kind: "done", value: [1, 2, 3].map(port) });
        const long = portsSpec(4, 100);
        long.answer(part(true, 1), 100);
        expect(long.answer(part(false), 1)).toMatchObject({
            kind: "fail",
            error: {
                code: "TOO_BIG",
                fault: "environment",
                message: "list of ports: the answer passes maxReplyBytes (100); ask for fewer with a filter",
            },
        });
        expect(portsSpec(4, 100).answer(refusal(4), 8)).toMatchObject({ kind: "fail", error: { code: "REFUSED" } });
        // An answer to another request has no items of the requested kind.
        expect(flowsSpec(4, 100).answer(part(false, 1), 8)).toEqual({ kind: "done", value: [] });
    });
});
