import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { shellOnNode, workers } from "../fixture/cluster.ts";
import { families, ipOf, ofFamily } from "../fixture/addresses.ts";
import { serve, servedIn } from "../fixture/matrix.ts";
import { Outside } from "../fixture/outside.ts";
import { hostPort, TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";

describe("a Node whose firewall drops what nobody accepted", () => {
    const [node = "", other = ""] = workers;
    let namespace: TestNamespace;
    let outside: Outside;
    let client: TestPod;
    let server: TestPod;

    const setPolicy = (policy: "ACCEPT" | "DROP"): Promise<string> =>
        shellOnNode(node, `for tables in iptables ip6tables; do $tables -w 5 -P FORWARD ${policy}; done`);

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-forward-drop");
        outside = await Outside.start();
        [client, server] = (await namespace.start([
            { name: "client", node },
            { name: "server", node: other, labels: { app: "server" } },
        ])) as [TestPod, TestPod];
        await serve(namespace.name, { app: "server" });
        await setPolicy("DROP");
    });
    afterAll(async () => {
        await setPolicy("ACCEPT");
        await outside[Symbol.asyncDispose]();
        await namespace[Symbol.asyncDispose]();
    });

    const get = (ip: string, port: number, path: string): Promise<string> =>
        namespace.exec(client.name, `curl -sS -m 5 http://${hostPort(ip, port)}${path}`);

    it.each(families)("lets its Pods reach a Service, a Pod of another Node and the outside by %s", async (family) => {
        const clusterIp = ofFamily((await servedIn(namespace)).spec.clusterIPs, family);
        expect(await eventually("the Service answers", () => get(clusterIp, 80, "/hostname"))).toBe(server.name);
        expect(await get(ipOf(server, family), 8080, "/hostname")).toBe(server.name);
        expect(await get(ipOf(outside, family), 8080, "/clientip")).not.toBe("");
    });

    it("has the agent's rules again after somebody removed them", async () => {
        const rule = 'FORWARD -i antrea-gw0 -m comment --comment "antrea: from antrea-gw0" -j ACCEPT';
        await shellOnNode(node, `iptables -w 5 -D ${rule}`);
        // the agent reconciles once per minute
        await eventually("the rule is back", () => shellOnNode(node, `iptables -w 5 -C ${rule}`), 90_000);
    });
});
