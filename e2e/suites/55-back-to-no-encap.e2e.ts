import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { allNodes, nodesFromWorker, shellOnNode } from "../fixture/cluster.ts";
import { setStage, warmUp, type Stage } from "../fixture/matrix.ts";
import { noEncap, setMode, settled } from "../fixture/modes.ts";
import { home, plugUnderlay, transportInterface, unplugUnderlay } from "../fixture/underlay.ts";

// from the mode with tunnels of suite 52
describe("back in mode noEncap", () => {
    let stage: Stage;

    beforeAll(async () => {
        [stage] = await Promise.all([setStage("e2e-back", nodesFromWorker), plugUnderlay()]);
        await setMode(noEncap);
        await settled(noEncap, home);
        await unplugUnderlay();
    });
    afterAll(() => stage.namespace[Symbol.asyncDispose]());

    // the whole row of the matrix: matrix/55-back-to-no-encap, and in this mode suites 20 and 83
    it("Pods that ran before reach each other", () => warmUp(stage));

    it.each(allNodes)("leaves no tunnel on %s: no port, flow, route, neighbour, rule or annotation", async (node) => {
        await settled(noEncap, home, { nodes: [node], timeoutMs: 0 });
        const trace = new RegExp(`${transportInterface}|antrea-tun|genev|vxlan|gre_?sys|10\\.20[12]\\.|fd00:20[12]:`);
        const output = await shellOnNode(
            node,
            "ip -o link; ip address; ip route show table all; ip -6 route show table all; ip neighbour; nft list ruleset",
        );
        expect(output.split("\n").filter((line) => trace.test(line))).toEqual([]);
    });
});
