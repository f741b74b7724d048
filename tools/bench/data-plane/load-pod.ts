import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { BenchError } from "../error.ts";
import { Helper } from "../helper.ts";
import { runWithin, within } from "../netns.ts";

/** The quantities measured between two Pods. */
export const loads = ["throughput", "requests", "connections"] as const;
export type Load = (typeof loads)[number];

/** TCP ports of a Pod: of requests and connections, and of throughput. */
export interface LoadPorts {
    readonly load: number;
    readonly iperf: number;
}

/** The ports on which a Pod listens. */
export const ownPorts: LoadPorts = { load: 5_001, iperf: 5_201 };
const throughputSeconds = 1;
const runMs = 600;
const readyLimitMs = 5_000;

/** A Pod's network namespace with both endpoints of every load in it. */
export class LoadPod implements AsyncDisposable {
    readonly netnsPath: string;
    readonly ip: string;
    readonly #ports: LoadPorts;
    readonly #helper: Helper;
    readonly #stack: AsyncDisposableStack;

    private constructor(
        { netnsPath, ip, ports }: { readonly netnsPath: string; readonly ip: string; readonly ports: LoadPorts },
        helper: Helper,
        stack: AsyncDisposableStack,
    ) {
        this.netnsPath = netnsPath;
        this.ip = ip;
        this.#ports = ports;
        this.#helper = helper;
        this.#stack = stack;
    }

    /** The namespace must have its address already. */
    static async start(netnsPath: string, ip: string): Promise<LoadPod> {
        await using stack = new AsyncDisposableStack();
        // Thousands of connections to one port within a minute.
        runWithin(netnsPath, "sysctl", "-qw", "net.ipv4.ip_local_port_range=1024 65535", "net.ipv4.tcp_tw_reuse=1");
        const helper = stack.use(new Helper("data-plane/load.ts", { netnsPath }));
        await helper.ask("listen", { port: ownPorts.load });
        const [program, args] = within(netnsPath, ["iperf3", "--server", "--port", String(ownPorts.iperf)]);
        const iperf = spawn(program, args, { stdio: ["ignore", "ignore", "ignore"] });
        stack.defer(() => void iperf.kill());
        return new LoadPod({ netnsPath, ip, ports: ownPorts }, helper, stack.move());
    }

    /** The same Pod, reached at another address, or at other ports that lead to its own. */
    reachedAt(ip: string, ports: LoadPorts = ownPorts): LoadPod {
        return new LoadPod({ netnsPath: this.netnsPath, ip, ports }, this.#helper, this.#stack);
    }

    /** Waits until another Pod answers. */
    async reaches(other: LoadPod): Promise<void> {
        const end = performance.now() + readyLimitMs;
        for (;;) {
            try {
                runWithin(this.netnsPath, "ping", "-n", "-q", "-c", "1", "-W", "1", other.ip);
                return;
            } catch (cause) {
                if (performance.now() < end) continue;
                const what = `${this.netnsPath} does not reach ${other.ip}`;
                throw new BenchError("NOT_READY", "environment", what, { cause });
            }
        }
    }

    /** Waits until another Pod accepts connections at its port of requests. */
    async connects(other: LoadPod): Promise<void> {
        const end = performance.now() + readyLimitMs;
        const target = `${other.ip}/${other.#ports.load}`;
        for (;;) {
            try {
                runWithin(this.netnsPath, "timeout", "1", "bash", "-c", `exec 3<>/dev/tcp/${target}`);
                return;
            } catch (cause) {
                if (performance.now() < end) continue;
                const what = `${this.netnsPath} does not connect to ${target}`;
                throw new BenchError("NOT_READY", "environment", what, { cause });
            }
        }
    }

    /**
     * Runs a load to another Pod, throughput for a second and the others for `ms`; returns Mbit/s of TCP, else a rate
     * per second.
     */
    async measure(load: Load, other: LoadPod, ms = runMs): Promise<number> {
        if (load === "throughput") return this.#throughput({ ip: other.ip, ports: other.#ports });
        const answered = other.#helper.ask<number>("answer");
        const rate = await this.#helper.ask<number>(load, { ip: other.ip, port: other.#ports.load, ms });
        await answered;
        return rate;
    }

    async #throughput({ ip, ports }: { readonly ip: string; readonly ports: LoadPorts }): Promise<number> {
        const options = ["--client", ip, "--port", String(ports.iperf), "--time", String(throughputSeconds), "--json"];
        const [program, args] = within(this.netnsPath, ["iperf3", ...options]);
        const { stdout } = await promisify(execFile)(program, [...args]);
        return receivedMbits(stdout);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}

/** Megabits per second that the receiver got, from the JSON of iperf3. */
export function receivedMbits(json: string): number {
    const answer = JSON.parse(json) as {
        readonly end?: { readonly sum_received?: { readonly bits_per_second: number } };
    };
    const bits = answer.end?.sum_received?.bits_per_second;
    if (bits === undefined) throw new BenchError("WRONG_RESULT", "environment", `iperf3 printed no result: ${json}`);
    return bits / 1e6;
}
