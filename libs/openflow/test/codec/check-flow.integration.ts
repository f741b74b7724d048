import { connect } from "node:net";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
    checkFlow,
    decodeMessage,
    formatFlow,
    FrameSplitter,
    writeFlowMod,
    Writer,
    type Flow,
} from "../../src/codec/index.ts";
import { writeHello } from "../../src/codec/message/hello.ts";
import { writeBare } from "../../src/codec/message/simple.ts";
import { PrivateOvs } from "../../src/testing/index.ts";
import { arbitraryFlow } from "./arbitrary-flow.ts";

const firstXid = 100;

/** The switch's answer to each flow: the name of its error, or undefined. */
async function verdicts(socketPath: string, flows: readonly Flow[]): Promise<(string | undefined)[]> {
    // Written before connecting: ovs-vswitchd closes a connection without a hello after some seconds.
    const writer = new Writer();
    writeHello(writer, 1);
    flows.forEach((flow, index) => writeFlowMod(writer, firstXid + index, { command: "add", flow }));
    writeBare(writer, "BARRIER_REQUEST", 2);
    const errors = new Map<number, string>();
    const done = Promise.withResolvers<void>();
    const socket = connect(socketPath);
    const splitter = new FrameSplitter();
    socket.on("error", done.reject);
    socket.on("data", (chunk: Buffer) => {
        for (const frame of splitter.push(chunk)) {
            const message = decodeMessage(frame);
            if (message.type === "error") errors.set(message.xid, message.error.name);
            if (message.type === "barrier_reply") done.resolve();
        }
    });
    socket.write(writer.finish());
    await done.promise;
    socket.destroy();
    return flows.map((_, index) => errors.get(firstXid + index));
}

function ours(flow: Flow): string | undefined {
    try {
        checkFlow(flow);
        return undefined;
    } catch (error) {
        return (error as Error).message;
    }
}

describe("checkFlow", () => {
    it("refuses exactly what ovs-vswitchd refuses", async () => {
        await using ovs = await PrivateOvs.start({ network: "own" });
        const bridge = PrivateOvs.deviceName("chk");
        await ovs.addBridge(bridge);
        const flows = fc
            .sample(arbitraryFlow, { numRuns: 10_000, seed: 1 })
            .map((flow, index): Flow => ({ ...flow, priority: index }));
        const theirs = await verdicts(ovs.mgmtSocket(bridge), flows);
        const differences = flows.flatMap((flow, index) => {
            const [we, they] = [ours(flow), theirs[index]];
            return (we === undefined) === (they === undefined) ? [] : [{ flow: formatFlow(flow), we, they }];
        });
        expect(differences).toEqual([]);
        const refused = theirs.filter((error) => error !== undefined).length;
        expect(refused).toBeGreaterThan(1_500);
        expect(flows.length - refused).toBeGreaterThan(1_500);
    });
});
