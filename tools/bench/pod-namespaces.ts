import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { Netlink } from "@antrea/netlink";
import { BenchError } from "./error.ts";

const goneLimitMs = 30_000;

/** Network namespaces for Pods, as a container runtime makes them. */
export class PodNamespaces implements Disposable {
    readonly #netlink = Netlink.open();

    /** Gives the paths. */
    add(...names: readonly string[]): readonly string[] {
        ip(names.map((name) => `netns add ${name}`));
        return names.map((name) => `/run/netns/${name}`);
    }

    /**
     * Ends them and waits until the kernel has taken the links in them away, which it does later and in the way of
     * whoever changes a link meanwhile.
     */
    async delete(...names: readonly string[]): Promise<void> {
        ip(names.map((name) => `netns delete ${name}`));
        const end = performance.now() + goneLimitMs;
        while ((await this.#podLinks()) > 0) {
            if (performance.now() > end)
                throw new BenchError("NOT_READY", "environment", "links of ended namespaces stay");
            await sleep(2);
        }
    }

    [Symbol.dispose](): void {
        this.#netlink[Symbol.dispose]();
    }

    async #podLinks(): Promise<number> {
        const links = await this.#netlink.links();
        return links.filter((link) => link.kind === "veth" && !link.name.startsWith("bench")).length;
    }
}

function ip(commands: readonly string[]): void {
    execFileSync("ip", ["-batch", "-"], { input: commands.join("\n") });
}
