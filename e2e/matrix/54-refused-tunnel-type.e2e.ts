import { beforeAll, describe, expect, it } from "@jest/globals";
import { helmRollback, helmUpgrade, kubectl, systemNamespace } from "../fixture/cluster.ts";
import { setMode, settled } from "../fixture/modes.ts";
import { eventually } from "../fixture/run.ts";
import { home, plugUnderlay } from "../fixture/underlay.ts";

describe("a tunnel type that this OVS has not", () => {
    beforeAll(async () => {
        await plugUnderlay();
        await setMode({ trafficEncapMode: "hybrid", tunnelType: "geneve" });
    });

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
