import { runWithin } from "../netns.ts";
import { nic, underlay, type LoadNode } from "../data-plane/load-node.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { Echoes } from "./echoes.ts";

const name = "underlay";
const bridge = "switch";

/** The network between the Nodes: a Linux bridge in its own network namespace, which is also a host on it. */
export class UnderlaySwitch implements AsyncDisposable {
    /** The host's address, the gateway of the untagged subnet. */
    static readonly address = `${underlay.base}.0.1`;
    readonly netnsPath: string;
    readonly #namespaces: PodNamespaces;
    #ports = 0;

    constructor(namespaces: PodNamespaces) {
        const [netnsPath = ""] = namespaces.add(name);
        this.netnsPath = netnsPath;
        this.#namespaces = namespaces;
        // With a fixed MAC address it does not change with each new port.
        this.#ip("link", "add", bridge, "address", "02:00:0a:c9:00:01", "type", "bridge", "mcast_snooping", "0");
        this.#ip("link", "set", bridge, "up");
        this.#ip("address", "add", `${UnderlaySwitch.address}/${underlay.length}`, "dev", bridge);
    }

    /** Gives a Node a NIC that is connected to the switch. */
    connect(node: LoadNode, link: string = nic): void {
        this.#ports += 1;
        const port = `port-${this.#ports}`;
        this.#ip("link", "add", port, "type", "veth", "peer", "name", link, "netns", node.netnsId);
        this.#ip("link", "set", port, "master", bridge, "up");
    }

    /** Starts to ping an address from the host. */
    askForEchoes(address: string): Echoes {
        return new Echoes(address, this.netnsPath);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#namespaces.delete(name);
    }

    #ip(...args: readonly string[]): void {
        runWithin(this.netnsPath, "ip", ...args);
    }
}
