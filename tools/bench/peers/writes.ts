import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { tunnelMac } from "@antrea/flows";
import { formatIp, formatMac, formatPrefix } from "@antrea/ip";
import { Netlink, type NetlinkEvent } from "@antrea/netlink";
import { type PrivateOvs } from "@antrea/openflow/testing";
import { BenchError } from "../error.ts";

const readyLimitMs = 10_000;
const settleMs = 100;
const unusedTable = 253;

/** Something that was written into OVS or the kernel, the same as it was before or not. */
export interface Write {
    readonly kind: "flow" | "route" | "neighbour";
    readonly deleted: boolean;
    /** What it leads to: a podCIDR, or the address of a neighbour. */
    readonly to: string;
    /** The end of the tunnel, or the next hop of the route; "" where there is none. */
    readonly via: string;
    /** When it was told, on the clock of `performance.now`. */
    readonly at: number;
}

/** Hears of every write of flows into a bridge, and of routes and neighbours into the kernel, from `open` on. */
export class Writes implements AsyncDisposable {
    readonly #all: Write[] = [];
    readonly #stack: AsyncDisposableStack;
    #changed = Promise.withResolvers<void>();

    private constructor(stack: AsyncDisposableStack) {
        this.#stack = stack;
    }

    static async open(ovs: PrivateOvs, bridge: string): Promise<Writes> {
        const stack = new AsyncDisposableStack();
        const writes = new Writes(stack);
        const netlink = stack.use(Netlink.open());
        stack.use(netlink.subscribe(["route", "neighbour"], (event) => writes.#add(kernelWrite(event))));
        // A flow monitor is told of a flow that is set again too, even if nothing of it differs.
        const args = ["-O", "OpenFlow15", "monitor", bridge, "watch:!initial"];
        const monitor = spawn("ovs-ofctl", args, { env: ovs.env, stdio: ["ignore", "ignore", "pipe"] });
        stack.defer(() => ended(monitor));
        createInterface({ input: monitor.stderr }).on("line", (line) => writes.#add(flowWrite(line)));
        await writes.#hears(ovs, bridge);
        return writes;
    }

    get count(): number {
        return this.#all.length;
    }

    /** Those that came after the first `count`. */
    since(count: number): readonly Write[] {
        return this.#all.slice(count);
    }

    /** Resolves as soon as it is true, with the time. */
    async until(isDone: () => boolean, limitMs: number): Promise<number> {
        const end = performance.now() + limitMs;
        while (!isDone()) {
            const left = end - performance.now();
            if (left <= 0) throw new BenchError("NOT_READY", "environment", "the writes that must come did not come");
            const timer = setTimeout(() => this.#changed.resolve(), left);
            await this.#changed.promise;
            clearTimeout(timer);
        }
        return performance.now();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }

    /** The monitor says nothing before the first write: one of a flow in a table that nobody uses. */
    async #hears(ovs: PrivateOvs, bridge: string): Promise<void> {
        const end = performance.now() + readyLimitMs;
        while (this.count === 0) {
            if (performance.now() > end) throw new BenchError("NOT_READY", "environment", "the flow monitor is silent");
            await ovs.ofctl("add-flow", bridge, `table=${unusedTable},priority=1,actions=drop`);
            await ovs.ofctl("--strict", "del-flows", bridge, `table=${unusedTable},priority=1`);
            await sleep(settleMs);
        }
    }

    #add(write: Omit<Write, "at"> | undefined): void {
        if (write === undefined) return;
        this.#all.push({ ...write, at: performance.now() });
        this.#changed.resolve();
        this.#changed = Promise.withResolvers();
    }
}

/** A line of the flow monitor; undefined for lines that tell of no flow. */
export function flowWrite(line: string): Omit<Write, "at"> | undefined {
    const event = /\bevent=(ADDED|DELETED|MODIFIED|ABBREV)/.exec(line)?.[1];
    if (event === undefined) return undefined;
    const to = /\b(?:nw_dst|ipv6_dst)=([^, ]+)/.exec(line)?.[1] ?? "";
    const via = /set_field:([^,>]+)->tun_(?:ipv6_)?dst/.exec(line)?.[1] ?? "";
    return { kind: "flow", deleted: event === "DELETED", to, via };
}

/** An event of the kernel; undefined for neighbours that are none of gateways of other Nodes. */
export function kernelWrite(event: NetlinkEvent): Omit<Write, "at"> | undefined {
    switch (event.type) {
        case "route": {
            const { dst, via } = event.route;
            const text = via === undefined ? "" : formatIp(via);
            return { kind: "route", deleted: event.deleted, to: formatPrefix(dst), via: text };
        }
        case "neighbour": {
            const { ip, mac } = event.neighbour;
            return mac === peerMac
                ? { kind: "neighbour", deleted: event.deleted, to: formatIp(ip), via: "" }
                : undefined;
        }
        case "overrun":
            throw new BenchError("WRONG_RESULT", "environment", "the kernel told of more changes than were read");
        case "error":
            throw event.error;
        case "link":
        case "address":
            return undefined;
    }
}

const peerMac = formatMac(tunnelMac);

async function ended(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = new Promise((resolve) => child.once("exit", resolve));
    child.kill();
    await exit;
}
