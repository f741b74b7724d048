import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { eventually } from "../../../support/eventually.ts";
import { TestNode, type TestAgent } from "../../../support/test-node.ts";

let node: TestNode;
let agent: TestAgent | undefined;

beforeEach(async () => {
    node = await TestNode.start();
});

afterEach(async () => {
    await agent?.stop();
    agent = undefined;
    await node[Symbol.asyncDispose]();
});

const waits = async (): Promise<boolean> =>
    (await node.ovs.vsctl("get", "Open_vSwitch", ".", "other_config")).includes("flow-restore-wait");
/** As start-ovs does it before ovs-vswitchd starts. */
const hold = (): Promise<string> =>
    node.ovs.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:flow-restore-wait=true");

it("an OVS that waits for its flows is released by an agent that starts, with them all in place", async () => {
    await hold();
    await node.ovs.restartVswitchd();
    expect(await waits()).toBe(true);
    agent = await node.startAgent();
    expect(await waits()).toBe(false);
    expect((await node.state()).flows.length).toBeGreaterThan(20);
});

it("an OVS that restarts and waits is released by the agent that runs", async () => {
    agent = await node.startAgent();
    const { flows } = await node.state();
    await node.ovs.killVswitchd();
    await hold();
    expect(await waits()).toBe(true);
    await node.ovs.startVswitchd();
    expect(await eventually(waits, (answer) => !answer)).toBe(false);
    expect((await node.state()).flows).toEqual(flows);
});

it("what a replay left is released by the next check", async () => {
    agent = await node.startAgent();
    await hold();
    await agent.resync();
    expect(await waits()).toBe(false);
});
