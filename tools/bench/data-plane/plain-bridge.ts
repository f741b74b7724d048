import { writeFileSync } from "node:fs";
import { workPath } from "../paths.ts";
import { runWithin } from "../netns.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { nic, placeOf, type LoadNode, type Mode } from "./load-node.ts";
import { LoadPod } from "./load-pod.ts";

/** What our pipeline is compared with: a learning switch, and one that looks up each packet's connection once, as ours. */
export type Plain = "plain" | "ct";

const bridge = "br-plain";
const flows: Readonly<Record<Plain, readonly string[]>> = {
    plain: ["actions=NORMAL"],
    ct: [
        "priority=1,ip,ct_state=-trk actions=ct(table=1,zone=1)",
        "priority=0 actions=NORMAL",
        "table=1,priority=1,ip,ct_state=+trk+new actions=ct(commit,zone=1),NORMAL",
        "table=1,priority=0 actions=NORMAL",
    ],
};

/** A bridge beside that of the agent, in the same ovs-vswitchd and with the same way to the other Node. */
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
     * In mode noEncap the host routes to the other Node, in mode encap a port of the bridge leads there by geneve. In mode
     * bridging the NIC does, on a Node without an agent.
     */
    static async start(node: LoadNode, mode: Mode): Promise<PlainBridge> {
        const plain = new PlainBridge(node, mode);
        const other = 1 - node.index;
        await node.ovs.addBridge(bridge);
        if (mode === "encap") {
            const options = [`options:remote_ip=${placeOf(other).address}`, "options:key=98"];
            await node.ovs.vsctl(
                "add-port",
                bridge,
                "plain-tun",
                "--",
                "set",
                "interface",
                "plain-tun",
                "type=geneve",
                ...options,
            );
        } else if (mode === "bridging") {
            // ovs-vswitchd looks at its ports in an order that follows from their numbers, and a request is the faster the
            // later the port of the answer has its turn. So each port gets the number that it has with the agent.
            for (const port of ["plain-gw", "plain-host"]) {
                await node.ovs.addPort(bridge, port);
                node.run("ip", "link", "set", port, "up");
            }
            node.run("ethtool", "-K", nic, "tx", "off", "gro", "off");
            node.run("ip", "link", "set", nic, "up");
            await node.ovs.addPort(bridge, nic, { type: "" });
        } else {
            node.run("ethtool", "-K", bridge, "tx", "off");
            node.run("ip", "address", "add", `${subnet(node.index)}.1/24`, "dev", bridge);
            node.run("ip", "link", "set", bridge, "up");
            node.run("ip", "route", "add", `${subnet(other)}.0/24`, "via", placeOf(other).address);
        }
        for (const [name, lines] of Object.entries(flows)) writeFileSync(flowFile(name), `${lines.join("\n")}\n`);
        return plain;
    }

    async become(plain: Plain): Promise<void> {
        await this.#node.ovs.ofctl("--bundle", "replace-flows", bridge, flowFile(plain));
    }

    /** A namespace with an interface as the agent's Pods have it, in a VLAN or, by default, in none. */
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
        node.run("ip", "link", "set", name, "up");
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
