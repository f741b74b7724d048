import { afterEach, describe, expect, it } from "@jest/globals";
import { helmUpgrade, kubectl, systemNamespace } from "../fixture/cluster.ts";
import { getJson } from "../fixture/objects.ts";
import { fileOf, logOf, writeFiles } from "../fixture/configuration.ts";
import { eventually } from "../fixture/run.ts";

const inSystem = ["-n", systemNamespace];
const ofController = ["-l", "component=antrea-controller", "-o", "jsonpath={.items[*].metadata.name}"];

describe("configuration of the controller that is wrong, in ConfigMap antrea-config edited by hand", () => {
    let mend: () => Promise<void>;

    afterEach(() => mend());

    it("leaves the earlier controller running, and the new one logs what is wrong", async () => {
        const before = await fileOf("antrea-controller.conf");
        const rollout = ["rollout", "status", "deployment/antrea-controller", "--timeout=120s"];
        mend = async () => {
            await writeFiles({ "antrea-controller.conf": before });
            await kubectl([...inSystem, "rollout", "undo", "deployment/antrea-controller"]);
            await kubectl([...inSystem, ...rollout], { timeoutMs: 130_000 });
        };
        const earlier = (await kubectl([...inSystem, "get", "pods", ...ofController])).trim();
        await writeFiles({
            "antrea-controller.conf": `${before}\ntlsCipherSuites: FOO\n`.replace(/^tlsCipherSuites: ".*"$/m, ""),
        });
        await kubectl([...inSystem, "rollout", "restart", "deployment/antrea-controller"]);
        const log = await eventually("the log of the new controller", async () => {
            const names = (await kubectl([...inSystem, "get", "pods", ...ofController])).trim().split(" ");
            const next = names.find((name) => name !== earlier);
            const text = next === undefined ? undefined : await logOf(next, "check-config");
            return text?.includes("tlsCipherSuites") === true ? text : undefined;
        });
        expect(log).toContain("FOO");
        const { status } = await getJson<{ readonly status: { readonly readyReplicas?: number } }>("deployment", {
            name: "antrea-controller",
            namespace: systemNamespace,
        });
        expect(status.readyReplicas).toBe(1);
        const { metadata } = await getJson<{ readonly metadata: { readonly deletionTimestamp?: string } }>("pod", {
            name: earlier,
            namespace: systemNamespace,
        });
        expect(metadata.deletionTimestamp).toBeUndefined();
    });
});

describe("an upgrade", () => {
    it.each([
        ["a misspelt value", "trafficEncapmode=noEncap", "trafficEncapmode"],
        ["a mode that is not there", "trafficEncapMode=networkPolicyOnly", "use encap, noEncap or hybrid"],
        ["a CIDR that is none", "transportInterfaceCIDRs={not-a-cidr}", 'transportInterfaceCIDRs[0]: "not-a-cidr"'],
        ["a gate that is not available", "featureGates.Egress=true", "featureGates.Egress: true: not available"],
    ])("with %s is refused by the chart with the next step", async (_name, value, message) => {
        await expect(helmUpgrade([value])).rejects.toThrow(message);
    });
});
