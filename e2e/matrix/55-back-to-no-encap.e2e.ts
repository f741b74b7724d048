import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nodesFromWorker } from "../fixture/cluster.ts";
import { families } from "../fixture/addresses.ts";
import { cellOf, explore, paths, setStage, warmUp, type Cells, type Stage } from "../fixture/matrix.ts";
import { noEncap, setMode, settled } from "../fixture/modes.ts";
import { home, plugUnderlay, unplugUnderlay } from "../fixture/underlay.ts";

describe("back in mode noEncap", () => {
    let stage: Stage;
    let cells: Cells;

    beforeAll(async () => {
        // from a mode with tunnels also where this suite runs alone
        await plugUnderlay();
        await setMode({ trafficEncapMode: "encap", tunnelType: "gre" });
        stage = await setStage("e2e-back", nodesFromWorker);
        await setMode(noEncap);
        await settled(noEncap, home);
        await unplugUnderlay();
        await warmUp(stage);
        cells = await explore("noEncap again", stage, nodesFromWorker);
    });
    afterAll(() => stage.namespace[Symbol.asyncDispose]());

    it.each(paths.flatMap((path) => families.map((family) => cellOf(path, family))))("%s", (cell) => {
        expect(cells.get(cell)).toBe("ok");
    });
});
