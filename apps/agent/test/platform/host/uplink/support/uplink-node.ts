import { afterAll } from "@jest/globals";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTxChecksumOffload } from "@antrea/netlink";
import { PrivateOvs } from "@antrea/openflow/testing";
import { ipBatch, OwnNamespace, TestNetns } from "../../../../support/namespace.ts";
import { hostOfPort, linkGroup, uplinkOfPort, type ProgramInput } from "./input.ts";

const ownProgram = fileURLToPath(new URL("program.ts", import.meta.url));
const modules = fileURLToPath(new URL("../../../../../../../node_modules", import.meta.url));
const apiPort = 6443;

export interface Ended {
    readonly code: number | null;
    readonly signal: string | null;
    readonly reported: readonly Record<string, unknown>[];
    readonly log: string;
}

/**
 * A Node with a NIC, an Open vSwitch and a router at the other end of the NIC, on which the API server is too. Each is in
 * a network namespace of its own.
 */
export class UplinkNode implements AsyncDisposable {
    readonly nic = "eth0";
    readonly bridge = "br-int";
    readonly folder = mkdtempSync(join(tmpdir(), "uplink-"));
    readonly router: TestNetns;
    readonly ovs: PrivateOvs;
    readonly #program: string;
    readonly #namespace: OwnNamespace;
    readonly #programs = new Set<ChildProcess>();

    private constructor(namespace: OwnNamespace, router: TestNetns, ovs: PrivateOvs, source: string) {
        this.#program = bundled(source);
        this.#namespace = namespace;
        this.router = router;
        this.ovs = ovs;
    }

    /** @param source another program for the agent; it takes at least what that of this folder does to serve */
    static async start(source = ownProgram): Promise<UplinkNode> {
        const namespace = OwnNamespace.enter();
        const router = new TestNetns("router");
        const ovs = await PrivateOvs.start();
        const node = new UplinkNode(namespace, router, ovs, source);
        await node.#wire();
        await node.serve();
        return node;
    }

    /** Runs an agent's actions to their end, or to the kill. */
    run(input: Partial<ProgramInput>): Promise<Ended> {
        return this.begin(input).ended;
    }

    /** Starts an agent that waits after its first action; `go` has it do the others. */
    async pause(
        input: Partial<ProgramInput>,
    ): Promise<{ readonly reported: string; readonly go: () => Promise<Ended> }> {
        const { child, ended } = this.begin(input);
        const reported = await new Promise<string>((resolve) => child.stdout?.once("data", resolve));
        return { reported, go: () => (child.stdin?.end("go"), ended) };
    }

