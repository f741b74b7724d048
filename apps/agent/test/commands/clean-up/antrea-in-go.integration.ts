import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanUpCommand } from "../../../src/commands/clean-up-command.ts";
import { TestNode } from "../../support/test-node.ts";

let node: TestNode;
let host: string;

const run = (program: string, ...args: readonly string[]): string => execFileSync(program, args, { encoding: "utf8" });

const rules = {
    raw: [
        "-N ANTREA-PREROUTING",
        "-A PREROUTING -j ANTREA-PREROUTING",
        "-A ANTREA-PREROUTING -p udp --dport 6081 -j NOTRACK",
    ],
    mangle: [
        "-N ANTREA-OUTPUT",
        "-A OUTPUT -m comment --comment 'Antrea: jump to Antrea output rules' -j ANTREA-OUTPUT",
    ],
    nat: [
        "-N ANTREA-POSTROUTING",
        "-A POSTROUTING -j ANTREA-POSTROUTING",
        `-A POSTROUTING -m comment --comment 'an "old\\one", twice\n-j DROP' -j ANTREA-POSTROUTING`,
        "-A ANTREA-POSTROUTING -s 10.244.1.0/24 ! -o antrea-gw0 -j MASQUERADE",
        "-A POSTROUTING -s 192.0.2.0/24 -j MASQUERADE",
    ],
    filter: [
        "-N ANTREA-FORWARD",
        "-N ANTREA-POL-RULES",
        "-A ANTREA-FORWARD -j ANTREA-POL-RULES",
        "-I FORWARD -j ANTREA-FORWARD",
    ],
};

/** A Node as Antrea in Go leaves it: its programs have ended, with the database of OVS beside their sockets. */
beforeEach(async () => {
    node = await TestNode.start();
    host = mkdtempSync(join(tmpdir(), "host-"));
    for (const folder of ["etc/cni/net.d", "opt/cni/bin", "var/lib", "var/run/antrea/openvswitch", "image"]) {
        mkdirSync(join(host, folder), { recursive: true });
    }
    writeFileSync(join(host, "image/antrea"), "antrea");
    writeFileSync(join(host, "opt/cni/bin/antrea"), "of Antrea in Go");
    writeFileSync(join(host, "etc/cni/net.d/10-antrea.conflist"), '{"cniVersion": "0.3.0"}');
    run("ip", "link", "add", "cart-9a8b7c", "type", "veth", "peer", "name", "of-pod");
    run("ip", "link", "add", "of-somebody", "type", "veth", "peer", "name", "of-other");
    const bridge = [
        "add-br",
        "br-int",
        "--",
        "set",
        "bridge",
        "br-int",
        "datapath_type=netdev",
        "external_ids:roundNum=7",
    ];
    const gateway = ["add-port", "br-int", "antrea-gw0", "--", "set", "interface", "antrea-gw0", "type=internal"];
    const pod = ["add-port", "br-int", "cart-9a8b7c", "--", "set", "port", "cart-9a8b7c"];
    await node.ovs.vsctl(
        ...bridge,
        "--",
        ...gateway,
        "--",
        "set",
        "port",
        "antrea-gw0",
        "external_ids:antrea-type=gateway",
        "--",
        ...pod,
        "external_ids:container-id=abc",
        "external_ids:pod-name=cart",
        "external_ids:pod-namespace=shop",
    );
    await node.ovs.killVswitchd();
    await node.ovs.killDatabase();
    copyFileSync(join(node.ovs.runDir, "conf.db"), join(host, "var/run/antrea/openvswitch/conf.db"));
    for (const program of ["iptables-nft", "ip6tables-nft"]) {
        for (const [table, lines] of Object.entries(rules)) {
            for (const line of lines.filter((one) => program === "iptables-nft" || !/\d+\.\d+\./.test(one))) {
                execFileSync("sh", ["-c", `${program} -t ${table} ${line}`]);
            }
        }
    }
    run("nft", "add", "table", "ip", "antrea");
});

afterEach(async () => {
    await node[Symbol.asyncDispose]();
    rmSync(host, { recursive: true, force: true });
});

async function cleanUp(): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
    const lines: string[] = [];
    const args = ["--host", host, "--binaries", join(host, "image")];
    return { code: await cleanUpCommand(args, (line) => void lines.push(line)), lines };
}

describe("antrea-agent clean-up after Antrea in Go", () => {
    it("removes bridge, links of Pods, chains and files, and leaves what is of others", async () => {
        const { code, lines } = await cleanUp();
        expect([code, lines.filter((line) => line.startsWith("Cannot"))]).toEqual([0, []]);
        expect(run("ip", "-o", "link")).not.toMatch(/antrea-gw0|br-int|cart-9a8b7c|of-pod/);
        expect(run("ip", "-o", "link")).toContain("of-somebody");
        for (const program of ["iptables-nft", "ip6tables-nft"]) {
            for (const table of Object.keys(rules)) expect(run(program, "-t", table, "-S")).not.toContain("ANTREA");
        }
        expect(run("iptables-nft", "-t", "nat", "-S")).toContain("-A POSTROUTING -s 192.0.2.0/24 -j MASQUERADE");
        expect(run("nft", "list", "tables")).not.toContain("antrea");
        expect(readdirSync(join(host, "etc/cni/net.d"))).toEqual([]);
        expect(existsSync(join(host, "opt/cni/bin/antrea"))).toBe(false);
        expect(existsSync(join(host, "var/run/antrea"))).toBe(false);
        expect(lines).toEqual(
            expect.arrayContaining([
                "Removed bridge br-int with 3 ports from the database of OVS.",
                "Removed 1 links of Pods.",
                "Removed iptables-nft chain ANTREA-POSTROUTING of table nat.",
                "Removed ip6tables-nft chain ANTREA-POL-RULES of table filter.",
                "Removed nftables table ip antrea.",
            ]),
        );
        expect(await cleanUp()).toEqual({ code: 0, lines: ["Nothing of Antrea is left on this Node."] });
    });
});
