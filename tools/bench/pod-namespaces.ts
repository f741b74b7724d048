import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { Netlink } from "@antrea/netlink";
import { BenchError } from "./error.ts";

/** The NIC of a Node with networks, and its far end. */
export const networksNic = ["bench-vlans", "bench-vlans-far"] as const;
/** The Node's own interfaces: those that sandbox.sh created, the NIC of a Node with peers and that of one with networks. */
const nodeLinks: readonly string[] = ["bench0", "bench1", "bench-nic", "bench-nic-far", ...networksNic];
/** Two thousand links take the kernel half a minute. */
const goneLimitMs = 180_000;

/** Network namespaces for Pods, as a container runtime creates them. */
export class PodNamespaces implements Disposable {
    readonly #netlink = Netlink.open();

    /** Returns the paths. */
    add(...names: readonly string[]): readonly string[] {
        ip(names.map((name) => `netns add ${name}`));
        return names.map((name) => `/run/netns/${name}`);
    }

    /** Deletes them and waits until the kernel has removed their links, which it does asynchronously. */
    async delete(...names: readonly string[]): Promise<void> {
        ip(names.map((name) => `netns delete ${name}`));
        const end = performance.now() + goneLimitMs;
        while ((await this.#podLinks()).length > 0) {
            if (performance.now() > end)
                throw new BenchError("NOT_READY", "environment", "links of ended namespaces stay");
            await sleep(2);
        }
    }

    /**
     * Removes the links of Pods and keeps their namespaces. Resolves when the kernel has finished: the removal of a
     * namespace continues in the background for some 100 ms and slows down the creation of links.
     */
    async clear(): Promise<void> {
        for (const index of await this.#podLinks()) await this.#netlink.deleteLink(index);
    }

    [Symbol.dispose](): void {
        this.#netlink[Symbol.dispose]();
    }

    async #podLinks(): Promise<readonly number[]> {
        const links = await this.#netlink.links();
        return links.filter((link) => link.kind === "veth" && !nodeLinks.includes(link.name)).map((link) => link.index);
    }
}

function ip(commands: readonly string[]): void {
    execFileSync("ip", ["-batch", "-"], { input: commands.join("\n") });
}
