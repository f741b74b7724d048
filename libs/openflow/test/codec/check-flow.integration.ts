import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { checkFlow, formatFlow, writeFlowMod, Writer, type Flow } from "../../src/codec/index.ts";
import { writeHello } from "../../src/codec/message/hello.ts";
import { PrivateOvs } from "../../src/testing/index.ts";
import { arbitraryFlow } from "./arbitrary-flow.ts";
import { errorsOf, refusalOf } from "./verdicts.ts";

const firstXid = 100;

/** The switch's answer to each flow: the name of its error, or undefined. */
async function verdicts(socketPath: string, flows: readonly Flow[]): Promise<(string | undefined)[]> {
    const writer = new Writer();
    writeHello(writer, 1);
    flows.forEach((flow, index) => writeFlowMod(writer, firstXid + index, { command: "add", flow }));
    const errors = await errorsOf(socketPath, writer);
    return flows.map((_, index) => errors.get(firstXid + index));
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
            const [we, they] = [refusalOf(() => checkFlow(flow)), theirs[index]];
            return (we === undefined) === (they === undefined) ? [] : [{ flow: formatFlow(flow), we, they }];
        });
        expect(differences).toEqual([]);
        const refused = theirs.filter((error) => error !== undefined).length;
        expect(refused).toBeGreaterThan(1_500);
        expect(flows.length - refused).toBeGreaterThan(1_500);
    });
});
