import { execFileSync } from "node:child_process";
import { OfPort } from "@antrea/flows";
import { parseIp, parseMac, parsePrefix, type IpAddress } from "@antrea/ip";
import { HostInputFilter } from "../../../src/features/host-filter/input-filter/index.ts";
import type { PodPools } from "../../../src/features/pod-network/index.ts";
import { podLinkGroup } from "../../../src/platform/kernel-ids.ts";
import { rulesGeneration, runNft } from "../../../src/platform/nftables.ts";
import type { AddressAllocation, AddressRequest, PodAttachment } from "../../../src/platform/pod-interfaces/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { PodProgram, type ProgramPlace } from "../../support/pod-programs.ts";
import { ipsOf, TestPod } from "../../support/test-pod.ts";
import { ServiceCluster } from "./service-cluster.ts";

/** Keys of antrea-agent.conf that bridging mode needs. */
export const bridgingSettings = {
    enableBridgingMode: true,
    featureGates: { AntreaIPAM: true },
    noSNAT: true,
    trafficEncapMode: "noEncap",
};

type Addresses = Readonly<Record<4 | 6, string>>;

/** Of the Node, and of the router that is the outside too. */
export const nodeIps: Addresses = { 4: "192.0.2.1", 6: "2001:db8::1" };
export const outsideIps: Addresses = { 4: "203.0.113.9", 6: "2001:db8:9::9" };
export const gatewayIps: Addresses = { 4: "10.10.1.1", 6: "fd10:10:0:1::1" };
/** What an endpoint sees whose answer would not come back by itself. */
export const virtualIps: Addresses = { 4: "169.254.0.253", 6: "fc01::aabb:ccdd:eeff" };

/** The Pods: a has an address of the Node's subnet, p and q one of VLAN 0, r and s one of VLAN 2. */
export const podNames = ["a", "p", "q", "r", "s"] as const;
export type PodName = (typeof podNames)[number];
/** Who can be asked, and ask. */
export type PlaceName = PodName | "host" | "outside";

const hostMac = "52:54:00:00:00:01";
const routerIps = {
    0: { 4: "192.0.2.254", 6: "2001:db8::fe" },
    2: { 4: "198.18.2.254", 6: "2001:db8:2::fe" },
} as const;
const bridgedIps: Readonly<Record<Exclude<PodName, "a">, Addresses & { readonly vlan: 0 | 2 }>> = {
    p: { vlan: 0, 4: "192.0.2.4", 6: "2001:db8::4" },
    q: { vlan: 0, 4: "192.0.2.5", 6: "2001:db8::5" },
    r: { vlan: 2, 4: "198.18.2.6", 6: "2001:db8:2::6" },
    s: { vlan: 2, 4: "198.18.2.7", 6: "2001:db8:2::7" },
};

/** Pools that have one address of each family for each of these Pods, by its name. */
class PodAddresses implements PodPools {
    requestOf({ podName }: PodAttachment): Promise<AddressRequest | undefined> {
        const found = Object.entries(bridgedIps).find(([name]) => name === podName)?.[1];
        if (found === undefined) return Promise.resolve(undefined);
        const { vlan } = found;
        const addresses = ([4, 6] as const).map((family) => ({
            ip: parseIp(found[family]),
            prefixLength: family === 4 ? 24 : 64,
            gateway: parseIp(routerIps[vlan][family]),
            pool: `vlan${vlan}-ipv${family}`,
        }));
        const allocation: AddressAllocation = { vlan, addresses };
        return Promise.resolve({ claim: () => Promise.resolve(allocation) });
    }

    release(): Promise<void> {
        return Promise.resolve();
    }

    hasAllocations(_attachment: unknown, ips: readonly IpAddress[]): boolean {
        return ips.length > 0;
    }
}

const legs4 = [
    ["leg0", "192.0.2.0/24"],
    ["leg2", "198.18.2.0/24"],
] as const;
const legs6 = [
    ["leg0", "2001:db8::/64"],
    ["leg2", "2001:db8:2::/64"],
] as const;

function ip(...args: readonly string[]): void {
    execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}

/**
 * A Node in bridging mode with Services of OVS for everybody. Its NIC's cable ends at a router with a leg in VLAN 0 and
 * one in VLAN 2, which is the outside too. Pods, the Node and the router answer at port 8080 with their name.
 */
export class BridgedNetwork implements AsyncDisposable {
    readonly cluster: ServiceCluster;
    readonly #outside = new TestPod("outside");
    readonly #pods = new Map<PodName, TestPod>();
    readonly #ips = new Map<PodName, Addresses>();
    readonly #servers: PodProgram[] = [];

    private constructor(cluster: ServiceCluster) {
        this.cluster = cluster;
    }

    /** @param settings keys of antrea-agent.conf of its first agent */
    static async start(settings: object): Promise<BridgedNetwork> {
        const bridging = {
            uplink: { ofPort: OfPort.uplink },
            host: { ofPort: OfPort.host, mac: parseMac(hostMac), ips: [nodeIps[4], nodeIps[6]].map(parseIp) },
            serviceCidrs: ["10.96.0.0/12", "fd00:10:96::/112"].map((text) => parsePrefix(text)),
        };
        const network = new BridgedNetwork(
            await ServiceCluster.start(settings, { bridging, pools: new PodAddresses() }),
        );
        try {
            await network.#connect();
            return network;
        } catch (error) {
            await network[Symbol.asyncDispose]();
            throw error;
        }
    }

