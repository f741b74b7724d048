import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nodesFromWorker } from "../fixture/cluster.ts";
import { explore, families, setStage, warmUp, type Cells, type Stage } from "../fixture/matrix.ts";
import { setMode, settled, type Mode } from "../fixture/modes.ts";
import {
    captureBetween,
    everyCell,
    fits,
    gatewaysOf,
    hop,
    mtuOf,
    newPodPaths,
    startNewPods,
    type NewPods,
} from "../fixture/tunnels.ts";
import { home, plugUnderlay } from "../fixture/underlay.ts";

const [first = ""] = nodesFromWorker;
const mode: Mode = { trafficEncapMode: "hybrid", tunnelType: "geneve" };

// Node 1 and Node 2 are on one subnet, Node 3 is on another
describe("mode hybrid", () => {
    let stage: Stage;
    let pods: NewPods;
    let cells: Cells;

    beforeAll(async () => {
        [stage] = await Promise.all([setStage("e2e-hybrid", nodesFromWorker), plugUnderlay()]);
        await setMode(mode);
        await settled(mode, home);
        [pods] = await Promise.all([startNewPods(stage.namespace, "new"), warmUp(stage)]);
        cells = await explore("hybrid", stage, nodesFromWorker, newPodPaths(stage, pods));
    }, 400_000);
    afterAll(() => stage.namespace[Symbol.asyncDispose]());

    it.each(everyCell)("%s", (cell) => {
        expect(cells.get(cell)).toBe("ok");
    });

    it("has tunnels to Nodes on another subnet only, and nothing of another mode", () =>
        settled(mode, home, { timeoutMs: 0 }));

    it("gives Pods the MTU that a tunnel leaves", async () => {
        expect(await Promise.all(pods.map((pod) => mtuOf(stage.namespace, pod)))).toEqual([1450, 1450]);
    });

    it.each(families)("carries the longest packet that fits over %s and refuses a longer one", async (family) => {
        const sizes = [1450, 1451].map((size) => fits(stage.namespace, ...pods, family, size));
        expect(await Promise.all(sizes)).toEqual([true, false]);
    });

    it("wraps what goes to the other subnet", async () => {
        const { pings } = await captureBetween(stage.namespace, pods, "geneve");
        for (const family of families) expect(pings[family]).toHaveLength(4);
    });

    it.each(families)("answers %s packets to a routed Node that live too short", async (family) => {
        const own = await gatewaysOf(first);
        expect(await hop(stage.namespace, stage.client, stage.far[0], family, 1)).toBe(own[family]);
    });
});
