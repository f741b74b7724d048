import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getSysctl, setSysctl } from "@antrea/netlink";
import { cleanUpCommand } from "../../../src/commands/clean-up-command.ts";
import { HostFirewall } from "../../../src/features/host-filter/firewall/index.ts";
import { HostInputFilter } from "../../../src/features/host-filter/input-filter/index.ts";
import { podLinkGroup } from "../../../src/platform/kernel-ids.ts";
import { rulesGeneration, runNft } from "../../../src/platform/nftables.ts";
import { runProgram } from "../../../src/platform/program.ts";
import { silentLogger } from "../../support/logger.ts";
import { TestNode, type TestAgent } from "../../support/test-node.ts";
import { TestPod } from "../../support/test-pod.ts";

let node: TestNode;
let agent: TestAgent;
let pod: TestPod;
let host: string;
let before: string;
let stopped: boolean;

const run = (program: string, ...args: readonly string[]): string => execFileSync(program, args, { encoding: "utf8" });

/** All that the network of the Node consists of, as its tools show it. */
function network(): string {
    const rules = ["iptables-nft", "ip6tables-nft", "iptables-legacy"].map((program) => run(program, "-S"));
    const links = run("ip", "-o", "link").replaceAll(/^\d+: ([^:@]+).*$/gm, "$1");
    const sysctls = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"].map((key) => getSysctl(undefined, key));
    const all = [
        run("ip", "route"),
        run("ip", "-6", "route"),
        run("ip", "route", "show", "table", "all", "proto", "181"),
        run("ip", "rule"),
        run("ip", "-6", "rule"),
    ];
    const routes = all.join("");
    const tables = run("nft", "list", "tables").replaceAll(/^table ip6? filter\n/gm, "");
    return [links, routes, tables, ...rules, ...sysctls].join("\n");
}

/** A Node as an agent leaves it, with one Pod. */
beforeEach(async () => {
    node = await TestNode.start();
    setSysctl(undefined, "net/ipv4/ip_forward", "0");
    // these keep the default chains that iptables makes when somebody looks
    run("iptables-legacy", "-S");
    before = network();
    host = mkdtempSync(join(tmpdir(), "host-"));
    for (const folder of ["etc/cni/net.d", "opt/cni/bin", "var/lib/antrea", "var/run/antrea", "image"]) {
        mkdirSync(join(host, folder), { recursive: true });
    }
    for (const folder of ["var/lib/antrea/openvswitch", "var/run/antrea/openvswitch"]) {
        symlinkSync(node.ovs.runDir, join(host, folder));
    }
    const files = {
        "etc/cni/net.d/10-antrea.conflist": "{}",
        "etc/cni/net.d/.10-antrea.conflist.1-2.part": "half, of an agent that was killed",
        "opt/cni/bin/antrea": "of another version",
        "opt/cni/bin/.antrea.new": "half, of an installation that was killed",
        "opt/cni/bin/.bandwidth.new": "half, without the whole",
        "opt/cni/bin/portmap": "portmap",
        "opt/cni/bin/loopback": "of somebody",
        "image/antrea": "antrea",
        "image/portmap": "portmap",
        "image/bandwidth": "bandwidth",
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(host, name), text);
    agent = await node.startAgent();
    stopped = false;
    pod = new TestPod();
    await agent.add(pod);
    await new HostInputFilter(
        { generation: rulesGeneration, logger: silentLogger, nft: runNft },
        { linkGroup: podLinkGroup },
    ).ensure();
    await new HostFirewall({ generation: rulesGeneration, logger: silentLogger, run: runProgram }).ensure({
        gatewayName: node.gateway,
        families: [4, 6],
        tunnel: { type: "geneve", port: 0 },
    });
    run("ip", "route", "add", "10.10.9.0/24", "via", "10.10.1.9", "dev", node.gateway, "proto", "178");
    run("ip", "route", "add", "default", "dev", node.gateway, "table", "181", "proto", "181");
    run("ip", "rule", "add", "pref", "181", "fwmark", "0x8000000/0x8000000", "lookup", "181", "proto", "181");
    run("ip", "-6", "rule", "add", "pref", "181", "fwmark", "0x8000000/0x8000000", "lookup", "181", "proto", "181");
    run("nft", "add", "table", "inet", "antrea-services");
    run("ip", "route", "add", "blackhole", "10.99.0.0/24", "proto", "boot");
    writeFileSync(
        join(host, "var/lib/antrea/sysctls.json"),
        execFileSync("cat", [join(node.ovs.runDir, "sysctls.json")]),
    );
    writeFileSync(join(host, "var/lib/antrea/services.journal"), "");
    mkdirSync(keptFolder());
    writeFileSync(join(keptFolder(), "pci-0000:af:06.0.json"), "{}");
});

afterEach(async () => {
    if (!stopped) await agent.stop();
    pod[Symbol.dispose]();
    await node[Symbol.asyncDispose]();
    rmSync(host, { recursive: true, force: true });
});

/** Where the agent keeps what links of virtual functions were. */
const keptFolder = (): string => join(host, "var/lib/antrea/virtual-functions");

async function stopAgent(): Promise<void> {
    await agent.stop();
    stopped = true;
}

async function cleanUp(
    ...more: readonly string[]
): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
    const lines: string[] = [];
    const args = ["--host", host, "--binaries", join(host, "image"), ...more];
    const code = await cleanUpCommand(args, (line) => void lines.push(line));
    return { code, lines };
}

