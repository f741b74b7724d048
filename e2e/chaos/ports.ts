import { allNodes } from "../fixture/cluster.ts";
import { run } from "../fixture/run.ts";

/** An address that a port of a Node's OVS has for a Pod. */
export interface PortAddress {
    readonly node: string;
    readonly pod: string;
    readonly address: string;
}

/**
 * Reads the Pods' addresses from the OVS databases of all Nodes; those that do not answer are left out. By the sockets,
 * from the machine that the Nodes' containers run on: the API server is not asked.
 */
export async function portAddresses(): Promise<readonly PortAddress[]> {
    const found = await Promise.all(allNodes.map((node) => addressesOn(node).catch(() => [])));
    return found.flat();
}

async function addressesOn(node: string): Promise<readonly PortAddress[]> {
    const pid = (await run("docker", ["inspect", "--format", "{{.State.Pid}}", node])).trim();
    const socket = `unix:/proc/${pid}/root/run/antrea/openvswitch/db.sock`;
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
    polls = 0;
    /** The most addresses that one poll saw. */
    most = 0;
    #before: readonly string[] = [];

    async poll(): Promise<void> {
        const ports = await portAddresses();
        const now = shared(ports);
        for (const one of now) if (this.#before.includes(one)) this.duplicates.add(one);
        this.#before = now;
        this.polls += 1;
        this.most = Math.max(this.most, new Set(ports.map(({ address }) => address)).size);
    }
}
