import { writeFileSync } from "node:fs";
import { BenchError } from "../error.ts";
import { runWithin } from "../netns.ts";
import { workPath } from "../paths.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { nic, placeOf, type LoadNode, type Mode } from "./load-node.ts";
import { LoadPod } from "./load-pod.ts";

/**
 * The baselines of the agent's pipeline: a learning switch, and one that does one conntrack lookup per packet, as the
 * pipeline does.
 */
export type Plain = "plain" | "ct";

const bridge = "br-plain";
const tunnel = "plain-tun";
const gateway = "plain-gw";
/** The agent's `podLinkGroup`. */
export const podLinkGroup = "178";
const flows: Readonly<Record<Plain, readonly string[]>> = {
    plain: ["actions=NORMAL"],
    ct: [
        "priority=1,ip,ct_state=-trk actions=ct(table=1,zone=1)",
        "priority=0 actions=NORMAL",
        "table=1,priority=1,ip,ct_state=+trk+new actions=ct(commit,zone=1),NORMAL",
        "table=1,priority=0 actions=NORMAL",
    ],
};

/**
 * A bridge on a Node without an agent, with the same path to the other Node as the agent's. ovs-vswitchd polls its
 * ports in an order that follows from their numbers, and a request is the faster the later the port of the answer is
 * polled. So each port gets the number that it has with the agent; `devicePorts` lists them.
 */
export class PlainBridge implements AsyncDisposable {
    readonly #node: LoadNode;
    readonly #mode: Mode;
    readonly #stack = new AsyncDisposableStack();
    #pods = 0;

    private constructor(node: LoadNode, mode: Mode) {
        this.#node = node;
        this.#mode = mode;
    }

    /**
     * In mode noEncap the host routes to the other Node, in mode encap a Geneve port of the bridge leads there, in
     * mode bridging the NIC. The Node has its address in modes that assign one. What the agent adds between its bridge and
     * its gateway port, `addMore` does.
     */
    static async start(
        node: LoadNode,
        mode: Mode,
        other: LoadNode,
        addMore: () => Promise<void> = async () => undefined,
    ): Promise<PlainBridge> {
        const plain = new PlainBridge(node, mode);
        const { ovs } = node;
        await ovs.addBridge(bridge);
        if (mode === "encap") {
            const options = [`options:remote_ip=${placeOf(other.index).address}`, "options:key=98"];
            const set = ["--", "set", "interface", tunnel, "type=geneve", ...options];
            await ovs.vsctl("add-port", bridge, tunnel, ...set);
        }
        await addMore();
        await ovs.addPort(bridge, gateway);
        node.run("ethtool", "-K", gateway, "tx", "off");
        node.run("ip", "link", "set", gateway, "up");
        if (mode === "bridging") {
            await ovs.addPort(bridge, "plain-host");
            node.run("ip", "link", "set", "plain-host", "up");
            node.run("ethtool", "-K", nic, "tx", "off", "gro", "off");
            node.run("ip", "link", "set", nic, "up");
            await ovs.addPort(bridge, nic, { type: "" });
        } else {
            node.run("ip", "address", "add", `${subnet(node.index)}.1/24`, "dev", gateway);
        }
        if (mode === "noEncap") {
            node.run("ip", "route", "add", `${subnet(other.index)}.0/24`, "via", placeOf(other.index).address);
        }
        for (const [name, lines] of Object.entries(flows)) writeFileSync(flowFile(name), `${lines.join("\n")}\n`);
        return plain;
    }

    async become(plain: Plain): Promise<void> {
        await this.#node.ovs.ofctl("--bundle", "replace-flows", bridge, flowFile(plain));
    }

    /** A namespace with an interface like that of the agent's Pods, in a VLAN or, by default, untagged. */
    async addPod(namespaces: PodNamespaces, vlan = 0): Promise<LoadPod> {
        const node = this.#node;
        this.#pods += 1;
        const name = `plain-${node.index}-${this.#pods}`;
        const ip = `${subnet(node.index)}.${this.#pods + 1}`;
        const mtu = this.#mode === "encap" ? "1450" : "1500";
        const length = this.#mode === "noEncap" ? 24 : 16;
        const [netnsPath = ""] = namespaces.add(name);
        node.run(
            "ip",
            "link",
            "add",
            name,
            "mtu",
            mtu,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "mtu",
            mtu,
            "netns",
            name,
        );
        // As the links of the agent's Pods: netfilter matches their group, and drops their frames in the host's stack.
        // Otherwise the host answers the ARP request for the gateway with this link's address, and packets bypass the
        // bridge.
        node.run("ip", "link", "set", name, "group", podLinkGroup, "up");
        await node.ovs.addPort(bridge, name, { type: "" });
        if (vlan !== 0) await node.ovs.vsctl("set", "port", name, `tag=${vlan}`);
        const inside = (...command: readonly string[]): string => runWithin(netnsPath, ...command);
        inside("ethtool", "-K", "eth0", "tx", "off");
        inside("ip", "address", "add", `${ip}/${length}`, "dev", "eth0");
        inside("ip", "link", "set", "eth0", "up");
        if (this.#mode === "noEncap") inside("ip", "route", "add", "default", "via", `${subnet(node.index)}.1`);
        return this.#stack.use(await LoadPod.start(netnsPath, ip));
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}

function subnet(node: number): string {
    return `10.98.${node + 1}`;
}

function flowFile(name: string): string {
    return workPath(`${name}.flows`);
}

/** The numbers of the ports that are devices (the NIC and the Pods), from `ovs-appctl dpctl/show`. */
export function devicePorts(text: string): string {
    return [...text.matchAll(/^\s+port (\d+): \S+$/gm)].map(([, number]) => number).join(", ");
}

/** Throws if the ports of the agent's Node and of the plain bridge's have different numbers. */
export async function refuseOtherPorts(node: LoadNode, plain: LoadNode): Promise<void> {
    const portsOf = async ({ ovs }: LoadNode): Promise<string> => devicePorts(await ovs.appctl("dpctl/show"));
    const [ours, theirs] = [await portsOf(node), await portsOf(plain)];
    if (ours === theirs) return;
    const what = `NIC and Pods are ports ${ours} with the agent and ${theirs} with the plain bridge`;
    throw new BenchError("WRONG_RESULT", "internal", `${what}; PlainBridge is to add its ports in the agent's order`);
}

/**
 * Copies the netfilter rules of the agent's Nodes to the Nodes of the plain bridges, with their names and subnets:
 * the hosts then process packets in the same way.
 */
export function copyNetfilter(nodes: Pair<LoadNode>, plains: Pair<LoadNode>): void {
    for (const at of [0, 1] as const) {
        const rules = nodes[at].run("nft", "list", "ruleset");
        const own = [0, 1] as const;
        const replaced = own.reduce(
            (text, of) => text.replaceAll(placeOf(nodes[of].index).podCidr, `${subnet(plains[of].index)}.0/24`),
            rules.replaceAll("antrea-gw0", gateway),
        );
        const file = workPath(`netfilter-${plains[at].index}.nft`);
        writeFileSync(file, replaced);
        plains[at].run("nft", "-f", file);
    }
}

type Pair<T> = readonly [T, T];
