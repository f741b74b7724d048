import { execFileSync } from "node:child_process";
import { services } from "@antrea/kube";
import { HostInputFilter } from "../../../src/features/host-filter/input-filter/index.ts";
import { podLinkGroup } from "../../../src/platform/kernel-ids.ts";
import { rulesGeneration, runNft } from "../../../src/platform/nftables.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/logger.ts";
import { ask, PodProgram, type ProgramPlace } from "../../support/pod-programs.ts";
import { ipsOf, TestPod } from "../../support/test-pod.ts";
import { ServiceCluster, type TestPort } from "../services/service-cluster.ts";

/** A port of TCP and one of UDP of one number. */
export const ports: readonly TestPort[] = [
    { name: "t", port: 80 },
    { name: "u", port: 80, protocol: "UDP" },
];

/** Settings of the agent. */
export const proxyAll = { antreaProxy: { proxyAll: true } };

/** Addresses by family. */
export type Addresses = Readonly<Record<4 | 6, string>>;

/** Of the Node and of the client outside, in the network between them, whose router the client is. */
export const nodeIps: Addresses = { 4: "192.0.2.1", 6: "2001:db8::1" };
export const outsideIps: Addresses = { 4: "192.0.2.9", 6: "2001:db8::9" };
export const gatewayIps: Addresses = { 4: "10.10.1.1", 6: "fd10:10:0:1::1" };
/** As endpoints in the host network see clients. */
export const virtualIps: Addresses = { 4: "169.254.0.253", 6: "fc01::aabb:ccdd:eeff" };

export function run(program: string, ...args: readonly string[]): string {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** A Node with proxyAll, Pods `a` and `b` on it, a client outside; all of them and the host answer at port 8080. */
export class NodeNetwork implements AsyncDisposable {
    readonly cluster: ServiceCluster;
    readonly outside = new TestPod("outside");
    readonly pods: TestPod[] = [];
    /** By Pod. */
    readonly podIps: Addresses[] = [];
    readonly #servers: PodProgram[] = [];

    private constructor(cluster: ServiceCluster) {
        this.cluster = cluster;
    }

    static async start(): Promise<NodeNetwork> {
        const network = new NodeNetwork(await ServiceCluster.start(proxyAll));
        await network.#connect();
        return network;
    }

    async #connect(): Promise<void> {
        // else the Node's stack would answer what it sees of the frames of Pods
        const filter = { generation: rulesGeneration, logger: silentLogger, nft: runNft };
        await new HostInputFilter(filter, { linkGroup: podLinkGroup }).ensure();
        // as many distributions set it
        run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=1");
        const { outside } = this;
        run("ip", "link", "add", "uplink", "type", "veth", "peer", "name", "eth0", "netns", outside.netns.name);
        for (const [family, length] of [
            [4, 24],
            [6, 64],
        ] as const) {
            const nodad = family === 6 ? ["nodad"] : [];
            run("ip", "address", "add", `${nodeIps[family]}/${length}`, "dev", "uplink", ...nodad);
            outside.netns.run("ip", "address", "add", `${outsideIps[family]}/${length}`, "dev", "eth0", ...nodad);
        }
        run("ip", "link", "set", "uplink", "up");
        outside.netns.run("ip", "link", "set", "eth0", "up");
        for (const family of [4, 6] as const) {
            const any = family === 4 ? ["198.51.100.0/24"] : ["2001:db8:1::/64"];
            outside.netns.run("ip", `-${family}`, "route", "add", ...any, "via", nodeIps[family]);
            run("ip", `-${family}`, "route", "add", "default", "via", outsideIps[family]);
        }
        for (const name of ["a", "b"]) {
            const pod = new TestPod(name);
            this.pods.push(pod);
            const [v4 = "", v6 = ""] = ipsOf(await this.cluster.agent.add(pod));
            this.podIps.push({ 4: v4, 6: v6 });
            this.#servers.push(await PodProgram.serve(pod, name));
        }
        this.#servers.push(await PodProgram.serve(outside, "out"), await PodProgram.serve(undefined, "host"));
    }

    pod(index: number, family: 4 | 6): string {
        return this.podIps[index]?.[family] ?? "";
    }

    /** Creates a Service of both families; resolves with ClusterIPs and the NodePorts of TCP and UDP. */
    async addService(
        name: string,
        spec: Readonly<Record<string, unknown>> = {},
    ): Promise<{ readonly vips: Addresses; readonly tcp: number; readonly udp: number }> {
        const [v4, v6] = await this.cluster.addService(name, ports, spec);
        const { spec: created } = await this.cluster.api.get(services, { namespace: "default", name });
        const [tcp = 0, udp = 0] = (created?.ports ?? []).map(({ nodePort = 0 }) => nodePort);
        return { vips: { 4: v4, 6: v6 }, tcp, udp };
    }

    /** @param on the Node of the endpoints */
    setEndpoints(name: string, family: 4 | 6, ips: readonly string[], on?: string): Promise<void> {
        return this.cluster.setEndpoints(name, family, ips, ports, on);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const server of this.#servers) await server[Symbol.asyncDispose]();
        await this.cluster[Symbol.asyncDispose]();
        for (const pod of [...this.pods, this.outside]) pod[Symbol.dispose]();
    }
}

/** What a new socket hears for a datagram. */
async function say(from: ProgramPlace, host: string, port: number): Promise<string> {
    await using socket = await PodProgram.datagrams(from, host, port);
    return await socket.send("hello");
}

/** What new clients of TCP and UDP hear, once both hear what is wanted, or what they hear after ten seconds. */
export async function heard(
    from: ProgramPlace,
    host: string,
    { tcp, udp, wanted }: { readonly tcp: number; readonly udp: number; readonly wanted: string },
): Promise<readonly [tcp: string, udp: string]> {
    const is = (text: string): boolean => text === wanted;
    return [
        await eventually(() => ask(from, host, tcp), is, 10_000),
        await eventually(() => say(from, host, udp), is, 10_000),
    ];
}
