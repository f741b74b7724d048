import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { families, ofFamily } from "../fixture/addresses.ts";
import { startApiServer, stopApiServer } from "../fixture/api-server.ts";
import { helmUpgrade, killDaemon, kubectl, onNode, waitForAgents, workers } from "../fixture/cluster.ts";
import { besideKubeProxy, removeKubeProxy, restoreKubeProxy, withoutKubeProxy } from "../fixture/kube-proxy.ts";
import { hostPort } from "../fixture/pods.ts";
import { clients } from "../fixture/service-matrix.ts";
import { ServiceStage } from "../fixture/service-stage.ts";
import { serveAtNodes } from "../fixture/services-at-nodes.ts";
import { addService, addWeb, requestsBy, servicePorts } from "../fixture/services.ts";
import { eventually } from "../fixture/run.ts";
import { rolledOut } from "../fixture/workloads.ts";

const [first = "", second = ""] = workers;

describe("Services with proxyAll", () => {
    const made = new AsyncDisposableStack();
    let stage: ServiceStage;

    beforeAll(async () => {
        stage = made.use(await ServiceStage.set("e2e-services-all", [first, second]));
        await helmUpgrade(withoutKubeProxy);
        await stage.served();
    });
    afterAll(async () => {
        await startApiServer();
        await made.disposeAsync();
        await restoreKubeProxy();
        await helmUpgrade(besideKubeProxy);
    });

    /** Lets a Node and a client outside connect all the time, and resolves with what failed meanwhile. */
    async function connectingWhile(change: () => Promise<void>): Promise<readonly string[]> {
        const ask = { target: "near", policy: "Cluster", protocol: "TCP", family: "IPv4" } as const;
        const [clusterIp] = stage.addressOf({ ...ask, kind: "ClusterIP" });
        const [nodeIp, nodePort] = stage.addressOf({ ...ask, kind: "NodePort, Node 1" });
        const script = (
            shell: ReturnType<ServiceStage["shell"]>,
            ip: string,
            port?: number,
        ): ReturnType<typeof requestsBy> => requestsBy(shell, ip, 400, port);
        const asking = Promise.all([
            script(stage.shell("Node"), clusterIp),
            script(stage.shell("outside"), nodeIp, nodePort),
        ]);
        await pause(2_000);
        await change();
        const all = await asking;
        for (const { answered } of all) expect([...answered.keys()]).toEqual(["near"]);
        return all.flatMap(({ failures }) => failures);
    }

    it("fail no connection when kube-proxy is removed", async () => {
        expect(await connectingWhile(removeKubeProxy)).toEqual([]);
    });

    describe.each(clients)("of a client: %s", (client) => {
        it.each(families)("answer at each address over %s, and see whom they should", async (family) => {
            const { answers, expected } = await stage.explore({ mode: "noEncap", tunnels: false }, client, family);
            expect(answers).toEqual(expected);
        });
    });

    it("lead externalIPs that are addresses of Nodes, and no other port of these Nodes", async () => {
        expect(await serveAtNodes(stage)).toEqual([]);
    });

    it("lose none of 60 connections a second in a rolling update", async () => {
        const { namespace, nodeIps } = stage;
        await addWeb(namespace, "rolled", 3);
        const type = "NodePort";
        const ports = [{ name: "http", port: servicePorts.http, targetPort: 8080, nodePort: 30_831 }];
        const ip = ofFamily(await addService(namespace, "rolled", "rolled", { type, ports }), "IPv4");
        await rolledOut(namespace.name, "deployment/rolled");
        const nodeIp = ofFamily(nodeIps[1] ?? [], "IPv4");
        const ways = [
            [stage.shell("Pod"), ip, servicePorts.http],
            [stage.shell("Node"), ip, servicePorts.http],
            [stage.shell("outside"), nodeIp, 30_831],
        ] as const;
        for (const [shell, address, port] of ways)
            await eventually(`${address} answers`, async () =>
                (await requestsBy(shell, address, 1, port)).failures.length === 0 ? true : undefined,
            );
        const asking = Promise.all(ways.map(([shell, address, port]) => requestsBy(shell, address, 600, port)));
        await pause(2_000);
        await kubectl(["-n", namespace.name, "rollout", "restart", "deployment/rolled"]);
        await rolledOut(namespace.name, "deployment/rolled");
        for (const { answered, failures } of await asking) {
            expect(failures).toEqual([]);
            // of before and after the update
            expect(answered.size).toBeGreaterThan(3);
        }
    });

    it("are served again after the end of OVS and agent while the API server is away", async () => {
        const ask = { target: "near", policy: "Cluster", protocol: "TCP" } as const;
        await stopApiServer();
        await killDaemon(first, "switch");
        await killDaemon(first, "agent");
        for (const family of families) {
            const [clusterIp] = stage.addressOf({ ...ask, kind: "ClusterIP", family });
            const [nodeIp, nodePort] = stage.addressOf({ ...ask, kind: "NodePort, Node 1", family });
            const fromNode = ["curl", "-sS", "-m", "2", `http://${hostPort(clusterIp, servicePorts.http)}/hostname`];
            const fromOutside = ["curl", "-sS", "-m", "2", `http://${hostPort(nodeIp, nodePort)}/hostname`];
            expect(await eventually("a Node is answered", () => onNode(first, fromNode), 60_000)).toBe("near");
            expect(await eventually("the outside is answered", () => stage.outside.exec(fromOutside), 60_000)).toBe(
                "near",
            );
        }
        await startApiServer();
        await waitForAgents();
    });

    it("fail no connection when kube-proxy comes back", async () => {
        expect(await connectingWhile(restoreKubeProxy)).toEqual([]);
    });
});
