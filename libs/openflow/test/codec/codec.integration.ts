import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { decodeMessage, errorName, formatFlow, type Flow } from "../../src/codec/index.ts";
import { PrivateOvs } from "../../src/testing/index.ts";
import { capture } from "../capture/proxy.ts";
import { bytes, flowMods } from "../fixtures.ts";

describe("codec against Debian's Open vSwitch", () => {
    it("formatFlow: ovs-ofctl makes of every line the message it was decoded from", async () => {
        await using ovs = await PrivateOvs.start({ network: "own" });
        const bridge = PrivateOvs.deviceName("fmt");
        await ovs.addBridge(bridge);
        const lines = flowMods.map(({ hex }) => {
            const message = decodeMessage(bytes(hex));
            if (message.type !== "flow_mod") throw new Error(`a ${message.type}`);
            return formatFlow({ table: 0, priority: 0, actions: [], ...message.mod.flow } satisfies Flow);
        });
        await writeFile(`${ovs.runDir}/flows.txt`, lines.join("\n"));
        const sent = await capture(ovs, bridge, ["add-flows", "SWITCH", `${ovs.runDir}/flows.txt`], { swallow: [14] });
        const made = sent.map(({ hex }) => hex).filter((hex) => hex.startsWith("060e"));
        // Without version, type, length and xid, of which the last differs.
        expect(made.map((hex) => hex.slice(16))).toEqual(flowMods.map(({ hex }) => hex.slice(16)));
    });

    it.each([
        [2, 9],
        [4, 9],
        [5, 1],
        [6, 8],
        [12, 3],
        [14, 2],
        [17, 13],
    ])("errorName(%d, %d): is the name that ovs-ofctl prints", async (type, code) => {
        await using ovs = await PrivateOvs.start({ vswitchd: false });
        const hex = (value: number): string => value.toString(16).padStart(4, "0");
        const printed = await ovs.ofctl("ofp-print", `0601000c00000001${hex(type)}${hex(code)}`);
        expect(printed).toContain(errorName(type, code));
    });
});
