import { NetlinkError, type Batch, type Link, type Neighbour } from "@antrea/netlink";
import { type PodNamespaces } from "@antrea/agent/features/pod-network";
import { type Machine, type Netns } from "./machine.ts";

/** The simulated network namespaces of a machine. */
export function namespacesOf(machine: Machine): PodNamespaces {
    const find = (path: string): Netns => {
        const found = machine.netns.get(path);
        if (found === undefined) throw new NetlinkError("ENOENT", "environment", `network namespace ${path} is gone`);
        return found;
    };
    const openIn = (path: string): PodEnd => {
        find(path);
        return new PodEnd(() => find(path));
    };
    return {
        // The agent uses only these methods of Netlink.
        openIn: openIn as unknown as PodNamespaces["openIn"],
        setSysctl: (path) => void find(path),
        setTxChecksumOffload: (_ifName, _isOn, path) => void find(path),
    };
}

/** The Pod's end of a veth pair. */
class PodEnd implements Disposable {
    readonly #find: () => Netns;

    constructor(find: () => Netns) {
        this.#find = find;
    }

    async link(name: string): Promise<Pick<Link, "index" | "name" | "mac" | "mtu"> | undefined> {
        await Promise.resolve();
        const { hostIfName, mac } = this.#find();
        return hostIfName === undefined ? undefined : { index: 2, name, mac, mtu: 1450 };
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
            setLink: (_index: number, { mac }: { readonly mac?: string }) => (netns.mac = mac ?? netns.mac),
            replaceAddress: nothing,
            replaceRoute: nothing,
            replaceNeighbour: nothing,
            deleteNeighbour: nothing,
        };
        write(batch as unknown as Batch);
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
