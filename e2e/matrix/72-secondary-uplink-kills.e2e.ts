import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { linkStateOf } from "../fixture/bridging.ts";
import { allNodes, kubectl, workers } from "../fixture/cluster.ts";
import { backSteps, hasHostPort, killAtStep, moveSteps, NodeNicBridged } from "../fixture/secondary-uplink.ts";

const [, node = ""] = workers;

let bridged: NodeNicBridged;

beforeAll(async () => {
    bridged = await NodeNicBridged.set();
    await bridged.ready();
});
afterAll(() => bridged?.[Symbol.asyncDispose]());

describe("an agent that is killed while the NIC of its Node moves", () => {
    it.each([...moveSteps, ...backSteps])(
        "at the step %s: the Node stays in the cluster, and the next agent connects it",
        async (step) => {
            console.info(`killed at ${await killAtStep(node, step)}`);
            await bridged.ready([node]);
            expect(await hasHostPort(node)).toBe(true);
            expect(await linkStateOf(node)).toEqual(bridged.before.get(node));
            const ready = '{.status.conditions[?(@.type=="Ready")].status}';
            expect(await kubectl(["get", "node", node, "-o", `jsonpath=${ready}`])).toBe("True");
        },
    );

    it("leaves no Node without its NIC when the bridge is gone", async () => {
        await bridged.off();
        for (const one of allNodes) {
            expect([one, await hasHostPort(one)]).toEqual([one, false]);
            expect(await linkStateOf(one)).toEqual(bridged.before.get(one));
        }
    });
});