function expectNothingLeft(lines: readonly string[]): void {
    expect(network().replace(/^blackhole 10\.99\.0\.0\/24.*\n/m, "")).toBe(before);
    expect(readdirSync(join(host, "etc/cni/net.d"))).toEqual([]);
    expect(readdirSync(join(host, "opt/cni/bin"))).toEqual(["loopback"]);
    expect(lines).toContain(`Removed ${join(host, "etc/cni/net.d/10-antrea.conflist")}.`);
    expect(lines).toContain(`Removed ${join(host, "opt/cni/bin/.antrea.new")}.`);
    expect(lines).toContainEqual(
        expect.stringMatching(/^Removed bridge br-int with \d ports from the database of OVS\.$/),
    );
    expect(lines).toContain("Removed 1 links of Pods.");
    expect(lines).toContain("Removed the change of net/ipv4/ip_forward.");
    expect(lines).toContain("Removed nftables table arp antrea-guard.");
    expect(lines).toContain("Removed nftables table inet antrea-services.");
    expect(lines).toContain("Removed 2 routing rules (proto 178, 179, 180, 181).");
    expect(lines).toContain('Removed iptables-nft FORWARD "antrea: to antrea-gw0".');
    expect(lines.at(-1)).toBe("Nothing of Antrea is left on this Node.");
}

describe("antrea-agent clean-up", () => {
    it("leaves nothing of the agent where OVS has ended with its Pod, and has nothing to do the second time", async () => {
        await stopAgent();
        await node.ovs.killVswitchd();
        await node.ovs.killDatabase();
        rmSync(node.ovs.dbSocket, { force: true });
        const { code, lines } = await cleanUp();
        expect([code, lines.filter((line) => line.startsWith("Cannot"))]).toEqual([0, []]);
        expectNothingLeft(lines);
        expect(lines).toContain("Removed device antrea-gw0.");
        expect(readdirSync(join(host, "var/lib"))).toEqual([]);
        expect(readdirSync(join(host, "var/run"))).toEqual([]);
        expect(await cleanUp()).toEqual({ code: 0, lines: ["Nothing of Antrea is left on this Node."] });
    });

    it("takes out of an OVS that runs what is the agent's, and leaves the bridges of others", async () => {
        await stopAgent();
        await node.ovs.vsctl("add-br", "br-other", "--", "set", "bridge", "br-other", "datapath_type=netdev");
        try {
            const { code, lines } = await cleanUp();
            expect(code).toBe(0);
            expect((await node.ovs.vsctl("list-br")).trim()).toBe("br-other");
            expect(run("ip", "-o", "link")).not.toMatch(/antrea-gw0|br-int/);
            expect(lines).toContain("Kept the database of OVS: an ovsdb-server runs with it.");
            expect(existsSync(join(host, "var/lib/antrea/openvswitch"))).toBe(true);
            expect(existsSync(join(host, "var/lib/antrea/sysctls.json"))).toBe(false);
            expect(existsSync(join(host, "var/lib/antrea/services.journal"))).toBe(false);
            expect(existsSync(keptFolder())).toBe(false);
        } finally {
            await node.ovs.vsctl("del-br", "br-other");
        }
    });

    it.each([true, false])(
        "takes out the secondary bridge and the bridges of its NICs, with OVS running: %s",
        async (runs) => {
            await stopAgent();
            for (const [bridge, mark] of [
                ["br-sec", "antrea-secondary=true"],
                ["eth9~br", "antrea-nic=eth9"],
            ] as const) {
                const datapath = ["--", "set", "bridge", bridge, "datapath_type=netdev", `external_ids:${mark}`];
                await node.ovs.vsctl("add-br", bridge, ...datapath);
            }
            expect(run("ip", "-o", "link")).toMatch(/eth9~br/);
            if (!runs) {
                await node.ovs.killVswitchd();
                await node.ovs.killDatabase();
                rmSync(node.ovs.dbSocket, { force: true });
            }
            const { code, lines } = await cleanUp();
            expect([code, lines.filter((line) => line.startsWith("Cannot"))]).toEqual([0, []]);
            expectNothingLeft(lines);
        },
    );

    it("refuses while an agent runs, unless forced", async () => {
        const errors: string[] = [];
        const write = process.stderr.write.bind(process.stderr);
        process.stderr.write = (text: string | Uint8Array): boolean => errors.push(String(text)) > 0;
        try {
            expect(await cleanUp()).toEqual({ code: 1, lines: [] });
        } finally {
            process.stderr.write = write;
        }
        expect(errors.join("")).toContain("an antrea-agent runs on this Node");
        expect(existsSync(join(host, "etc/cni/net.d/10-antrea.conflist"))).toBe(true);
        expect(run("ip", "-o", "link")).toContain(node.gateway);
        expect((await cleanUp("--force")).code).toBe(0);
        expect(run("ip", "-o", "link")).not.toContain(node.gateway);
    });

    it("keeps a plugin that another network configuration names, and one that is not of this image", async () => {
        await stopAgent();
        writeFileSync(join(host, "etc/cni/net.d/05-other.conflist"), '{"plugins":[{"type":"portmap"}]}');
        writeFileSync(join(host, "opt/cni/bin/bandwidth"), "of somebody");
        const { lines } = await cleanUp();
        const kept = [join(host, "opt/cni/bin/portmap"), join(host, "opt/cni/bin/bandwidth")];
        expect(kept.map((path) => existsSync(path))).toEqual([true, true]);
        expect(lines).toContain(`Kept ${kept[0]}: ${join(host, "etc/cni/net.d/05-other.conflist")} names it.`);
        expect(lines).toContain(`Kept ${kept[1]}: it is not the one of this image.`);
    });
});
