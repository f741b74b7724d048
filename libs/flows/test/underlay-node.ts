import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { formatIp, formatMac, parseIp, parseMac } from "@antrea/ip";
import { PrivateOvs } from "@antrea/openflow/testing";
import { OfPort, serviceMac, serviceSource, type PodInput } from "../src/index.ts";
import { exampleBridgedPod, exampleBridgingNode, examplePod, gatewayMac, hostMac } from "./examples.ts";
import { Namespace, type Talk } from "./namespaces.ts";
import { server } from "./programs.ts";
import { type TestSwitch } from "./switch.ts";

const run = promisify(execFile);

const node = exampleBridgingNode();

/** The Pods: a is one of the Node's subnet; p and q are bridged in VLAN 0, r and s in VLAN 2. */
export const underlayPods = {
    a: { pod: examplePod(1), vlan: undefined },
    p: { pod: exampleBridgedPod(3, 0), vlan: 0 },
    q: { pod: exampleBridgedPod(4, 0), vlan: 0 },
    r: { pod: exampleBridgedPod(5, 2), vlan: 2 },
    s: { pod: exampleBridgedPod(6, 2), vlan: 2 },
} as const satisfies Readonly<Record<string, { readonly pod: PodInput; readonly vlan: 0 | 2 | undefined }>>;

const legs = [
    { name: "eth0", vlan: 0, mac: parseMac("52:54:00:00:00:fe"), ips: ["172.18.0.254", "fd00:18::fe"] },
    { name: "eth2", vlan: 2, mac: parseMac("52:54:00:00:02:fe"), ips: ["172.18.2.254", "fd00:18:0:2::fe"] },
] as const;

/** What has a namespace: the Pods, the Node's stack, and the router that is the outside too. */
export type StationName = keyof typeof underlayPods | "host" | "outside";

/** The addresses of these stations and what else tests address, by family. */
export const underlayAddresses = {
    4: {
        a: "10.10.0.2",
        p: "172.18.0.4",
        q: "172.18.0.5",
        r: "172.18.2.6",
        s: "172.18.2.7",
        host: "172.18.0.100",
        outside: "192.0.2.1",
        gateway: "10.10.0.1",
        virtual: "169.254.0.253",
    },
    6: {
        a: "fd00:10::2",
        p: "fd00:18::4",
        q: "fd00:18::5",
        r: "fd00:18:0:2::6",
        s: "fd00:18:0:2::7",
        host: "fd00:18::100",
        outside: "2001:db8::1",
        gateway: "fd00:10::1",
        virtual: "fc01::aabb:ccdd:eeff",
    },
} as const;

/**
 * A Node whose NIC is a port of its bridge: the NIC's cable ends in a switch with VLANs, where a router has a leg in VLAN
 * 0 and one in VLAN 2, and is the outside too. Each namespace has a server.
 */
export class UnderlayNode implements AsyncDisposable {
    readonly #ovs: TestSwitch;
    readonly #nic = PrivateOvs.deviceName("nic");
    readonly #spaces = new Map<StationName, Namespace>();
    readonly #servers = new Map<StationName, Talk>();

    private constructor(ovs: TestSwitch) {
        this.#ovs = ovs;
    }

    /**
     * @param ovs a switch with the flows of the Node, which is the caller's
     * @param rules of the host, for nft(8)
     */
    static async start(ovs: TestSwitch, rules: string): Promise<UnderlayNode> {
        const started = new UnderlayNode(ovs);
        try {
            await started.#start(rules);
            return started;
        } catch (error) {
            await started[Symbol.asyncDispose]();
            throw error;
        }
    }

    space(name: StationName): Namespace {
        const found = this.#spaces.get(name);
        if (found === undefined) throw new TypeError(`no namespace ${name}`);
        return found;
    }

    /** Lets the server of a namespace send a line to all its clients. */
    async say(name: StationName, text: string): Promise<void> {
        await this.#servers.get(name)?.send(text);
    }

    async #start(rules: string): Promise<void> {
        const pods = Object.entries(underlayPods) as [
            keyof typeof underlayPods,
            (typeof underlayPods)["a" | "p" | "r"],
        ][];
        for (const name of [...pods.map(([pod]) => pod), "host", "outside"] as const)
            this.#spaces.set(name, await Namespace.create());
        await this.#startUnderlay(this.space("outside"));
        await this.#startHost(this.space("host"), rules);
        for (const [name, { pod, vlan }] of pods) {
            const inside = this.space(name);
            await this.#ovs.addPort("pod", pod.ofPort, await inside.addVeth(pod.mac));
            const routers = vlan === undefined ? node.gateway.ips : legs[vlan === 0 ? 0 : 1].ips.map(parseIp);
            await inside.configure(pod.ips, routers);
        }
        for (const [name, inside] of this.#spaces) this.#servers.set(name, await inside.start(server));
    }

    async #startUnderlay(router: Namespace): Promise<void> {
        const [bridge, cable] = [PrivateOvs.deviceName("phy"), PrivateOvs.deviceName("cable")];
        await this.#ovs.ovs.addBridge(bridge, { failMode: "standalone" });
        await run("ip", ["link", "add", this.#nic, "type", "veth", "peer", "name", cable]);
        for (const device of [this.#nic, cable]) {
            await run("ip", ["link", "set", device, "up"]);
            await run("ethtool", ["-K", device, "tx", "off"]);
        }
        await this.#ovs.addPort("uplink", OfPort.uplink, this.#nic);
        await this.#ovs.ovs.addPort(bridge, cable, { type: "" });
        for (const { name, vlan, mac, ips } of legs) {
            const leg = PrivateOvs.deviceName("leg");
            await this.#ovs.ovs.addPort(bridge, leg);
            if (vlan !== 0) await this.#ovs.ovs.vsctl("set", "port", leg, `tag=${vlan}`);
            await router.take(leg, mac, name);
            await router.configure(ips.map(parseIp), [], name);
        }
        await router.exec("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
        await router.exec("ip", "address", "add", "192.0.2.1/32", "dev", "lo");
        await router.exec("ip", "address", "add", "2001:db8::1/128", "dev", "lo");
        await router.exec("ip", "route", "add", "10.10.0.0/24", "via", "172.18.0.100");
        await router.exec("ip", "route", "add", "fd00:10::/64", "via", "fd00:18::100");
    }

    async #startHost(host: Namespace, rules: string): Promise<void> {
        await host.take(await this.#ovs.addPort("gw", OfPort.gateway), gatewayMac, "gw0");
        await host.take(await this.#ovs.addPort("host", OfPort.host), hostMac);
        await host.exec("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
        await host.exec("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=2", "net.ipv4.conf.gw0.rp_filter=2");
        await host.configure(node.gateway.ips, [], "gw0");
        await host.configure(node.bridging?.host.ips ?? [], legs[0].ips.map(parseIp));
        for (const virtual of ([4, 6] as const).map(serviceSource).map(formatIp)) {
            await host.exec("ip", "route", "add", virtual, "dev", "gw0");
            const mac = formatMac(serviceMac);
            await host.exec("ip", "neighbour", "add", virtual, "lladdr", mac, "dev", "gw0", "nud", "permanent");
        }
        await host.exec("nft", rules);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const inside of this.#spaces.values()) await inside[Symbol.asyncDispose]();
        await run("ip", ["link", "delete", this.#nic]).catch(() => undefined);
    }
}
