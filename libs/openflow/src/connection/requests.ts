import { checkFlow } from "../codec/check-flow.ts";
import { checkGroupMod } from "../codec/check-group.ts";
import { OpenFlowError, type OpenFlowErrorDetails } from "../codec/errors.ts";
import { describeFlowMod } from "../codec/format/flow.ts";
import {
    BundleControl,
    BundleFlag,
    writeBundleAdd,
    writeBundleControl,
    type BundleMod,
} from "../codec/message/bundle.ts";
import { type ErrorMessage } from "../codec/message/error.ts";
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
