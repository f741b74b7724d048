import { type Flow } from "./flow.ts";
import { matchKey } from "./match/canonical.ts";
import { writeInstructions } from "./message/instruction.ts";
import { Writer } from "./wire/writer.ts";

/** Identity of a flow as Open vSwitch sees it: table, priority and match in canonical form. */
export function flowKey(flow: Pick<Flow, "table" | "priority" | "match">): string {
    return `${flow.table},${flow.priority},${matchKey(flow.match)}`;
}

/**
 * What a flow does, in canonical form: actions, next table, timeouts and flags, without cookie and counters. Two flows
 * of one `flowKey` need no update exactly when these are equal.
 */
export function flowBodyKey(
    flow: Pick<
        Flow,
        | "actions"
        | "gotoTable"
        | "writeMetadata"
        | "clearActions"
        | "writeActions"
        | "idleTimeout"
        | "hardTimeout"
        | "importance"
        | "sendFlowRemoved"
    >,
): string {
    const writer = new Writer();
    writeInstructions(writer, flow);
    const timing = [
        flow.idleTimeout ?? 0,
        flow.hardTimeout ?? 0,
        flow.importance ?? 0,
        flow.sendFlowRemoved === true ? 1 : 0,
    ];
    return `${timing.join(",")},${textOf(writer.finish())}`;
}

/** A character for each byte: a text that is made fast and is as long as the bytes, for comparing only. */
function textOf(bytes: Uint8Array): string {
    let text = "";
    for (let start = 0; start < bytes.length; start += 1024) {
        text += String.fromCharCode(...bytes.subarray(start, start + 1024));
    }
    return text;
}
