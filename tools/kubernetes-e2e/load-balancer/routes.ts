import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { formatPrefix, type Prefix } from "@antrea/ip";

const run = promisify(execFile);

// A bridge without ports swallows what is sent to addresses that nobody has: clients see silence, as behind a balancer.
const device = "k8s-e2e-lb";
// Not of the network of the Nodes (RFC 2544): tests distinguish clients outside from Nodes by their network.
const source = "198.18.0.1";
// marks the routes as those of this program
const protocol = "185";
// 1: by addresses and ports, so that connections of one client are divided among Nodes
const hashPolicy = "/proc/sys/net/ipv4/fib_multipath_hash_policy";
// has the policy that was there before, so that a run after one that was killed sets it back
const alias = `/sys/class/net/${device}/ifalias`;

/**
 * The routes of this machine to the addresses of load balancers. Rejects, with the text of `ip`, when a command fails;
 * needs root.
 */
export class Routes {
    readonly #pool: Prefix;
    #policyBefore: string | undefined;

    constructor(pool: Prefix) {
        this.#pool = pool;
    }

    /** Makes the pool an address range that swallows packets; what an earlier run left behind is removed. */
    async open(): Promise<void> {
        const before = await this.#policyOfEarlierRun();
        await this.#remove();
        this.#policyBefore = before ?? (await readFile(hashPolicy, "utf8")).trim();
        await run("ip", ["link", "add", device, "type", "bridge"]);
        await run("ip", ["link", "set", device, "alias", this.#policyBefore]);
        await run("ip", ["link", "set", device, "arp", "off", "up"]);
        await run("ip", ["address", "add", `${source}/32`, "dev", device]);
        await run("ip", ["route", "add", formatPrefix(this.#pool), "dev", device, "src", source]);
        await writeFile(hashPolicy, "1");
    }

    /** Leads packets to the address by these Nodes; by none: they are swallowed again. */
    async set(address: string, nodes: readonly string[]): Promise<void> {
        if (nodes.length === 0) return void (await run("ip", ["route", "flush", address, "proto", protocol]));
        const hops = nodes.flatMap((node) => ["nexthop", "via", node]);
        await run("ip", ["route", "replace", address, "proto", protocol, "src", source, ...hops]);
    }

    /** Removes all that `open` and `set` made. */
    async close(): Promise<void> {
        await this.#remove();
        if (this.#policyBefore !== undefined) await writeFile(hashPolicy, this.#policyBefore);
    }

    async #policyOfEarlierRun(): Promise<string | undefined> {
        const text = await readFile(alias, "utf8").catch(() => "");
        return /^\d+$/.test(text.trim()) ? text.trim() : undefined;
    }

    async #remove(): Promise<void> {
        await run("ip", ["route", "flush", "proto", protocol]);
        const { stdout } = await run("ip", ["-brief", "link", "show", "type", "bridge"]);
        if (stdout.split("\n").some((line) => line.startsWith(`${device} `))) await run("ip", ["link", "del", device]);
    }
}
