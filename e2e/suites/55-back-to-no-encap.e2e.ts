import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
    helmRollback,
    helmUpgrade,
    kubectl,
    nodesFromWorker,
    shellOnNode,
    systemNamespace,
    allNodes,
} from "../fixture/cluster.ts";
import { setStage, warmUp, type Stage } from "../fixture/matrix.ts";
import { noEncap, setMode, settled } from "../fixture/modes.ts";
import { eventually } from "../fixture/run.ts";
import { home, plugUnderlay, transportInterface, unplugUnderlay } from "../fixture/underlay.ts";

describe("a tunnel type that this OVS has not", () => {
    beforeAll(async () => {
        await plugUnderlay();
        await setMode({ trafficEncapMode: "hybrid", tunnelType: "geneve" });
    }, 400_000);

    it("is refused at start with the reason, and the other Nodes go on", async () => {
        // helm times out; the update of the DaemonSet stops at the first Node
        await helmUpgrade(["tunnelType=stt"], { oneByOne: true, timeoutMs: 20_000 }).catch(() => undefined);
        try {
            const logs = await eventually("an agent logs why it does not start", async () => {
                const text = await kubectl([
                    "-n",
                    systemNamespace,
                    "logs",
                    "-l",
                    "component=antrea-agent",
                    "-c",
                    "antrea-agent",
                    "--tail=50",
                    "--prefix",
                ]);
                return /\bstt\b/i.test(text) ? text : undefined;
            });
            const lines = logs.split("\n").filter((line) => /\bstt\b/i.test(line));
            expect(lines.join("\n")).toMatch(/tunnelType/);
            expect(new Set(lines.map((line) => line.split(" ")[0])).size).toBe(1);
        } finally {
            await helmRollback();
        }
        await settled({ trafficEncapMode: "hybrid", tunnelType: "geneve" }, home);
    });
});

describe("back in mode noEncap", () => {
    let stage: Stage;

    beforeAll(async () => {
        stage = await setStage("e2e-back", nodesFromWorker);
        await setMode(noEncap);
        await settled(noEncap, home);
        await unplugUnderlay();
    }, 400_000);
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