    /** Where the programs of a Pod, the Node or the outside run. */
    place(name: PlaceName): ProgramPlace {
        if (name === "host") return undefined;
        return name === "outside" ? this.#outside : this.#pods.get(name);
    }

    /** Its address. */
    at(name: PlaceName, family: 4 | 6): string {
        if (name === "host") return nodeIps[family];
        return name === "outside" ? outsideIps[family] : (this.#ips.get(name)?.[family] ?? "");
    }

    /** Takes Pods off the switch; their programs and sockets stay. */
    async leave(...names: readonly PodName[]): Promise<void> {
        for (const name of names) await this.cluster.agent.del(this.#pod(name));
    }

    /** Brings Pods that left back, with the same addresses. */
    async join(...names: readonly PodName[]): Promise<void> {
        for (const name of names) await this.cluster.agent.add(this.#pod(name));
    }

    #pod(name: PodName): TestPod {
        const found = this.#pods.get(name);
        if (found === undefined) throw new TypeError(`no Pod ${name}`);
        return found;
    }

    async #connect(): Promise<void> {
        // else the Node's stack would answer what it sees of the frames of Pods
        const filter = { generation: rulesGeneration, logger: silentLogger, nft: runNft };
        await new HostInputFilter(filter, { linkGroup: podLinkGroup }).ensure();
        execFileSync("sysctl", ["-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]);
        await this.#startRouter();
        await this.#startHost();
        for (const name of podNames) {
            const pod = new TestPod(name);
            this.#pods.set(name, pod);
            const [v4 = "", v6 = ""] = ipsOf(await this.cluster.agent.add(pod));
            this.#ips.set(name, { 4: v4, 6: v6 });
        }
        for (const name of [...podNames, "host", "outside"] as const)
            this.#servers.push(await PodProgram.serve(this.place(name), name));
    }

    /** The NIC is the end of a cable that only OVS uses: the Node's stack must not answer by it. */
    async #startRouter(): Promise<void> {
        const { ovs } = this.cluster.node;
        const { netns } = this.#outside;
        ip("link", "add", "nic", "type", "veth", "peer", "name", "cable");
        for (const device of ["nic", "cable"]) {
            execFileSync("sysctl", ["-qw", `net.ipv4.conf.${device}.arp_ignore=8`]);
            execFileSync("sysctl", ["-qw", `net.ipv6.conf.${device}.disable_ipv6=1`]);
            execFileSync("ethtool", ["-K", device, "tx", "off"], { stdio: "ignore" });
            ip("link", "set", device, "up");
        }
        await ovs.addBridge("physical", { failMode: "standalone" });
        await ovs.addPort("physical", "cable", { type: "" });
        for (const [leg, vlan] of [
            ["leg0", 0],
            ["leg2", 2],
        ] as const) {
            await ovs.addPort("physical", leg);
            if (vlan !== 0) await ovs.vsctl("set", "port", leg, `tag=${vlan}`);
            ip("link", "set", leg, "netns", netns.name);
            netns.run("ethtool", "-K", leg, "tx", "off");
            netns.run("ip", "link", "set", leg, "up");
        }
        netns.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
        netns.run("ip", "link", "set", "lo", "up");
        for (const family of [4, 6] as const) {
            const [length, whole, nodad] = family === 4 ? [24, 32, []] : [64, 128, ["nodad"]];
            const add = (address: string, dev: string): string =>
                netns.run("ip", "address", "add", address, "dev", dev, ...nodad);
            add(`${routerIps[0][family]}/${length}`, "leg0");
            add(`${routerIps[2][family]}/${length}`, "leg2");
            add(`${outsideIps[family]}/${whole}`, "lo");
            // a server of UDP that listens at all addresses answers from this one
            for (const [leg, prefix] of family === 4 ? legs4 : legs6) {
                const own = ["src", outsideIps[family], "metric", family === 4 ? "0" : "1"];
                netns.run("ip", `-${family}`, "route", "replace", prefix, "dev", leg, ...own);
            }
            const podCidr = family === 4 ? "10.10.1.0/24" : "fd10:10:0:1::/64";
            netns.run("ip", `-${family}`, "route", "add", podCidr, "via", nodeIps[family], "src", outsideIps[family]);
        }
    }

    async #startHost(): Promise<void> {
        const { ovs, bridge } = this.cluster.node;
        await ovs.addPort(bridge, "nic", { type: "", ofport: OfPort.uplink });
        await ovs.addPort(bridge, "host0", { ofport: OfPort.host });
        ip("link", "set", "host0", "address", hostMac);
        execFileSync("ethtool", ["-K", "host0", "tx", "off"], { stdio: "ignore" });
        ip("link", "set", "host0", "up");
        for (const family of [4, 6] as const) {
            const [length, nodad] = family === 4 ? [24, []] : [64, ["nodad"]];
            ip("address", "add", `${nodeIps[family]}/${length}`, "dev", "host0", ...nodad);
            ip(`-${family}`, "route", "add", "default", "via", routerIps[0][family]);
        }
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const server of this.#servers) await server[Symbol.asyncDispose]();
        await this.cluster[Symbol.asyncDispose]();
        for (const pod of [...this.#pods.values(), this.#outside]) pod[Symbol.dispose]();
    }
}
