import { afterEach, describe, expect, it } from "@jest/globals";
import { helmRollback, helmUpgrade, kubectl, systemNamespace } from "../fixture/cluster.ts";
import { eventually } from "../fixture/run.ts";

describe("configuration", () => {
    describe("of the agent", () => {
        afterEach(() => helmRollback(), 240_000);

        it("that is wrong leaves a Pod that is not ready and says key, value and rule in its log", async () => {
            // the schema of the chart would refuse it; extra arguments are the user's own
            await helmUpgrade(["transportInterfaceCIDRs={not-a-cidr}"], { oneByOne: true, timeoutMs: 20_000 }).catch(
                () => undefined,
            );
            const log = await eventually("a failed Pod's log", async () => {
                const names = (
                    await kubectl(["-n", systemNamespace, "get", "pods", "-l", "component=antrea-agent", "-o", "name"])
                )
                    .trim()
                    .split("\n");
                for (const name of names) {
                    const text = await kubectl([
                        "-n",
                        systemNamespace,
                        "logs",
                        name,
                        "-c",
                        "antrea-agent",
                        "--tail=50",
                    ]);
                    if (text.includes("transportInterfaceCIDRs")) return text;
                }
                return undefined;
            });
            expect(log).toContain("transportInterfaceCIDRs");
            expect(log).toContain("not-a-cidr");
            const ready = await kubectl([
                "-n",
                systemNamespace,
                "get",
                "daemonset",
                "antrea-agent",
                "-o",
                "jsonpath={.status.numberReady}/{.status.desiredNumberScheduled}",
            ]);
            const [number, desired] = ready.split("/").map(Number);
            expect(number ?? 0).toBeLessThan(desired ?? 0);
        });
    });

    it("with a misspelt value is refused by the chart, which names it", async () => {
        await expect(helmUpgrade(["trafficEncapmode=noEncap"])).rejects.toThrow("trafficEncapmode");
    });

    it("with a mode that is not there is refused by the chart with the next step", async () => {
        await expect(helmUpgrade(["trafficEncapMode=networkPolicyOnly"])).rejects.toThrow(
            "use encap, noEncap or hybrid",
        );
    });
});
