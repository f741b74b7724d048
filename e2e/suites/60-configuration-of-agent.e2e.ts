import { afterEach, describe, expect, it } from "@jest/globals";
import { kubectl, systemNamespace, systemPod, waitForAgents, workers } from "../fixture/cluster.ts";
import { getJson } from "../fixture/objects.ts";
import { fileOf, logOf, writeFiles } from "../fixture/configuration.ts";
import { eventually } from "../fixture/run.ts";

const inSystem = ["-n", systemNamespace];

describe("configuration of the agent that is wrong, in ConfigMap antrea-config edited by hand", () => {
    let mend: () => Promise<void>;

    afterEach(() => mend());

    it("leaves the agent's Pod not ready with key, value and rule in its log, and the others as they are", async () => {
        const [node = ""] = workers;
        const before = await fileOf("antrea-agent.conf");
        mend = async () => {
            await writeFiles({ "antrea-agent.conf": before });
            await kubectl([...inSystem, "delete", "pod", await systemPod("antrea-agent", node)]);
            await waitForAgents();
        };
        await writeFiles({ "antrea-agent.conf": before.replace(/^defaultMTU: .*$/m, "defaultMTU: 100") });
        await kubectl([...inSystem, "delete", "pod", await systemPod("antrea-agent", node)]);
        const log = await eventually("the log of the agent", async () => {
            const text = await logOf(await systemPod("antrea-agent", node), "antrea-agent");
            return text?.includes("defaultMTU") === true ? text : undefined;
        });
        expect(log).toContain("defaultMTU: 100: must be 0 (discover it) or a whole number from 576 to 65535");
        const { status } = await getJson<{
            readonly status: { readonly numberReady: number; readonly desiredNumberScheduled: number };
        }>("daemonset", { name: "antrea-agent", namespace: systemNamespace });
        expect(status.numberReady).toBe(status.desiredNumberScheduled - 1);
    });
});
