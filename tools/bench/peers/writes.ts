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

/** A write to OVS or the kernel, whether or not it changed anything. */
export interface Write {
    readonly kind: "flow" | "route" | "neighbour";
    readonly deleted: boolean;
    /** The destination: a podCIDR, or the address of a neighbour. */
    readonly to: string;
    /** The tunnel destination, or the next hop of the route; "" if there is none. */
    readonly via: string;
    /** Time of the event, by `performance.now`. */
    readonly at: number;
}

/** Receives all writes of flows to a bridge, and of routes and neighbours to the kernel, since `open`. */
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
        // A flow monitor also reports a flow that is set again without a change.
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

    /** The writes after the first `count`. */
    since(count: number): readonly Write[] {
        return this.#all.slice(count);
    }

    /** Resolves with the time as soon as the condition is true. */
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

    /** Waits until the monitor reports a write to an unused table; before its first event it prints nothing. */
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

/** Parses a line of the flow monitor; undefined for other lines. */
export function flowWrite(line: string): Omit<Write, "at"> | undefined {
    const event = /\bevent=(ADDED|DELETED|MODIFIED|ABBREV)/.exec(line)?.[1];
    if (event === undefined) return undefined;
    const to = /\b(?:nw_dst|ipv6_dst)=([^, ]+)/.exec(line)?.[1] ?? "";
    const via = /set_field:([^,>]+)->tun_(?:ipv6_)?dst/.exec(line)?.[1] ?? "";
    return { kind: "flow", deleted: event === "DELETED", to, via };
}

/** Converts a kernel event; undefined for neighbours that are not gateways of other Nodes. */
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
            throw new BenchError("WRONG_RESULT", "environment", "the kernel reported more changes than were read");
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
