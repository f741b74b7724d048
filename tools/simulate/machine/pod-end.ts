import { isNetlinkError, NetlinkError, NeighbourState, type Batch, type Link, type Neighbour } from "@antrea/netlink";
import { type Netns } from "./machine.ts";

export { isNetlinkError, NeighbourState };

/** Finds the namespace of a path, on whichever machine. */
let find: (path: string) => Netns | undefined = () => undefined;

/** Says where namespaces are found from now on. */
export function useNamespaces(finder: typeof find): void {
    find = finder;
}

/**
 * Stands in for @antrea/netlink where the agent sets up the Pod's end of a veth pair (pod-network/link.ts): that works in
 * a namespace of the kernel, which a simulated container does not have. See hooks.ts.
 */
export class Netlink implements Disposable {
    readonly #path: string;

    private constructor(path: string) {
        this.#path = path;
    }

    static openIn(path: string): Netlink {
        if (find(path) === undefined) throw gone(path);
        return new Netlink(path);
    }

    async link(name: string): Promise<Pick<Link, "index" | "name" | "mac" | "mtu"> | undefined> {
        await Promise.resolve();
        const netns = find(this.#path);
        return netns?.hostIfName === undefined ? undefined : { index: 2, name, mac: netns.mac, mtu: 1450 };
    }

    async batch(write: (batch: Batch) => void): Promise<void> {
        await Promise.resolve();
        const netns = find(this.#path);
        if (netns === undefined) throw gone(this.#path);
        const nothing = (): void => undefined;
        const batch = {
            setLink: (_index: number, { mac }: { readonly mac?: string }) => (netns.mac = mac ?? netns.mac),
            ...{ replaceAddress: nothing, replaceRoute: nothing, replaceNeighbour: nothing, deleteNeighbour: nothing },
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
        // nothing is open
    }
}

export function setSysctl(path: string): void {
    if (find(path) === undefined) throw gone(path);
}

export function setTxChecksumOffload(): void {
    // no frame is ever sent
}

function gone(path: string): NetlinkError {
    return new NetlinkError("ENOENT", "environment", `network namespace ${path} is gone`);
}
