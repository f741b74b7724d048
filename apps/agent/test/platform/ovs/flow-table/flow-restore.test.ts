import { expect, it } from "@jest/globals";
import { FlowRestore } from "../../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../../support/logger.ts";

function restoreOf({ fails = 0 } = {}): { readonly restore: FlowRestore<string>; readonly did: string[] } {
    const did: string[] = [];
    let left = fails;
    const restore = new FlowRestore<string>({
        flowTable: {
            replay: async (link) => {
                did.push(`replay ${link}`);
                if (left-- > 0) throw new Error("refused");
            },
        },
        release: async () => void did.push("release"),
        logger: silentLogger,
    });
    return { restore, did };
}

it("OVS is released when all flows are known, and after each replay from then on", async () => {
    const { restore, did } = restoreOf();
    await restore.replay("1");
    await restore.retry();
    expect(did).toEqual(["replay 1"]);
    await restore.allKnown();
    await restore.replay("2");
    expect(did).toEqual(["replay 1", "release", "replay 2", "release"]);
});

it("a replay that fails releases nothing, the next one does", async () => {
    const { restore, did } = restoreOf({ fails: 1 });
    await restore.allKnown();
    did.splice(0);
    await expect(restore.replay("1")).rejects.toThrow("refused");
    expect(did).toEqual(["replay 1"]);
    await restore.replay("2");
    expect(did).toEqual(["replay 1", "replay 2", "release"]);
});

it("a database that is away fails no replay", async () => {
    const warnings: string[] = [];
    const restore = new FlowRestore<string>({
        flowTable: { replay: async () => undefined },
        release: () => Promise.reject(new Error("no connection")),
        logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
    });
    await restore.allKnown();
    await restore.replay("1");
    expect(warnings.length).toBe(2);
});
