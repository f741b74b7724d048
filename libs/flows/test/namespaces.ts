import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { formatIp, formatMac, type IpAddress } from "@antrea/ip";

const run = promisify(execFile);

/** A network namespace with the interface `eth0`, or others besides, whose packets carry whole checksums. */
export class Namespace implements AsyncDisposable {
    readonly name: string;
    readonly #children: ChildProcess[] = [];

    private constructor(name: string) {
        this.name = name;
    }

    static async create(): Promise<Namespace> {
        const namespace = new Namespace(`flows-${Math.random().toString(36).slice(2, 10)}`);
        await run("ip", ["netns", "add", namespace.name]);
        await namespace.exec("ip", "link", "set", "lo", "up");
        return namespace;
    }

    /** A veth pair with `eth0` inside; gives the name of the end outside, which is up. */
    async addVeth(mac: Uint8Array): Promise<string> {
        const outside = this.name.replace("flows-", "veth-");
        const peer = ["peer", "name", "eth0", "netns", this.name, "address", formatMac(mac)];
        await run("ip", ["link", "add", outside, "type", "veth", ...peer]);
        await run("ip", ["link", "set", outside, "up"]);
        await run("ethtool", ["-K", outside, "tx", "off"]);
        return outside;
    }

    /** Takes an existing device in. */
    async take(device: string, mac: Uint8Array, name = "eth0"): Promise<void> {
        await run("ip", ["link", "set", device, "netns", this.name, "name", name, "address", formatMac(mac)]);
    }

    /** Brings an interface up with its addresses, and the default routes. */
    async configure(ips: readonly IpAddress[], gateways: readonly IpAddress[] = [], name = "eth0"): Promise<void> {
        await this.exec("ethtool", "-K", name, "tx", "off");
        await this.exec("ip", "link", "set", name, "up");
        for (const ip of ips) {
            const length = ip.family === 4 ? 24 : 64;
            const noDad = ip.family === 4 ? [] : ["nodad"];
            await this.exec("ip", "address", "add", `${formatIp(ip)}/${length}`, "dev", name, ...noDad);
        }
        for (const gateway of gateways) {
            await this.exec("ip", `-${gateway.family}`, "route", "add", "default", "via", formatIp(gateway));
        }
    }

    /** Runs a program inside and gives what it printed; rejects when it fails. */
    async exec(program: string, ...args: readonly string[]): Promise<string> {
        return (await run("ip", ["netns", "exec", this.name, program, ...args])).stdout;
    }

    /** Whether three packets to this address are all answered. */
    async pings(address: string, ...options: readonly string[]): Promise<boolean> {
        const args = ["-c", "3", "-i", "0.05", "-W", "5", ...options, address];
        return this.exec("ping", ...args).then(
            (output) => output.includes(" 0% packet loss"),
            () => false,
        );
    }

    /** Starts a Node.js program inside, ends with the namespace; resolves when it has printed its first line. */
    async start(code: string, ...args: readonly string[]): Promise<Talk> {
        const command = ["netns", "exec", this.name, process.execPath, "-e", code, "--", ...args];
        const child = spawn("setpriv", ["--pdeathsig", "KILL", "ip", ...command], {
            stdio: ["pipe", "pipe", "inherit"],
        });
        this.#children.push(child);
        const talk = new Talk(child);
        await talk.line();
        return talk;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const child of this.#children) {
            if (child.exitCode !== null || child.signalCode !== null) continue;
            child.kill("SIGKILL");
            await once(child, "exit");
        }
        await run("ip", ["netns", "delete", this.name]);
    }
}

/** A running program that answers each line with a line. */
export class Talk {
    readonly #child: ChildProcess;
    readonly #lines: string[] = [];
    #rest = "";

    constructor(child: ChildProcess) {
        this.#child = child;
        child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
            const parts = (this.#rest + chunk).split("\n");
            this.#rest = parts.pop() ?? "";
            this.#lines.push(...parts);
        });
    }

    async send(text: string): Promise<string> {
        this.#child.stdin?.write(`${text}\n`);
        return this.line();
    }

    async line(): Promise<string> {
        while (this.#lines.length === 0) {
            if (this.#child.exitCode !== null) return `ended with ${this.#child.exitCode}`;
            await Promise.race([once(this.#child.stdout ?? this.#child, "data"), once(this.#child, "exit")]);
        }
        return this.#lines.shift() ?? "";
    }
}
