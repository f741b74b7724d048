import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import koffi from "koffi";

const CLONE_NEWNET = 0x4000_0000;
const setns = koffi.load("libc.so.6").func("setns", "int", ["int", "int"]);

/**
 * The test's thread in a network namespace of its own, from `enter` to disposal: what it starts and looks at there
 * meets nothing of the machine. Paths, and so unix sockets, are those of the machine.
 */
export class OwnNamespace implements Disposable {
    readonly #machine: number;
    readonly #netns: TestNetns;

    private constructor(machine: number, netns: TestNetns) {
        this.#machine = machine;
        this.#netns = netns;
    }

    static enter(): OwnNamespace {
        const machine = openSync("/proc/thread-self/ns/net", constants.O_RDONLY);
        const netns = new TestNetns("node");
        change(netns.path);
        execFileSync("ip", ["link", "set", "lo", "up"]);
        return new OwnNamespace(machine, netns);
    }

    [Symbol.dispose](): void {
        if (setns(this.#machine, CLONE_NEWNET) !== 0) throw new Error("cannot return to the machine's namespace");
        closeSync(this.#machine);
        this.#netns[Symbol.dispose]();
    }
}

function change(path: string): void {
    const fd = openSync(path, constants.O_RDONLY);
    try {
        if (setns(fd, CLONE_NEWNET) !== 0) throw new Error(`cannot enter ${path}`);
    } finally {
        closeSync(fd);
    }
}

/** Lines for ip(8), which would be a process each; `netns` by name (default: the thread's own), IPv4 unless `family` is 6. */
export function ipBatch(
    lines: readonly string[],
    { netns, family }: { readonly netns?: string; readonly family?: 6 } = {},
): void {
    const options = [...(netns === undefined ? [] : ["-n", netns]), ...(family === undefined ? [] : ["-6"])];
    execFileSync("ip", [...options, "-batch", "-"], { input: lines.map((line) => `${line}\n`).join("") });
}

/** A named network namespace, removed at disposal with what is in it. */
export class TestNetns implements Disposable {
    readonly name: string;
    #there = true;

    constructor(prefix: string) {
        this.name = `antrea-${prefix}-${randomBytes(4).toString("hex")}`;
        execFileSync("ip", ["netns", "add", this.name]);
    }

    get path(): string {
        return `/var/run/netns/${this.name}`;
    }

    /** Runs a command inside and gives what it prints. */
    run(...command: readonly string[]): string {
        return execFileSync("ip", ["netns", "exec", this.name, ...command], {
            encoding: "utf8",
            stdio: ["ignore", "pipe", "pipe"],
        });
    }

    remove(): void {
        if (this.#there) execFileSync("ip", ["netns", "del", this.name]);
        this.#there = false;
    }

    [Symbol.dispose](): void {
        this.remove();
    }
}
