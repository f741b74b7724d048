import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { endpointSlices, nodes } from "@antrea/kube";
import { zoneLabel } from "@antrea/services";
import { eventually } from "../../support/eventually.ts";
import { ask, PodProgram } from "../../support/pod-programs.ts";
import { ipsOf, TestPod } from "../../support/test-pod.ts";
import { nodeName, ServiceCluster } from "./service-cluster.ts";

const names = ["one", "two", "three"] as const;
/** Served by the Pod of the same name. */
const zones = ["a", "b"] as const;

let cluster: ServiceCluster;
let client: TestPod;
const pods: TestPod[] = [];
const servers: PodProgram[] = [];
const vips: string[] = [];

beforeAll(async () => {
    cluster = await ServiceCluster.start();
    const ips: string[] = [];
    for (const name of [...zones, "client"]) {
        const pod = new TestPod(name);
        pods.push(pod);
        ips.push(ipsOf(await cluster.agent.add(pod))[0] ?? "");
        if (name !== "client") servers.push(await PodProgram.serve(pod, name));
        client = pod;
    }
    for (const name of names) {
        const [vip] = await cluster.addService(name, [{ port: 80 }]);
        vips.push(vip);
        await cluster.setEndpoints(name, 4, ips.slice(0, zones.length));
        const endpoints = zones.map((zone, at) => ({
            addresses: [ips[at]],
            conditions: { ready: true },
            nodeName,
            hints: { forZones: [{ name: zone }] },
        }));
        const ref = { name: `${name}-v4`, namespace: "default" };
        await cluster.api.patch(endpointSlices, ref, { type: "merge", body: { endpoints } });
    }
});

afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    for (const pod of pods) pod[Symbol.dispose]();
});

/** The names of those that answer several connections to each Service. */
async function answering(): Promise<readonly string[]> {
    const heard = await Promise.all(vips.flatMap((vip) => Array.from({ length: 4 }, () => ask(client, vip, 80))));
    return [...new Set(heard.map((text) => text.split(" ")[0] ?? ""))].sort();
}

it.each<[string | null, readonly string[]]>([
    ["a", ["a"]],
    ["b", ["b"]],
    [null, ["a", "b"]],
    ["b", ["b"]],
    ["elsewhere", ["a", "b"]],
])("all Services follow when the zone of the Node becomes %s", async (zone, wanted) => {
    const labels = { [zoneLabel]: zone };
    await cluster.api.patch(nodes, { name: nodeName }, { type: "merge", body: { metadata: { labels } } });
    expect(await eventually(answering, (found) => found.join() === wanted.join(), 15_000)).toEqual(wanted);
});