    begin(input: Partial<ProgramInput>): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
        const whole: ProgramInput = {
            actions: [],
            dbSocket: this.ovs.dbSocket,
            folder: this.folder,
            bridge: this.bridge,
            nic: this.nic,
            api: { host: "10.99.0.1", port: apiPort },
            ...input,
        };
        const args = [this.#program, JSON.stringify(whole)];
        const { NODE_OPTIONS: _, ...env } = process.env;
        const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"], env });
        return { child, ended: this.#end(child) };
    }

    /** The API server. */
    async serve(): Promise<void> {
        const input = JSON.stringify({ serve: apiPort });
        const { NODE_OPTIONS: _, ...env } = process.env;
        const child = spawn("ip", ["netns", "exec", this.router.name, process.execPath, this.#program, input], {
            stdio: ["ignore", "pipe", "inherit"],
            env,
        });
        this.#programs.add(child);
        await new Promise((resolve) => child.stdout?.once("data", resolve));
    }

    /** What must be as it was: everything `ip` shows of the Node, without what only shows the time, and these links. */
    truth(...without: readonly string[]): Readonly<Record<string, unknown>> {
        const links = json("-d", "addr").filter(
            ({ ifname }) => !["lo", "ovs-netdev", this.bridge, ...without].includes(String(ifname)),
        );
        return {
            links: links.map(withoutTime),
            routes4: json("-4", "-N", "route", "show", "table", "all").map(withoutTime),
            routes6: json("-6", "-N", "route", "show", "table", "all").map(withoutTime).filter(isOfNic).sort(byText),
            rules: [...json("-4", "rule"), ...json("-6", "rule")],
            permanent: json("neigh", "show", "nud", "permanent"),
        };
    }

    /** What the pipeline does for uplink and host port. */
    async addFlows(): Promise<void> {
        for (const [from, to] of [
            [uplinkOfPort, hostOfPort],
            [hostOfPort, uplinkOfPort],
        ]) {
            await this.ovs.ofctl("add-flow", this.bridge, `in_port=${from},actions=output:${to}`);
        }
    }

    reaches(address = "10.99.0.1"): boolean {
        try {
            execFileSync("ping", ["-c1", "-W1", "-n", address], { stdio: "ignore" });
            return true;
        } catch {
            return false;
        }
    }

    ip(...args: readonly string[]): string {
        return ip(...args);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const child of this.#programs) child.kill("SIGKILL");
        await this.ovs[Symbol.asyncDispose]();
        this.router[Symbol.dispose]();
        this.#namespace[Symbol.dispose]();
        rmSync(this.folder, { recursive: true, force: true });
    }

    async #end(child: ChildProcess): Promise<Ended> {
        this.#programs.add(child);
        let output = "";
        let log = "";
        child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
        child.stderr?.setEncoding("utf8").on("data", (text: string) => (log += text));
        const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
            child.once("close", (one, other) => resolve([one, other]));
        });
        this.#programs.delete(child);
        const reported = output
            .split("\n")
            .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
        return { code, signal, reported, log };
    }

    async #wire(): Promise<void> {
        const { nic, router } = this;
        execFileSync("nft", ["-f", "-"], { input: guard });
        const node = String(process.pid);
        ipBatch(
            [
                `link add r0 type veth peer name ${nic} netns ${node}`,
                "link set lo up",
                "link set r0 up",
                "addr add 10.99.0.1/24 dev r0",
                "addr add 192.168.77.1/30 dev r0",
                "addr add fd99::1/64 dev r0 nodad",
                "addr add fe80::99/64 dev r0 nodad",
            ],
            { netns: router.name },
        );
        setTxChecksumOffload("r0", false, router.path);
        configureNic(nic);
        await this.ovs.addBridge(this.bridge);
        await this.addFlows();
        await eventuallyUsable(nic);
    }
}

const programs = new Map<string, string>();

/** A program as one file, made once: it starts several times as fast, and there are some hundred starts. */
function bundled(source: string): string {
    const made = programs.get(source) ?? bundle(source);
    programs.set(source, made);
    return made;
}

afterAll(() => {
    for (const program of programs.values()) rmSync(dirname(program), { recursive: true, force: true });
});

function bundle(source: string): string {
    const folder = mkdtempSync(join(tmpdir(), "uplink-program-"));
    const file = join(folder, "program.mjs");
    symlinkSync(modules, join(folder, "node_modules"));
    const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
    const options = ["--bundle", "--platform=node", "--format=esm", "--external:koffi", "--log-level=warning"];
    execFileSync(join(modules, ".bin/esbuild"), [source, ...options, `--banner:js=${banner}`, `--outfile=${file}`]);
    return file;
}

