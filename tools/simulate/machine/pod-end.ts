import {
    NetlinkError,
    type AddressOptions,
    type Batch,
    type Link,
    type LinkChanges,
    type Neighbour,
} from "@antrea/netlink";
import { formatIp } from "@antrea/ip";
import { type PodNamespaces } from "@antrea/agent/features/pod-network";
import { type Machine } from "./machine.ts";
import { type Netns, type NetnsEnd } from "./netns.ts";

/** The simulated network namespaces of a machine. */
export function namespacesOf(machine: Machine): PodNamespaces {
    const find = (path: string): Netns => {
        const found = machine.netns.get(path);
        if (found === undefined) throw new NetlinkError("ENOENT", "environment", `network namespace ${path} is gone`);
        return found;
    };
    const openIn = (path: string): PodEnds => {
        find(path);
        return new PodEnds(machine, () => find(path));
    };
    return {
        // The agent uses only these methods of Netlink.
        openIn: openIn as unknown as PodNamespaces["openIn"],
        setSysctl: (path) => void find(path),
        setTxChecksumOffload: (_ifName, _isOn, path) => void find(path),
        paths: () => Promise.resolve([...machine.netns.keys()]),
    };
}

/** The Pod's ends of veth pairs. */
class PodEnds implements Disposable {
    readonly #machine: Machine;
    readonly #find: () => Netns;

    constructor(machine: Machine, find: () => Netns) {
        this.#machine = machine;
        this.#find = find;
    }

    async link(name: string): Promise<Pick<Link, "index" | "name" | "mac" | "mtu"> | undefined> {
        await Promise.resolve();
        const end = this.#find().ends.get(name);
        return end && { index: end.index, name, mac: end.mac, mtu: end.mtu };
    }

    /** Links of other containers: no namespace is reused on these machines. */
    links(): Promise<readonly Link[]> {
        return Promise.resolve([]);
    }

    async batch(write: (batch: Batch) => void): Promise<void> {
        await Promise.resolve();
        const netns = this.#find();
        const nothing = (): void => undefined;
        const batch = {
            setLink: (index: number, { mac }: LinkChanges) => {
                const end = endOf(netns, index);
                end.mac = mac ?? end.mac;
            },
            replaceAddress: ({ index, ip }: AddressOptions) => {
                const { addresses } = endOf(netns, index);
                if (!addresses.some((one) => formatIp(one) === formatIp(ip))) addresses.push(ip);
            },
            addRoute: nothing,
            replaceRoute: nothing,
            replaceNeighbour: nothing,
            deleteNeighbour: nothing,
        };
        write(batch as unknown as Batch);
        this.#machine.networksChanged(netns);
    }

    setLink(): Promise<void> {
        return Promise.resolve();
    }

    neighbours(): Promise<readonly Neighbour[]> {
        return Promise.resolve([]);
    }

    [Symbol.dispose](): void {
        // nothing to close
    }
}

function endOf({ ends, path }: Netns, index: number): NetnsEnd {
    const end = [...ends.values()].find((one) => one.index === index);
    if (end === undefined) throw new NetlinkError("ENODEV", "environment", `link ${index} is gone from ${path}`);
    return end;
}
