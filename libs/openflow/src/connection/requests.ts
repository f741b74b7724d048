import { checkFlow } from "../codec/check-flow.ts";
import { OpenFlowError, type OpenFlowErrorDetails } from "../codec/errors.ts";
import { checkGroupMod } from "../codec/check-group.ts";
import { type FlowStats } from "../codec/flow.ts";
import { describeFlowMod } from "../codec/format/flow.ts";
import { type Group, type GroupCounters } from "../codec/group.ts";
import {
    BundleControl,
    BundleFlag,
    writeBundleAdd,
    writeBundleControl,
    type BundleMod,
} from "../codec/message/bundle.ts";
import { type ErrorMessage } from "../codec/message/error.ts";
import { type MultipartReply, type PortDescription } from "../codec/message/multipart.ts";
import { type FlowTotals } from "../codec/message/stats.ts";
import { type Meter } from "../codec/meter.ts";
import { Writer } from "../codec/wire/writer.ts";
import { refused, type CallSpec } from "./calls.ts";

/** A request with the bytes to send for it, to be used once. */
export interface Request<T> {
    readonly spec: CallSpec<T>;
    readonly bytes: Uint8Array;
}

/** The number of xids that a bundle of `count` messages uses: open, each message, commit. */
export function bundleXids(count: number): number {
    return count + 2;
}

/**
 * Open, messages and commit of one atomic bundle, in one run of bytes. `ids.firstXid` begins the
 * `bundleXids(mods.length)` xids that it uses. The call ends with the answer to the commit; its error has the first
 * message that the switch rejected (`details.index`, and `details.flow` or `details.group`). Throws the error of
 * `checkFlow`, `checkGroupMod` or of the codec for a change that cannot be sent, with the same details.
 */
export function bundleRequest(
    mods: readonly BundleMod[],
    ids: { readonly firstXid: number; readonly bundleId: number; readonly ordered: boolean },
): Request<void> {
    const flags = BundleFlag.ATOMIC | (ids.ordered ? BundleFlag.ORDERED : 0);
    const { firstXid, bundleId } = ids;
    const lastXid = firstXid + bundleXids(mods.length) - 1;
    const writer = new Writer(64 + mods.length * 192);
    writeBundleControl(writer, firstXid, { bundleId, flags, control: BundleControl.OPEN_REQUEST });
    mods.forEach((mod, index) => writeMod(writer, firstXid + 1 + index, { bundleId, flags }, mod, index));
    writeBundleControl(writer, lastXid, { bundleId, flags, control: BundleControl.COMMIT_REQUEST });

    let first: OpenFlowError | undefined;
    const what = `bundle of ${mods.length} changes`;
    const failure = (xid: number, error: ErrorMessage): OpenFlowError => {
        const index = xid - firstXid - 1;
        const mod = mods[index];
        if (mod === undefined) return refused(what, error);
        return refused(`${what}: change ${index}, ${describe(mod)}`, error, detailsOf(mod, index));
    };
    return {
        bytes: writer.finish(),
        spec: {
            what,
            firstXid,
            lastXid,
            answer: (message) => {
                if (message.type === "error") {
                    first ??= failure(message.xid, message.error);
                    return message.xid === lastXid ? { kind: "fail", error: first } : { kind: "wait" };
                }
                const committed =
                    message.type === "bundle_control" && message.control.control === BundleControl.COMMIT_REPLY;
                if (!committed) return { kind: "wait" };
                return first === undefined
                    ? { kind: "done", value: undefined }
                    : { kind: "fail", error: partly(first) };
            },
        },
    };
}

/**
 * The switch could not read one of the messages and committed the others. `checkFlow` rejects every kind of such flow
 * that is known, so this is one that it does not cover yet. The caller must read the tables or replay.
 */
function partly(first: OpenFlowError): OpenFlowError {
    const message = `${first.message}; the switch applied the rest of the bundle, which must be repaired`;
    return new OpenFlowError(first.code, "internal", message, { details: { ...first.details, partial: true } });
}

/** The change as text; a value that does not fit its field cannot be formatted. */
function describe(mod: BundleMod): string {
    if ("group" in mod) return `${mod.command} group_id=${mod.group.id}`;
    try {
        return describeFlowMod(mod);
    } catch {
        return `${mod.command} table=${mod.flow.table ?? "all"},priority=${mod.flow.priority ?? "default"}`;
    }
}

function detailsOf(mod: BundleMod, index: number): Partial<OpenFlowErrorDetails> {
    return "group" in mod ? { index, group: mod.group.id } : { index, flow: describe(mod) };
}

