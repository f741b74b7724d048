import {
    checkFlow,
    decodeMessage,
    errorName,
    flowBodyKey,
    flowKey,
    formatFlow,
    OpenFlowError,
    writeFlowMod,
    Writer,
    type FlowMod,
    type FlowStats,
    type Group,
    type GroupMod,
    type Message,
} from "@antrea/openflow";
import { checkGroupMod, splitGroupMod, writeGroupMod, writeMeterMod } from "@antrea/openflow/fuzzing";
import { fileText, fromHex } from "../fixture.ts";
import { BrokenProperty, isTypedRefusal, mustEqual, type Target } from "../target.ts";

/** Messages of the switch: all types, multipart replies, bundles, groups, meters, matches, actions, errors. */
export const target: Target = {
    seeds: () =>
        ["flow-mods", "messages", "group-mods", "group-messages"].flatMap((name) => {
            const all = JSON.parse(fileText(`libs/openflow/test/fixtures/${name}.json`)) as readonly { hex: string }[];
            return all.map(({ hex }) => fromHex(hex)).filter((bytes) => bytes.length <= 4_096);
        }),
    run: (input) => {
        // Half of all mutations would end at the length in the header; the content after it is the subject.
        const frame = input.slice();
        if (frame.length >= 4 && (frame[3] ?? 0) % 4 !== 3) new DataView(frame.buffer).setUint16(2, frame.length);
        visit(decodeMessage(frame));
    },
    isRefusal: (error) => error instanceof OpenFlowError && isTypedRefusal(error),
};

function visit(message: Message): void {
    switch (message.type) {
        case "flow_mod":
            return visitMod(message.mod);
        case "group_mod":
            return visitGroupMod(message.mod);
        case "meter_mod":
            return mustRoundTrip("meter", (writer) => writeMeterMod(writer, 1, message.mod));
        case "bundle_add":
            return visit(message.message);
        case "multipart_reply":
            if (message.reply.kind === "flows") message.reply.flows.forEach(visitFlow);
            if (message.reply.kind === "groups") message.reply.groups.forEach(visitGroup);
            return;
        case "error":
            errorName(message.error.errorType, message.error.errorCode);
            return;
        default:
            return;
    }
}

function visitFlow(flow: FlowStats): void {
    flowKey(flow);
    flowBodyKey(flow);
    formatFlow(flow);
}

/** A group as the switch describes it can be asked for again. */
function visitGroup(group: Group): void {
    visitGroupMod({ command: "add", group });
}

function visitMod(mod: FlowMod): void {
    const { flow } = mod;
    formatFlow({ table: 0, priority: 0, actions: [], ...flow });
    allowed(() => checkFlow(flow));
    mustRoundTrip("flow", (writer) => writeFlowMod(writer, 1, mod));
}

/** Few bytes, so that small groups are split too. */
const partBytes = 300;

function visitGroupMod(mod: GroupMod): void {
    allowed(() => checkGroupMod(mod));
    mustRoundTrip("group", (writer) => writeGroupMod(writer, 1, mod));
    for (const part of allowed(() => splitGroupMod(mod, partBytes)) ?? []) {
        const bytes = written((writer) => writeGroupMod(writer, 1, part));
        const isWhole = part === mod;
        if (bytes !== undefined && bytes.length > partBytes && !isWhole) {
            throw new BrokenProperty(`a part of a group has ${bytes.length} bytes`);
        }
    }
}

/** What can be encoded again must be decoded as the same. */
function mustRoundTrip(what: string, write: (writer: Writer) => void): void {
    const first = written(write);
    if (first === undefined) return;
    const again = decodeMessage(first);
    const second = written((writer) => {
        if (again.type === "flow_mod") writeFlowMod(writer, 1, again.mod);
        else if (again.type === "group_mod") writeGroupMod(writer, 1, again.mod);
        else if (again.type === "meter_mod") writeMeterMod(writer, 1, again.mod);
    });
    mustEqual(`a ${what} written, read and written again`, second, first);
}

/** Undefined if it is valid from a switch, but not encodable here. */
function written(write: (writer: Writer) => void): Uint8Array | undefined {
    const writer = new Writer();
    return allowed(() => {
        write(writer);
        return writer.finish();
    });
}

function allowed<T>(run: () => T): T | undefined {
    try {
        return run();
    } catch (error) {
        if (error instanceof OpenFlowError && error.fault === "caller") return undefined;
        throw error;
    }
}
