import { afterEach, describe, expect, it } from "@jest/globals";
import {
    getJson,
    helmUpgrade,
    kubectl,
    systemNamespace,
    systemPod,
    waitForAgents,
    workers,
} from "../fixture/cluster.ts";
import { eventually } from "../fixture/run.ts";

const inSystem = ["-n", systemNamespace];
const ofController = ["-l", "component=antrea-controller", "-o", "jsonpath={.items[*].metadata.name}"];

/** ConfigMap antrea-config: what a file has. */
async function fileOf(name: string): Promise<string> {
    const { data } = await getJson<{ readonly data: Readonly<Record<string, string>> }>([
        ...inSystem,
        "configmap",
        "antrea-config",
    ]);
    return data[name] ?? "";
}

async function writeFile(name: string, text: string): Promise<void> {
    const patch = JSON.stringify({ data: { [name]: text } });
    await kubectl([...inSystem, "patch", "configmap", "antrea-config", "--type=merge", "--patch", patch]);
}

/** What a container of a Pod says, undefined while it has no log. */
async function logOf(pod: string, container: string): Promise<string | undefined> {
    return kubectl([...inSystem, "logs", pod, "-c", container, "--tail=50"]).catch(() => undefined);
}

describe("configuration", () => {
    describe("that is wrong, in ConfigMap antrea-config edited by hand", () => {
        let mend: () => Promise<void>;

        afterEach(() => mend(), 240_000);

        it("leaves the agent's Pod not ready, which says key, value and rule in its log, and the others as they are", async () => {
            const [node = ""] = workers;
            const before = await fileOf("antrea-agent.conf");
            mend = async () => {
                await writeFile("antrea-agent.conf", before);
                await kubectl([...inSystem, "delete", "pod", await systemPod("antrea-agent", node)]);
                await waitForAgents();
            };
            await writeFile("antrea-agent.conf", before.replace(/^defaultMTU: .*$/m, "defaultMTU: 100"));
            await kubectl([...inSystem, "delete", "pod", await systemPod("antrea-agent", node)]);
            const log = await eventually("the log of the agent", async () => {
                const text = await logOf(await systemPod("antrea-agent", node), "antrea-agent");
                return text?.includes("defaultMTU") === true ? text : undefined;
            });
            expect(log).toContain("defaultMTU: 100: must be 0 (discover it) or a whole number from 576 to 65535");
            const { status } = await getJson<{
                readonly status: { readonly numberReady: number; readonly desiredNumberScheduled: number };
            }>([...inSystem, "daemonset", "antrea-agent"]);
            expect(status.numberReady).toBe(status.desiredNumberScheduled - 1);
        });

        it("leaves the earlier controller at work, and the new one says what is wrong", async () => {
            const before = await fileOf("antrea-controller.conf");
            const rollout = ["rollout", "status", "deployment/antrea-controller", "--timeout=120s"];
            mend = async () => {
                await writeFile("antrea-controller.conf", before);
                await kubectl([...inSystem, "rollout", "undo", "deployment/antrea-controller"]);
                await kubectl([...inSystem, ...rollout], { timeoutMs: 130_000 });
            };
            const earlier = (await kubectl([...inSystem, "get", "pods", ...ofController])).trim();
            await writeFile(
                "antrea-controller.conf",
                `${before}\ntlsCipherSuites: FOO\n`.replace(/^tlsCipherSuites: ".*"$/m, ""),
            );
            await kubectl([...inSystem, "rollout", "restart", "deployment/antrea-controller"]);
            const log = await eventually("the log of the new controller", async () => {
                const names = (await kubectl([...inSystem, "get", "pods", ...ofController])).trim().split(" ");
                const next = names.find((name) => name !== earlier);
                const text = next === undefined ? undefined : await logOf(next, "check-config");
                return text?.includes("tlsCipherSuites") === true ? text : undefined;
            });
            expect(log).toContain("FOO");
            const { status } = await getJson<{ readonly status: { readonly readyReplicas?: number } }>([
                ...inSystem,
                "deployment",
                "antrea-controller",
            ]);
            expect(status.readyReplicas).toBe(1);
            const { metadata } = await getJson<{ readonly metadata: { readonly deletionTimestamp?: string } }>([
                ...inSystem,
                "pod",
                earlier,
            ]);
            expect(metadata.deletionTimestamp).toBeUndefined();
        }, 120_000);
    });

    it.each([
        ["a misspelt value", "trafficEncapmode=noEncap", "trafficEncapmode"],
        ["a mode that is not there", "trafficEncapMode=networkPolicyOnly", "use encap, noEncap or hybrid"],
        ["a CIDR that is none", "transportInterfaceCIDRs={not-a-cidr}", 'transportInterfaceCIDRs[0]: "not-a-cidr"'],
        ["a gate that is not available", "featureGates.Egress=true", "featureGates.Egress: true: not available"],
    ])("with %s is refused by the chart with the next step", async (_name, value, message) => {
        await expect(helmUpgrade([value])).rejects.toThrow(message);
    });
});
