import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { parsePrefix } from "@antrea/ip";
import { Masquerade, ruleset } from "../../../src/features/masquerade/index.ts";
import { rulesGeneration, runNft } from "../../../src/platform/nftables.ts";
import { silentLogger } from "../../support/logger.ts";
import { OwnNamespace, TestNetns } from "../../support/namespace.ts";
import { dualInput } from "./inputs.ts";

function nft(...args: readonly string[]): string {
    return execFileSync("nft", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

let namespace: OwnNamespace;

beforeEach(() => {
    namespace = OwnNamespace.enter();
});

afterEach(() => {
    namespace[Symbol.dispose]();
});

describe("nft", () => {
    it.each([
        ["dual stack", dualInput],
        ["random ports", { ...dualInput, randomFully: true }],
        ["no other Node", { ...dualInput, clusterPrefixes: [] }],
        [
            "podCIDRs that overlap",
            { ...dualInput, clusterPrefixes: ["10.0.0.0/8", "10.10.1.0/24"].map((one) => parsePrefix(one)) },
        ],
        ["noSNAT", { ...dualInput, noSnat: true }],
        ["Pods of pools", { ...dualInput, poolPods: true }],
        ["Pods of pools and noSNAT", { ...dualInput, poolPods: true, noSnat: true }],
    ])("takes the ruleset, and takes it again: %s", async (_, input) => {
        for (let time = 0; time < 2; time += 1) await runNft(["-f", "-"], ruleset(input));
        expect(nft("list", "ruleset").includes("masquerade")).toBe(!input.noSnat || input.poolPods);
    });

    it("takes the podCIDRs of five thousand Nodes", async () => {
        const clusterPrefixes = Array.from({ length: 5000 }, (_, at) => parsePrefix(`10.${at >> 8}.${at & 255}.0/24`));
        await runNft(["-f", "-"], ruleset({ ...dualInput, clusterPrefixes }));
        expect(nft("list", "set", "inet", "antrea", "pods4")).toContain("10.0.0.0-10.19.135.255");
    });

    it("a ruleset that it refuses is an error with its words, and changes nothing", async () => {
        await runNft(["-f", "-"], ruleset(dualInput));
        const before = nft("list", "ruleset");
        await expect(runNft(["-f", "-"], ruleset({ ...dualInput, gatewayName: "x".repeat(40) }))).rejects.toMatchObject(
            {
                code: "NFT_FAILED",
                message: expect.stringContaining("ended with 1"),
            },
        );
        expect(nft("list", "ruleset")).toBe(before);
    });
});

it("the table is kept, others are left alone", async () => {
    await runNft(["-f", "-"], "table inet other { chain input { type filter hook input priority 0; }; }\n");
    const masquerade = new Masquerade({ nft: runNft, generation: rulesGeneration, logger: silentLogger });
    await masquerade.reconcile(dualInput);
    const wanted = nft("list", "table", "inet", "antrea");
    nft("flush", "table", "inet", "antrea");
    await masquerade.reconcile(dualInput);
    expect(nft("list", "table", "inet", "antrea")).toBe(wanted);
    nft("delete", "table", "inet", "antrea");
    await masquerade.reconcile(dualInput);
    expect(nft("list", "table", "inet", "antrea")).toBe(wanted);
    await masquerade.reconcile({ ...dualInput, noSnat: true });
    expect(nft("list", "tables").trim()).toBe("table inet other");
});

// What leaves by the uplink has the Node's address, and what goes to Pods of other Nodes has the Pod's.
it("traffic leaves with the Node's address, except to Pods", async () => {
    using pod = new TestNetns("pod");
    using outside = new TestNetns("out");
    const veth = (name: string, peer: string, netns: TestNetns, address: string): void => {
        execFileSync("ip", ["link", "add", name, "type", "veth", "peer", "name", peer, "netns", netns.name]);
        execFileSync("ip", ["addr", "add", address, "dev", name]);
        execFileSync("ip", ["link", "set", name, "up"]);
        netns.run("ip", "link", "set", peer, "up");
    };
    veth("antrea-gw0", "eth0", pod, "10.10.1.1/24");
    veth("uplink", "eth0", outside, "192.0.2.1/24");
    pod.run("ip", "addr", "add", "10.10.1.5/24", "dev", "eth0");
    pod.run("ip", "route", "add", "default", "via", "10.10.1.1");
    for (const address of ["192.0.2.9/24", "10.10.2.7/32"]) outside.run("ip", "addr", "add", address, "dev", "eth0");
    outside.run("ip", "route", "add", "10.10.1.0/24", "via", "192.0.2.1");
    execFileSync("ip", ["route", "add", "10.10.2.0/24", "via", "192.0.2.9"]);
    execFileSync("sysctl", ["-qw", "net.ipv4.ip_forward=1"]);
    await runNft(["-f", "-"], ruleset(dualInput));
    // Counts by source address what comes to each of the two.
    for (const command of [
        "add table ip seen",
        "add chain ip seen input { type filter hook input priority 0; }",
        "add rule ip seen input ip saddr 192.0.2.1 ip daddr 192.0.2.9 counter",
        "add rule ip seen input ip saddr 10.10.1.5 ip daddr 10.10.2.7 counter",
    ])
        outside.run("nft", command);
    for (const ip of ["192.0.2.9", "10.10.2.7"]) pod.run("ping", "-n", "-q", "-c", "1", "-W", "30", ip);
    expect(outside.run("nft", "list", "table", "ip", "seen").match(/packets \d+/g)).toEqual(["packets 1", "packets 1"]);
});
