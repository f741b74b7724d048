import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";

/** Network namespaces of one test; disposal removes them with all their links. */
export class TestNamespaces implements Disposable {
    readonly #names: string[] = [];

    /** Creates a namespace and returns its path. */
    add(): string {
        const name = `nl-${randomBytes(4).toString("hex")}`;
        execFileSync("ip", ["netns", "add", name]);
        this.#names.push(name);
        return `/var/run/netns/${name}`;
    }

    [Symbol.dispose](): void {
        for (const name of this.#names.splice(0)) execFileSync("ip", ["netns", "del", name]);
    }
}

/** A link name that no other link has. */
export function uniqueName(): string {
    return `nl${randomBytes(5).toString("hex")}`;
}

/** Runs a command in a namespace and returns its output. */
export function runIn(netnsPath: string, ...command: readonly string[]): string {
    return execFileSync("ip", ["netns", "exec", netnsPath.slice(netnsPath.lastIndexOf("/") + 1), ...command], {
        encoding: "utf8",
    });
}

/** The parsed output of `ip -j -d` in a namespace. */
export function ipJson(netnsPath: string, ...command: readonly string[]): readonly Record<string, unknown>[] {
    const name = netnsPath.slice(netnsPath.lastIndexOf("/") + 1);
    const text = execFileSync("ip", ["-n", name, "-j", "-d", ...command], { encoding: "utf8" });
    return text.trim() === "" ? [] : (JSON.parse(text) as Record<string, unknown>[]);
}
