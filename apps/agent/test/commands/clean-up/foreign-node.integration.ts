import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getSysctl, setSysctl } from "@antrea/netlink";
import { cleanUpCommand } from "../../../src/commands/clean-up-command.ts";
import { OwnNamespace } from "../../support/namespace.ts";

const nothingLeft = "Nothing of Antrea is left on this Node.";
let node: OwnNamespace;
let host: string;
/** lo, and what modules of the kernel put into each new network namespace, as gre0. */
let atBirth: readonly string[];

/** A Node with a bridge and a gateway of the same names as ours, as another plugin has them. */
beforeEach(() => {
    node = OwnNamespace.enter();
    atBirth = links();
    host = mkdtempSync(join(tmpdir(), "host-"));
    for (const folder of ["etc/cni/net.d", "opt/cni/bin", "var/lib", "var/run", "image"]) {
        mkdirSync(join(host, folder), { recursive: true });
    }
    for (const name of ["br-int", "antrea-gw0", "ovs-netdev"])
        execFileSync("ip", ["tuntap", "add", name, "mode", "tap"]);
});

afterEach(() => {
    node[Symbol.dispose]();
    rmSync(host, { recursive: true, force: true });
});

async function cleanUp(...more: readonly string[]): Promise<{ readonly code: number; readonly lines: string[] }> {
    const lines: string[] = [];
    const args = ["--host", host, "--binaries", join(host, "image"), ...more];
    return { code: await cleanUpCommand(args, (line) => void lines.push(line)), lines };
}

const links = (): readonly string[] =>
    [...execFileSync("ip", ["-o", "link"], { encoding: "utf8" }).matchAll(/^\d+: ([^:@]+)/gm)].map(
        ([, name]) => name ?? "",
    );

function writeState(folder: string, name: string, text: string): void {
    mkdirSync(join(host, folder), { recursive: true });
    writeFileSync(join(host, folder, name), text);
}

it("leaves devices alone that only have our names, also when it is run again", async () => {
    const before = links();
    expect(await cleanUp()).toEqual({ code: 0, lines: [nothingLeft] });
    expect(await cleanUp()).toEqual({ code: 0, lines: [nothingLeft] });
    // what a clean-up leaves where OVS still ran
    mkdirSync(join(host, "var/lib/antrea/openvswitch"), { recursive: true });
    expect((await cleanUp()).code).toBe(0);
    expect(links()).toEqual(before);
});

it.each([
    ["the CNI configuration", (): void => writeState("etc/cni/net.d", "10-antrea.conflist", "{}"), []],
    ["a file of the agent", (): void => writeState("var/lib/antrea", "sysctls.json", "{}"), []],
    ["the name on the command line", (): void => undefined, ["--bridge", "br-int"]],
] as const)("removes them where %s shows that Antrea was there", async (_, put, args) => {
    put();
    expect((await cleanUp(...args)).code).toBe(0);
    expect(links()).toEqual(atBirth);
});

it.each([
    ["leaves forwarding on while another network configuration is there", "05-other.conflist", "1"],
    ["sets forwarding back where none is", "notes.txt", "0"],
])("%s", async (_, file, after) => {
    setSysctl(undefined, "net/ipv4/ip_forward", "1");
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const changes = { "net/ipv4/ip_forward": { before: "0", after: "1" } };
    writeState("var/lib/antrea", "sysctls.json", JSON.stringify({ bootId, changes }));
    writeState("etc/cni/net.d", "10-antrea.conflist", "{}");
    writeState("etc/cni/net.d", file, '{"plugins":[{"type":"other"}]}');
    const { code, lines } = await cleanUp();
    expect([code, lines.at(-1)]).toEqual([0, nothingLeft]);
    expect(getSysctl(undefined, "net/ipv4/ip_forward")).toBe(after);
    const other = join(host, "etc/cni/net.d/05-other.conflist");
    const kept = `Kept the sysctls as they are: the network of ${other} may need them.`;
    expect(lines.filter((line) => line.startsWith("Kept"))).toEqual(after === "1" ? [kept] : []);
});
