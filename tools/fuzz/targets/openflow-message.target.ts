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
    type Message,
} from "@antrea/openflow";
import { fileText, fromHex } from "../fixture.ts";
import { isTypedRefusal, mustEqual, type Target } from "../target.ts";

/** Messages of the switch: all types, multipart replies, bundles, matches, actions, errors. */
export const target: Target = {
    seeds: () =>
        ["flow-mods", "messages"].flatMap((name) => {
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
        case "bundle_add":
            return visit(message.message);
        case "multipart_reply":
            if (message.reply.kind === "flows") message.reply.flows.forEach(visitFlow);
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

/** A message that can be encoded again must be decoded as the same. */
function visitMod(mod: FlowMod): void {
    const { flow } = mod;
    formatFlow({ table: 0, priority: 0, actions: [], ...flow });
    checkOrRefuse(flow);
    const first = written(mod);
    if (first === undefined) return;
    const again = decodeMessage(first);
    if (again.type !== "flow_mod") return mustEqual("the type of a flow that was written", again.type, "flow_mod");
    const second = written(again.mod);
    mustEqual("a flow written, read and written again", second, first);
}

function written(mod: FlowMod): Uint8Array | undefined {
    const writer = new Writer();
    try {
        writeFlowMod(writer, 1, mod);
        return writer.finish();
    } catch (error) {
        // Valid from a switch, but not encodable here.
        if (error instanceof OpenFlowError && error.fault === "caller") return undefined;
        throw error;
    }
}

function checkOrRefuse(flow: FlowMod["flow"]): void {
    try {
        checkFlow(flow);
    } catch (error) {
        if (!(error instanceof OpenFlowError && error.fault === "caller")) throw error;
    }
}
