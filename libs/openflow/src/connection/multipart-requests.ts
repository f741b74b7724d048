import { OpenFlowError } from "../codec/errors.ts";
import { type FlowStats } from "../codec/flow.ts";
import { type Group, type GroupCounters } from "../codec/group.ts";
import { type MultipartReply } from "../codec/message/multipart.ts";
import { type PortDescription } from "../codec/message/port-description.ts";
import { type FlowTotals } from "../codec/message/stats.ts";
import { type Meter } from "../codec/meter.ts";
import { refused, type CallSpec } from "./calls.ts";

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
