import { runWithin } from "../netns.ts";
import { nic, underlay, type LoadNode } from "../data-plane/load-node.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { Echoes } from "./echoes.ts";

const name = "underlay";
const bridge = "switch";

/** The network between the Nodes: a switch, a Linux bridge in a namespace of its own, which is a station too. */
export class UnderlaySwitch implements AsyncDisposable {
    /** The station's address, the gateway of what has no VLAN. */
    static readonly address = `${underlay.base}.0.1`;
    readonly #netnsPath: string;
    readonly #namespaces: PodNamespaces;
    #ports = 0;

    constructor(namespaces: PodNamespaces) {
        const [netnsPath = ""] = namespaces.add(name);
        this.#netnsPath = netnsPath;
        this.#namespaces = namespaces;
        // With an address of its own it does not take another one with each port.
        this.#ip("link", "add", bridge, "address", "02:00:0a:c9:00:01", "type", "bridge", "mcast_snooping", "0");
        this.#ip("link", "set", bridge, "up");
        this.#ip("address", "add", `${UnderlaySwitch.address}/${underlay.length}`, "dev", bridge);
    }

    /** Gives a Node a NIC with a cable to the switch. */
    connect(node: LoadNode, link: string = nic): void {
        this.#ports += 1;
        const port = `port-${this.#ports}`;
        this.#ip("link", "add", port, "type", "veth", "peer", "name", link, "netns", node.netnsId);
        this.#ip("link", "set", port, "master", bridge, "up");
    }

    /** From now on the station asks an address for echoes. */
    askForEchoes(address: string): Echoes {
        return new Echoes(address, this.#netnsPath);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#namespaces.delete(name);
    }

    #ip(...args: readonly string[]): void {
        runWithin(this.#netnsPath, "ip", ...args);
    }
}
