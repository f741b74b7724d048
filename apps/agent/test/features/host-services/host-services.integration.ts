import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { services } from "@antrea/kube";
import { HostInputFilter } from "../../../src/features/host-filter/input-filter/index.ts";
import { podLinkGroup } from "../../../src/platform/kernel-ids.ts";
import { rulesGeneration, runNft } from "../../../src/platform/nftables.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/logger.ts";
import { ask, PodProgram, type ProgramPlace } from "../../support/pod-programs.ts";
import { ipsOf, TestPod } from "../../support/test-pod.ts";
import { ServiceCluster } from "../services/service-cluster.ts";

let cluster: ServiceCluster;
/** A client in the network of the Node. */
let outside: TestPod;
const pods: TestPod[] = [];
const servers: PodProgram[] = [];
const ips: (readonly string[])[] = [];

const proxyAll = { antreaProxy: { proxyAll: true } };
/** Of the Node and of the client, in the network between them. */
const nodeIps = ["192.0.2.1", "2001:db8::1"];
const outsideIps = ["192.0.2.9", "2001:db8::9"];

function ip(...args: readonly string[]): string {
    return execFileSync("ip", args, { encoding: "utf8" });
}

beforeAll(async () => {
    cluster = await ServiceCluster.start(proxyAll);
    // the Node's stack would answer what it sees of the frames of Pods
    const filter = { generation: rulesGeneration, logger: silentLogger, nft: runNft };
    await new HostInputFilter(filter, { linkGroup: podLinkGroup }).ensure();
    outside = new TestPod("outside");
    ip("link", "add", "uplink", "type", "veth", "peer", "name", "eth0", "netns", outside.netns.name);
    for (const [at, address] of nodeIps.entries()) {
        const length = at === 0 ? 24 : 64;
        ip("address", "add", `${address}/${length}`, "dev", "uplink", ...(at === 0 ? [] : ["nodad"]));
        outside.netns.run(
            "ip",
            "address",
            "add",
            `${outsideIps[at]}/${length}`,
            "dev",
            "eth0",
            ...(at === 0 ? [] : ["nodad"]),
        );
    }
    ip("link", "set", "uplink", "up");
    outside.netns.run("ip", "link", "set", "eth0", "up");
    outside.netns.run("ip", "route", "add", "198.51.100.0/24", "via", "192.0.2.1");
    outside.netns.run("ip", "-6", "route", "add", "2001:db8:1::/64", "via", "2001:db8::1");
    // of a Node
    ip("route", "add", "default", "via", "192.0.2.9");
    ip("-6", "route", "add", "default", "via", "2001:db8::9");
    for (const name of ["a", "b"]) {
        const pod = new TestPod(name);
        pods.push(pod);
        ips.push(ipsOf(await cluster.agent.add(pod)));
        servers.push(await PodProgram.serve(pod, name));
    }
});

afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    for (const pod of [...pods, outside]) pod?.[Symbol.dispose]();
});

const heard = (from: ProgramPlace, host: string, port: number, satisfies: (text: string) => boolean): Promise<string> =>
    eventually(() => ask(from, host, port), satisfies, 10_000);

it("lead the Node to ClusterIPs and clients outside to NodePorts", async () => {
    const [vip] = await cluster.addService("thin", [{ port: 80 }], { type: "NodePort" });
    await cluster.setEndpoints("thin", 4, [ips[0]?.[0] ?? ""]);
    expect(await heard(undefined, vip, 80, (text) => text.startsWith("a "))).toBe("a 10.10.1.1");
    const { spec } = await cluster.api.get(services, { namespace: "default", name: "thin" });
    const port = spec?.ports?.[0]?.nodePort ?? 0;
    expect(await heard(outside, "192.0.2.1", port, (text) => text.startsWith("a "))).toBe("a 192.0.2.9");
});