function writeMod(
    writer: Writer,
    xid: number,
    bundle: { readonly bundleId: number; readonly flags: number },
    mod: BundleMod,
    index: number,
): void {
    try {
        if ("group" in mod) checkGroupMod(mod);
        else if (!mod.command.startsWith("delete")) checkFlow(mod.flow);
        writeBundleAdd(writer, xid, bundle, mod);
    } catch (cause) {
        if (!(cause instanceof OpenFlowError)) throw cause;
        const message = `bundle: change ${index}, ${describe(mod)}: ${cause.message}`;
        const details = { ...cause.details, ...detailsOf(mod, index) };
        throw new OpenFlowError(cause.code, cause.fault, message, { cause, details });
    }
}

/**
 * The call of messages without an answer that end with a barrier request, under the xids `firstXid` to `lastXid`. Fails
 * with `REFUSED` when the switch rejects one of them; it may have applied the others.
 */
export function barrierSpec(what: string, firstXid: number, lastXid = firstXid): CallSpec<void> {
    let first: OpenFlowError | undefined;
    return {
        what,
        firstXid,
        lastXid,
        answer: (message) => {
            if (message.type === "error") first ??= refused(what, message.error);
            const isLast = message.type === "barrier_reply" || (message.type === "error" && message.xid === lastXid);
            if (!isLast) return { kind: "wait" };
            return first === undefined ? { kind: "done", value: undefined } : { kind: "fail", error: first };
        },
    };
}

/**
 * The call of a request for flows, for one use, as it collects the parts of the answer. Fails with `REFUSED`, or
 * `TOO_BIG` when the parts exceed `maxBytes` together.
 */
export function flowsSpec(xid: number, maxBytes: number): CallSpec<FlowStats[]> {
    return multipartSpec("dump of flows", xid, maxBytes, (reply) => (reply.kind === "flows" ? reply.flows : []));
}

/**
 * The call of a request for flow totals, for one use; its value has one element per part of the answer that has totals.
 * Fails as `flowsSpec` does.
 */
export function totalsSpec(xid: number, maxBytes: number): CallSpec<FlowTotals[]> {
    return multipartSpec("count of flows", xid, maxBytes, (reply) => (reply.kind === "totals" ? [reply.totals] : []));
}

/** The call of a request for ports, for one use. Fails as `flowsSpec` does. */
export function portsSpec(xid: number, maxBytes: number): CallSpec<PortDescription[]> {
    return multipartSpec("list of ports", xid, maxBytes, (reply) => (reply.kind === "ports" ? reply.ports : []));
}

/** The call of a request for groups, for one use. Fails as `flowsSpec` does. */
export function groupsSpec(xid: number, maxBytes: number): CallSpec<Group[]> {
    return multipartSpec("dump of groups", xid, maxBytes, (reply) => (reply.kind === "groups" ? reply.groups : []));
}

/** The call of a request for the counters of groups, for one use. Fails as `flowsSpec` does. */
export function groupCountersSpec(xid: number, maxBytes: number): CallSpec<GroupCounters[]> {
    return multipartSpec("counters of groups", xid, maxBytes, (reply) =>
        reply.kind === "group_counters" ? reply.counters : [],
    );
}

/** The call of a request for meters, for one use. Fails as `flowsSpec` does. */
export function metersSpec(xid: number, maxBytes: number): CallSpec<Meter[]> {
    return multipartSpec("dump of meters", xid, maxBytes, (reply) => (reply.kind === "meters" ? reply.meters : []));
}

/** Collects the parts of an answer up to the last one. */
function multipartSpec<T>(
    what: string,
    xid: number,
    maxBytes: number,
    items: (reply: MultipartReply) => readonly T[],
): CallSpec<T[]> {
    const all: T[] = [];
    let bytes = 0;
    return {
        what,
        firstXid: xid,
        lastXid: xid,
        answer: (message, frameBytes) => {
            if (message.type === "error") return { kind: "fail", error: refused(what, message.error) };
            if (message.type !== "multipart_reply") return { kind: "wait" };
            bytes += frameBytes;
            if (bytes > maxBytes) {
                const text = `${what}: the answer passes maxReplyBytes (${maxBytes}); ask for fewer with a filter`;
                return { kind: "fail", error: new OpenFlowError("TOO_BIG", "environment", text) };
            }
            for (const item of items(message.reply)) all.push(item);
            return message.reply.more ? { kind: "wait" } : { kind: "done", value: all };
        },
    };
}