/** A NIC with one of everything that must survive. */
export function configureNic(nic: string): void {
    const lines = [
        `link set ${nic} mtu 1480 up`,
        `link property add dev ${nic} altname enp0s31f6 altname a-name-longer-than-fifteen`,
        `addr add 10.99.0.2/24 brd + dev ${nic}`,
        `addr add 10.99.0.3/24 dev ${nic} label ${nic}:vip`,
        `addr add 192.168.77.2/30 dev ${nic} metric 77`,
        `addr add 10.99.0.50/24 dev ${nic} valid_lft 3600 preferred_lft 1800`,
        `addr add 10.88.0.1 peer 10.88.0.2/32 dev ${nic}`,
        `addr add 10.77.0.1/24 dev ${nic} noprefixroute`,
        `addr add fd99::2/64 dev ${nic} nodad`,
        `addr add fd99::3/64 dev ${nic} valid_lft 7200 preferred_lft 3600`,
        `route add default via 10.99.0.1 dev ${nic} metric 100 src 10.99.0.2`,
        `route add 10.77.0.0/24 dev ${nic} proto kernel scope link src 10.77.0.1 metric 600`,
        `route add 198.51.100.0/24 via 10.99.0.1 dev ${nic} table 1000 proto 42 mtu lock 1300 advmss 1200 initcwnd 20`,
        `route add 203.0.113.0/24 via 198.18.0.1 dev ${nic} onlink proto static`,
        `route append 203.0.113.0/24 via 198.18.0.2 dev ${nic} onlink proto static`,
        `route add 100.64.0.0/10 via inet6 fe80::99 dev ${nic}`,
        `route add 192.0.2.0/24 tos 0x10 dev ${nic} scope link congctl cubic`,
        `neigh add 10.99.0.77 lladdr 02:00:00:00:00:77 nud permanent dev ${nic}`,
        `neigh add fd99::77 lladdr 02:00:00:00:00:78 nud permanent dev ${nic}`,
        `rule add iif ${nic} to 198.51.100.0/24 lookup 1000 pref 500`,
    ];
    const routes6 = [
        `route add default via fe80::99 dev ${nic} metric 1024 pref high`,
        `route add 2001:db8:1::/48 via fd99::1 dev ${nic} metric 50 mtu 1400 expires 5400 proto ra`,
        `route add 2001:db8:2::/48 dev ${nic} table 2000 src fd99::2`,
    ];
    const settings = [
        `net.ipv4.conf.${nic}.rp_filter=2`,
        `net.ipv4.conf.${nic}.proxy_arp=1`,
        `net.ipv6.conf.${nic}.dad_transmits=0`,
    ];
    execFileSync("sysctl", ["-qw", ...settings]);
    ipBatch(lines);
    ipBatch(routes6, { family: 6 });
}

const guard = (["inet", "arp"] as const)
    .map(
        (family) => `table ${family} antrea-guard {
  chain pods {
    type filter hook ${family === "inet" ? "prerouting priority raw" : "input priority filter"}; policy accept;
    iifgroup ${linkGroup} drop
  }
}`,
    )
    .join("\n");

/** The kernel detects duplicates of IPv6 addresses first. */
async function eventuallyUsable(nic: string): Promise<void> {
    while (ip("addr", "show", "dev", nic).includes("tentative"))
        await new Promise((resolve) => setTimeout(resolve, 50));
}

function ip(...args: readonly string[]): string {
    return execFileSync("ip", args, { encoding: "utf8" });
}

function json(...args: readonly string[]): Record<string, unknown>[] {
    const text = ip("-j", ...args);
    return text.trim() === "" ? [] : (JSON.parse(text) as Record<string, unknown>[]);
}

const timeKeys = new Set(["valid_life_time", "preferred_life_time", "expires", "age", "used"]);
const forEver = 0xffffffff;

/**
 * Lifetimes, in seconds, by the half-hours that they take. Those of the Node are whole half-hours at first, so that none
 * changes here within the first.
 */
function withoutTime(value: Record<string, unknown>): Record<string, unknown> {
    return JSON.parse(JSON.stringify(value), (key, item: unknown) => {
        if (!timeKeys.has(key) || item === forEver) return item;
        return `about ${Math.ceil(Number(item) / 1800) / 2} h`;
    }) as Record<string, unknown>;
}

/** IPv6 routes of the loopback interface are listed in an order of the kernel's own. */
function isOfNic({ dev }: Record<string, unknown>): boolean {
    return dev !== "lo" && dev !== "br-int" && dev !== "ovs-netdev";
}

function byText(one: object, other: object): number {
    return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}
