import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { UplinkNode, type Ended } from "./support/uplink-node.ts";

let node: UplinkNode;
let before: ReturnType<UplinkNode["truth"]>;

beforeAll(async () => {
    node = await UplinkNode.start();
    before = node.truth();
});

afterEach(async () => {
    expect(node.reaches()).toBe(true);
    expect(node.truth()).toEqual(before);
    await node.ovs.startDatabase();
    await node.ovs.startVswitchd();
    await node.addFlows();
    expect((await node.ovs.vsctl("list-ports", node.bridge)).trim()).toBe("");
    expect(node.truth()).toEqual(before);
});

afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
});

function lines({ reported }: Ended): readonly unknown[] {
    return reported.map(({ line, ...rest }) => line ?? rest);
}

const moved = "eth0 is moved to the bridge, the NIC is named eth0~: bringing it back.";
const restored = ["eth0 is the NIC again, with its addresses and routes.", { kind: "restored", restored: true }];

describe("antrea-agent restore-uplink", () => {
    it("brings the NIC back with OVS, and has nothing to do the second time", async () => {
        await node.run({ actions: ["connect"] });
        const reported = lines(await node.run({ actions: ["command", "command"], ovsDown: true }));
        expect(reported.slice(0, 5)).toEqual([
            moved,
            ...["eth0", "eth0~"].map((): unknown =>
                expect.stringMatching(/^Port eth0~? taken out of the OVS database\.$/),
            ),
            ...restored,
        ]);
        expect(reported.at(-1)).toEqual({ kind: "restored", restored: false });
    });

    it("brings it back without ovs-vswitchd", async () => {
        await node.run({ actions: ["connect"] });
        await node.ovs.killVswitchd();
        expect(lines(await node.run({ actions: ["command"], ovsDown: true })).slice(-2)).toEqual(restored);
    });

    it("brings it back without OVS at all, and takes the ports out of the file", async () => {
        await node.run({ actions: ["connect"] });
        await node.ovs.killVswitchd();
        await node.ovs.killDatabase();
        const reported = lines(await node.run({ actions: ["command"], ovsDown: true }));
        expect(reported).toContainEqual("Port eth0~ taken out of the OVS database.");
        expect(reported.slice(-2)).toEqual(restored);
    });

    it("brings it back without its journal", async () => {
        await node.run({ actions: ["connect"] });
        rmSync(join(node.folder, "uplink.json"));
        expect(lines(await node.run({ actions: ["command"], ovsDown: true })).slice(-2)).toEqual(restored);
    });

    it("refuses while an agent runs, unless forced", async () => {
        const { child, ended } = node.begin({ actions: ["connect", "wait"], lock: true });
        await new Promise((resolve) => child.stdout?.once("data", resolve));
        const refused = await node.run({ actions: ["command"], ovsDown: true });
        expect(refused.reported).toEqual([expect.objectContaining({ kind: "error", code: "AGENT_RUNNING" })]);
        expect(node.ip("-o", "link", "show", "eth0~")).toContain("group 178");
        const forced = await node.run({ actions: ["command"], ovsDown: true, force: true });
        expect(lines(forced).slice(-2)).toEqual(restored);
        child.stdin?.end("go");
        await ended;
    });
});
