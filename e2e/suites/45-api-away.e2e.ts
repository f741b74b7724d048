import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
    allNodes,
    killDaemon,
    kubectl,
    onNode,
    shellOnNode,
    systemNamespace,
    waitForAgents,
    workers,
} from "../fixture/cluster.ts";
import { inProcess, pidOfPod } from "../fixture/containers.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";

describe("while the API server is away", () => {
    const [first = "", second = ""] = workers;
    const [controlPlane = ""] = allNodes;
    const manifests = "/etc/kubernetes/manifests";
    let namespace: TestNamespace;
    let near: TestPod;
    let far: TestPod;

    const away = async (): Promise<void> => {
        await onNode(controlPlane, ["mv", `${manifests}/kube-apiserver.yaml`, "/root/"]);
        await eventually("the API server ends", async () => {
            const answer = await kubectl(["get", "--raw", "/livez", "--request-timeout=1s"]).catch(() => "");
            return answer === "" ? true : undefined;
        });
    };
    const back = async (): Promise<void> => {
        await shellOnNode(
            controlPlane,
            `[ ! -f /root/kube-apiserver.yaml ] || mv /root/kube-apiserver.yaml ${manifests}/`,
        );
        await eventually("the API server answers", () => kubectl(["get", "--raw", "/readyz"]), 120_000);
        // what ended meanwhile, such as the scheduler, is started again after up to five minutes
        const itsPods = ["pods", "-n", systemNamespace, "-l", "tier=control-plane"];
        const wait = ["wait", "--for=condition=Ready", ...itsPods, "--timeout=330s"];
        await kubectl(wait, { timeoutMs: 340_000 });
    };

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-api-away");
        [, near, far] = (await namespace.start([
            { name: "client", node: first },
            { name: "near", node: first },
            { name: "far", node: second },
        ])) as [TestPod, TestPod, TestPod];
    });
    afterAll(async () => {
        await back();
        await namespace[Symbol.asyncDispose]();
    });

    it("restarts of agent and OVS on a Node give running Pods their traffic back", async () => {
        const pid = await pidOfPod({ namespace: namespace.name, pod: "client" });
        const ping = (ip: string): Promise<string> => inProcess("client", pid, ["ping", "-c", "1", "-W", "1", ip]);
        await away();
        await killDaemon(first, "switch");
        await killDaemon(first, "agent");
        for (const ip of [near.ip4, far.ip4, near.ip6, far.ip6]) {
            expect(await eventually(`${ip} answers`, () => ping(ip), 90_000)).toContain(" 0% packet loss");
        }
        await back();
        await waitForAgents();
        const [late] = await namespace.start([{ name: "late", node: first }]);
        expect([near.ip4, near.ip6]).not.toContain(late?.ip4);
        expect(await eventually("the new Pod answers", () => ping(late?.ip4 ?? ""))).toContain(" 0% packet loss");
    });
});
