import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BenchError } from "../error.ts";
import { within } from "../netns.ts";
import { cniPluginsPath, workPath } from "../paths.ts";
import { capacityOf24, type IpamSubject } from "./subject.ts";

const serverNamespace = "dhcp-server";
const bridge = "switch";
const readyLimitMs = 10_000;
/** The minimum of dnsmasq, in seconds. */
export const leaseSeconds = 120;

/**
 * containernetworking's `dhcp` with its daemon, and a DHCP server in a network namespace on one switch with all
 * containers.
 */
export interface DhcpSubject extends IpamSubject {
    /** Kills the daemon, which has the only record of leases on the Node. */
    loseDaemon(): Promise<void>;
}

/**
 * All containers get an interface on the switch before the measurement: creating it is not the work of an IPAM
 * plugin.
 */
export async function startDhcp(): Promise<DhcpSubject> {
    await using stack = new AsyncDisposableStack();
    const socketPath = workPath("dhcp.sock");
    const leases = workPath("dhcp.leases");
    const places = capacityOf24 + 1;
    const nameOf = (place: number): string => `dhcp-${place}`;
    const all = [serverNamespace, ...Array.from({ length: places }, (_, place) => nameOf(place))];
    stack.defer(() =>
        ip(
            [],
            all.map((name) => `netns delete ${name}`),
        ),
    );
    ip(
        [],
        all.map((name) => `netns add ${name}`),
    );
    const ports = Array.from({ length: places }, (_, place) => [
        `link add port-${place} master ${bridge} type veth peer name eth0 netns ${nameOf(place)}`,
        `link set port-${place} up`,
    ]);
    ip(
        ["-n", serverNamespace],
        [
            `link add ${bridge} address 02:00:0a:52:00:01 type bridge`,
            `address add 10.82.0.1/24 dev ${bridge}`,
            `link set ${bridge} up`,
            ...ports.flat(),
        ],
    );
    for (let place = 0; place < places; place++) ip(["-n", nameOf(place)], ["link set eth0 up"]);
    const options = ["--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--no-ping", "--user=root"];
    const range = `--dhcp-range=10.82.0.2,10.82.0.254,255.255.255.0,${leaseSeconds}s`;
    const server = start(
        `/run/netns/${serverNamespace}`,
        "dnsmasq",
        ...options,
        `--interface=${bridge}`,
        range,
        "--dhcp-authoritative",
        `--dhcp-leasefile=${leases}`,
        `--pid-file=${workPath("dnsmasq.pid")}`,
    );
    stack.defer(() => end(server));
    // By default an ADD without an offer is retried for minutes before it fails.
    const limits = ["-resendtimeout=15s"];
    const daemon = start(undefined, join(cniPluginsPath(), "dhcp"), "daemon", `-socketpath=${socketPath}`, ...limits);
    stack.defer(() => end(daemon));
    const limit = performance.now() + readyLimitMs;
    while (!existsSync(socketPath)) {
        if (performance.now() > limit)
            throw new BenchError("NOT_READY", "environment", "the dhcp daemon did not start");
        await sleep(20);
    }
    const parts = stack.move();
    return {
        id: "dhcp",
        title: "dhcp with dnsmasq",
        program: join(cniPluginsPath(), "dhcp"),
        environment: {},
        config: {
            cniVersion: "1.1.0",
            name: "bench-dhcp",
            type: "none",
            ipam: { type: "dhcp", daemonSocketPath: socketPath },
        },
        capacity: capacityOf24,
        netnsOf: (place) => `/run/netns/${nameOf(place)}`,
        taken: async () => leasesIn(existsSync(leases) ? readFileSync(leases, "utf8") : "", Date.now() / 1000),
        stored: async () => undefined,
        loseDaemon: () => end(daemon),
        [Symbol.asyncDispose]: () => parts.disposeAsync(),
    };
}

/** Number of unexpired leases in a leases file of dnsmasq, whose lines begin with the expiry time. */
export function leasesIn(text: string, nowSeconds: number): number {
    return text.split("\n").filter((line) => Number(/^(\d+) /.exec(line)?.[1] ?? 0) > nowSeconds).length;
}

function ip(options: readonly string[], commands: readonly string[]): void {
    execFileSync("ip", [...options, "-batch", "-"], { input: commands.join("\n") });
}

function start(netnsPath: string | undefined, ...command: readonly string[]): ChildProcess {
    const [program, args] = within(netnsPath, command);
    return spawn(program, args, { stdio: "ignore" });
}

async function end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
}
