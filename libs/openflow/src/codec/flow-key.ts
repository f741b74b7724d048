import { type Flow } from "./flow.ts";
import { matchKey } from "./match/canonical.ts";
import { writeInstructions } from "./message/instruction.ts";
import { Writer } from "./wire/writer.ts";

/**
 * Identity of a flow in Open vSwitch as text: table, priority and match in canonical form; two flows with equal texts
 * replace each other. Throws `OpenFlowError` `BAD_FIELD` or `BAD_VALUE` for a match that cannot be written.
 */
export function flowKey(flow: Pick<Flow, "table" | "priority" | "match">): string {
    return `${flow.table},${flow.priority},${matchKey(flow.match)}`;
}

/**
 * What a flow does, in canonical form and without cookie and counters: instructions, timeouts, importance and the
 * flow-removed flag. Two flows of one `flowKey` need no update exactly when these texts are equal. The text is for
 * comparison only. Throws `OpenFlowError` `BAD_FIELD`, `BAD_VALUE` or `TOO_BIG` for actions that cannot be written.
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

/** One character per byte: fast to make and short, for comparison only. */
export function textOf(bytes: Uint8Array): string {
    let text = "";
    for (let start = 0; start < bytes.length; start += 1024) {
        text += String.fromCharCode(...bytes.subarray(start, start + 1024));
    }
    return text;
}
