import { allNodes } from "../fixture/cluster.ts";
import { pidOfContainer } from "../fixture/containers.ts";
import { run } from "../fixture/run.ts";

/** An address that a port of a Node's OVS has for a Pod. */
export interface PortAddress {
    readonly node: string;
    readonly pod: string;
    readonly address: string;
}

/**
 * Reads the Pods' addresses from the OVS database of a Node, by its socket, from the machine that the Nodes' containers run on:
 * the API server is not asked.
 */
async function addressesOn(node: string): Promise<readonly PortAddress[]> {
    const socket = `unix:/proc/${await pidOfContainer(node)}/root/run/antrea/openvswitch/db.sock`;
    const columns = ["--columns=external_ids", "find", "port", "external_ids:antrea-type=container"];
    const output = await run("ovs-vsctl", [`--db=${socket}`, "--timeout=3", "--format=json", ...columns]);
    const { data } = JSON.parse(output) as {
        readonly data: readonly (readonly [readonly ["map", [string, string][]]])[];
    };
    return data.flatMap(([[, pairs]]) => {
        const ids = Object.fromEntries(pairs);
        const pod = `${ids["pod-namespace"] ?? ""}/${ids["pod-name"] ?? ""}`;
        return (ids["ip-address"] ?? "")
            .split(",")
            .filter((address) => address !== "")
            .map((address) => ({ node, pod, address }));
    });
}

/** Addresses with ports of more than one Pod: a Pod's own sandbox may be made anew before the old one is taken down. */
export function shared(ports: readonly PortAddress[]): readonly string[] {
    const owners = Map.groupBy(ports, ({ address }) => address);
    return [...owners]
        .filter(([, of]) => new Set(of.map(({ node, pod }) => `${node} ${pod}`)).size > 1)
        .map(([address, of]) => `${address}: ${of.map(({ node, pod }) => `${pod} on ${node}`).join(" and ")}`);
}

/** Polls every few seconds. A duplicate counts if two polls in a row see it: the Nodes are not read at one moment. */
export class PortWatch {
    readonly duplicates = new Set<string>();
    /** How often the database of each Node answered. */
    readonly answers = new Map(allNodes.map((node) => [node, 0]));
    /** The most addresses that one poll saw. */
    most = 0;
    lastError: unknown;
    #before: readonly string[] = [];

    async poll(): Promise<void> {
        const ports = (await Promise.all(allNodes.map((node) => this.#read(node)))).flat();
        const now = shared(ports);
        for (const one of now) if (this.#before.includes(one)) this.duplicates.add(one);
        this.#before = now;
        this.most = Math.max(this.most, new Set(ports.map(({ address }) => address)).size);
    }

    /** A Node whose database does not answer, as while it is killed or paused, is left out. */
    async #read(node: string): Promise<readonly PortAddress[]> {
        try {
            const ports = await addressesOn(node);
            this.answers.set(node, (this.answers.get(node) ?? 0) + 1);
            return ports;
        } catch (error) {
            this.lastError = error;
            return [];
        }
    }
}
