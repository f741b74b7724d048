import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apply, inAgent, kubectl, systemNamespace, systemPod, waitForAgents, workers } from "../fixture/cluster.ts";
import { allocationsOf, setIpam, eventNote, expectConsistent, poolsKey, TestPools } from "../fixture/ipam.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

const outOfService = "node.kubernetes.io/out-of-service";

describe("the address of a StatefulSet's Pod on a Node that cannot be reached", () => {
    let namespace: TestNamespace;
    let pools: TestPools;
    // the controller stays reachable: the test is about who may take the address, not about the controller's own
    // connectivity
    let lost: string;
    let healthy: string;
    let pod: TestPod;

    const nodeOfController = async (): Promise<string> =>
        kubectl([
            "-n",
            systemNamespace,
            "get",
            "pod",
            await systemPod("antrea-controller"),
            "-o",
            "jsonpath={.spec.nodeName}",
        ]);
    const allocation = async (): Promise<object> => {
        const [only, ...others] = await allocationsOf("e2e-unreachable");
        expect(others).toEqual([]);
        return { ip: only?.spec.address, node: only?.spec.pod?.nodeName };
    };

    beforeAll(async () => {
        await setIpam(true);
        const controller = await nodeOfController();
        [lost = "", healthy = ""] = [...workers].sort((a) => (a === controller ? 1 : -1));
        namespace = await TestNamespace.create("e2e-ipam-unreachable");
        pools = await TestPools.create({
            "e2e-unreachable": [{ cidr: "10.27.0.0/24", gateway: "10.27.0.1", prefixLength: 24 }],
        });
        await kubectl(["cordon", healthy]);
        await apply(
            statefulSet(namespace.name, { name: "web", replicas: 1, annotations: { [poolsKey]: "e2e-unreachable" } }),
        );
        await rolledOut(namespace.name, "statefulset/web");
        await kubectl(["uncordon", healthy]);
        [pod] = (await namespace.ready(["web-0"])) as [TestPod];
        expect(pod.node).toBe(lost);
        await kubectl(["cordon", lost]);
        await run("docker", ["pause", lost]);
    });
    afterAll(async () => {
        await run("docker", ["unpause", lost]).catch(() => undefined);
        await kubectl(["taint", "node", lost, `${outOfService}-`]).catch(() => undefined);
        await kubectl(["uncordon", healthy]);
        await kubectl(["uncordon", lost]);
        await kubectl(["wait", "--for=condition=Ready", "nodes", "--all", "--timeout=120s"], { timeoutMs: 130_000 });
        await namespace[Symbol.asyncDispose]();
        await pools[Symbol.asyncDispose]();
        await waitForAgents();
        for (const name of ["antrea-controller", "antrea-webhook", "coredns"]) {
            await rolledOut(systemNamespace, `deployment/${name}`);
        }
    });

    it("is not assigned to its successor, which has an event with the Node and the next step", async () => {
        await kubectl(["-n", namespace.name, "delete", "pod", "web-0", "--force", "--grace-period=0"]);
        const note = await eventNote(namespace.name, "Pod", "web-0", "IPAllocationFailed");
        for (const part of [pod.ip4, lost, outOfService]) expect(note).toContain(part);
        expect(await allocation()).toEqual({ ip: pod.ip4, node: lost });
    });

    it("is handed over once the Node is marked as out of service", async () => {
        await kubectl(["taint", "node", lost, `${outOfService}=e2e:NoExecute`]);
        const [again] = await namespace.ready(["web-0"]);
        expect([again?.ip4, again?.node]).toEqual([pod.ip4, healthy]);
        expect(await allocation()).toEqual({ ip: pod.ip4, node: healthy });
    });

    it("has one user only when the Node comes back", async () => {
        await run("docker", ["unpause", lost]);
        await kubectl(["taint", "node", lost, `${outOfService}-`]);
        await eventually(
            "the old port is gone",
            async () => {
                const find = ["find", "port", `external_ids:ip-address=${pod.ip4}`];
                const ports = await inAgent(lost, "antrea-ovs", ["ovs-vsctl", "--bare", "--columns=name", ...find]);
                return ports.trim() === "" ? true : undefined;
            },
            120_000,
            1_000,
        );
        expect(await allocation()).toEqual({ ip: pod.ip4, node: healthy });
        await expectConsistent();
    });
});
