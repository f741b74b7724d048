import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";

import { HostFirewall, removeFirewallRules } from "../../../../src/features/host-filter/firewall/index.ts";
import { rulesGeneration } from "../../../../src/platform/nftables.ts";
import { runProgram } from "../../../../src/platform/program.ts";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/logger.ts";
import { ipBatch, OwnNamespace, TestNetns } from "../../../support/namespace.ts";

const input = { gatewayName: "antrea-gw0", families: [4, 6], tunnel: { type: "geneve", port: 0 } } as const;
const ways = [
    ["IPv4", "iptables", "10.2.0.2"],
    ["IPv6", "ip6tables", "fd00:2::2"],
] as const;

let node: OwnNamespace;
let pod: TestNetns;
let outside: TestNetns;

/** A Node that routes between its gateway, here a link to one Pod, and a network outside. */
beforeEach(() => {
    node = OwnNamespace.enter();
    [pod, outside] = [new TestNetns("pod"), new TestNetns("out")];
    for (const [at, { name }, link] of [
        ["1", pod, "antrea-gw0"],
        ["2", outside, "uplink"],
    ] as const) {
        ipBatch([
            `link add ${link} type veth peer name eth0 netns ${name}`,
            `link set ${link} up`,
            `addr add 10.${at}.0.1/24 dev ${link}`,
            `addr add fd00:${at}::1/64 dev ${link} nodad`,
        ]);
        ipBatch(
            [
                "link set eth0 up",
                `addr add 10.${at}.0.2/24 dev eth0`,
                `addr add fd00:${at}::2/64 dev eth0 nodad`,
                `route add default via 10.${at}.0.1`,
                `route add default via fd00:${at}::1`,
            ],
            { netns: name },
        );
    }
    execFileSync("sysctl", ["-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]);
});

afterEach(() => {
    pod[Symbol.dispose]();
    outside[Symbol.dispose]();
    node[Symbol.dispose]();
});

/** Exit code of curl(1) in the Pod for a TCP connection: 7 where it is refused, 28 where nothing answers in time. */
function curlExit(url: string): number {
    try {
        pod.run("curl", "-s", "-m", "1", url);
        return 0;
    } catch (error) {
        return (error as { readonly status: number }).status;
    }
}

const newFirewall = (): HostFirewall =>
    new HostFirewall({ run: runProgram, generation: rulesGeneration, logger: silentLogger });

function reaches(address: string): boolean {
    try {
        pod.run("ping", "-c", "1", "-W", "1", address);
        return true;
    } catch {
        return false;
    }
}

const rulesOf = (program: string): string => execFileSync(program, ["-S"], { encoding: "utf8" });

describe.each(["nft", "legacy"] as const)("on a Node with iptables-%s whose chain FORWARD drops", (backend) => {
    it.each(ways)("Pods have their way by %s, and a rule that somebody removed comes back", async (_, tables, far) => {
        const program = `${tables}-${backend}`;
        // IPv6 takes a moment until the links have their own addresses.
        expect(await eventually(() => reaches(far), Boolean)).toBe(true);
        for (const chain of ["INPUT", "FORWARD"]) execFileSync(program, ["-P", chain, "DROP"]);
        execFileSync(program, ["-A", "FORWARD", "-j", "DROP"]);
        execFileSync(program, ["-A", "INPUT", "-p", tables === "iptables" ? "icmp" : "icmpv6", "-j", "ACCEPT"]);
        expect(reaches(far)).toBe(false);

        const firewall = new HostFirewall({ run: runProgram, generation: rulesGeneration, logger: silentLogger });
        await firewall.ensure(input);
        expect(await eventually(() => reaches(far), Boolean)).toBe(true);
        const wanted = rulesOf(program);
        expect(wanted).toContain(
            '-A INPUT -p udp -m udp --dport 6081 -m comment --comment "antrea: tunnel udp 6081" -j ACCEPT',
        );
        await firewall.ensure(input);
        expect(rulesOf(program)).toBe(wanted);

        const forward = ["-o", "antrea-gw0", "-m", "comment", "--comment", "antrea: to antrea-gw0", "-j", "ACCEPT"];
        execFileSync(program, ["-D", "FORWARD", ...forward]);
        expect(reaches(far)).toBe(false);
        await firewall.ensure(input);
        expect(await eventually(() => reaches(far), Boolean)).toBe(true);
        expect(rulesOf(program).split("\n").toSorted()).toEqual(wanted.split("\n").toSorted());

        const removed = await removeFirewallRules({ run: runProgram });
        expect(removed).toContain(`${program} FORWARD "antrea: to antrea-gw0"`);
        expect(rulesOf(program)).not.toContain("antrea");
        expect(rulesOf(program)).toContain("-A FORWARD -j DROP");
        expect(await removeFirewallRules({ run: runProgram })).toEqual([]);
    });
});

it.each(ways)("what nft(8) drops by a set in the tables of iptables stays dropped: %s", async (_, tables, far) => {
    expect(await eventually(() => reaches(far), Boolean)).toBe(true);
    const [family, type] = tables === "iptables" ? ["ip", "ipv4_addr"] : ["ip6", "ipv6_addr"];
    // makes the chain
    execFileSync(`${tables}-nft`, ["-P", "FORWARD", "DROP"]);
    await newFirewall().ensure(input);
    expect(await eventually(() => reaches(far), Boolean)).toBe(true);
    execFileSync("nft", ["add", "set", family, "filter", "bad", `{ type ${type}; elements = { ${far} }; }`]);
    const bad = ["rule", family, "filter", "FORWARD", family, "daddr", "@bad", "counter", "drop"];
    execFileSync("nft", ["insert", ...bad]);
    expect(reaches(far)).toBe(false);
    await newFirewall().ensure(input);
    expect(reaches(far)).toBe(false);
});

it("a Node that uses only iptables-legacy gets no tables of nftables", async () => {
    execFileSync("iptables-legacy", ["-P", "FORWARD", "DROP"]);
    await new HostFirewall({ run: runProgram, generation: rulesGeneration, logger: silentLogger }).ensure({
        ...input,
        families: [4],
    });
    expect(rulesOf("iptables-legacy")).toContain("antrea: from antrea-gw0");
    expect(execFileSync("nft", ["list", "tables"], { encoding: "utf8" })).not.toContain("filter");
});

it("a rule of the tunnel goes when the mode or the port is another", async () => {
    const firewall = new HostFirewall({ run: runProgram, generation: rulesGeneration, logger: silentLogger });
    await firewall.ensure({ ...input, tunnel: { type: "gre", port: 0 } });
    expect(rulesOf("iptables-nft")).toContain('"antrea: tunnel gre" -j ACCEPT');
    await firewall.ensure({ ...input, tunnel: { type: "vxlan", port: 9999 } });
    expect(rulesOf("iptables-nft")).not.toContain("tunnel gre");
    expect(rulesOf("iptables-nft")).toContain("--dport 9999");
    await firewall.ensure({ ...input, tunnel: undefined });
    expect(rulesOf("iptables-nft")).not.toContain("INPUT -");
    expect(rulesOf("iptables-nft")).toContain("antrea: from antrea-gw0");
});

describe.each(["nft", "legacy"] as const)("beside the rules of others in iptables-%s", (backend) => {
    const program = `iptables-${backend}`;
    const onlyIpv4 = { ...input, families: [4] } as const;
    const far = "10.2.0.2";
    const accepts = ["from", "to"].map((way) => [
        way === "from" ? "-i" : "-o",
        "antrea-gw0",
        "-m",
        "comment",
        "--comment",
        `antrea: ${way} antrea-gw0`,
        "-j",
        "ACCEPT",
    ]);

    const tables = (...args: readonly string[]): Buffer => execFileSync(program, args);
    /** The rules of a chain in short: comments of ours, and what others have. */
    const chain = (name: string): readonly string[] =>
        execFileSync(program, ["-S", name], { encoding: "utf8" })
            .split("\n")
            .filter((line) => line.startsWith("-A"))
            .map((line) => /"(antrea: [^"]+)"/.exec(line)?.[1] ?? line.replace(`-A ${name} `, ""));
    const ours = ["antrea: from antrea-gw0", "antrea: to antrea-gw0"];

    it("kube-proxy refuses what goes to a Service without endpoints, also by a policy DROP", async () => {
        tables("-P", "FORWARD", "DROP");
        // as kube-proxy in iptables mode has it
        tables("-N", "KUBE-SERVICES");
        tables("-A", "KUBE-SERVICES", "-d", far, "-p", "tcp", "--dport", "80", "-j", "REJECT");
        tables("-I", "FORWARD", "1", "-m", "conntrack", "--ctstate", "NEW", "-j", "KUBE-SERVICES");
        await newFirewall().ensure(onlyIpv4);
        expect(curlExit(`http://${far}:80/`)).toBe(7);
        // nobody listens there: the host itself refuses
        expect(curlExit(`http://${far}:81/`)).toBe(7);
        tables("-R", "KUBE-SERVICES", "1", "-d", far, "-p", "tcp", "--dport", "80", "-j", "DROP");
        expect(curlExit(`http://${far}:80/`)).toBe(28);
        expect(curlExit(`http://${far}:81/`)).toBe(7);
        expect(chain("FORWARD").slice(-2)).toEqual(ours);
    });

    it("what an administrator drops is dropped, wherever in front of a catch-all it is", async () => {
        const drop = ["-d", `${far}/32`, "-i", "antrea-gw0", "-j", "DROP"];
        tables("-A", "FORWARD", ...drop);
        tables("-A", "INPUT", "!", "-s", "10.1.0.0/24", "-p", "udp", "--dport", "6081", "-j", "DROP");
        await newFirewall().ensure(onlyIpv4);
        expect(reaches(far)).toBe(false);
        expect(chain("FORWARD")).toEqual([drop.join(" "), ...ours]);
        expect(chain("INPUT").at(-1)).toBe("antrea: tunnel udp 6081");
        tables("-F", "FORWARD");
        await newFirewall().ensure(onlyIpv4);
        // one that comes later, too
        tables("-A", "FORWARD", ...drop);
        await newFirewall().ensure(onlyIpv4);
        expect(reaches(far)).toBe(false);
        expect(chain("FORWARD")).toEqual([drop.join(" "), ...ours]);
    });

    it.each([
        ["a rule", [["-A", "FORWARD", "-m", "comment", "--comment", "the rest", "-j", "REJECT"]], 0],
        [
            "a rule, after one that logs it",
            [
                ["-A", "FORWARD", "-m", "limit", "--limit", "3/min", "-j", "LOG"],
                ["-A", "FORWARD", "-j", "DROP"],
            ],
            0,
        ],
        [
            "a chain of its own, as of ufw",
            [
                ["-N", "ufw-before-forward"],
                ["-A", "ufw-before-forward", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP"],
                ["-A", "FORWARD", "-j", "ufw-before-forward"],
                ["-N", "ufw-reject-forward"],
                ["-A", "ufw-reject-forward", "-j", "REJECT"],
                ["-A", "FORWARD", "-j", "ufw-reject-forward"],
            ],
            1,
        ],
        [
            "the policy, behind chains that only return",
            [
                ["-P", "FORWARD", "DROP"],
                ["-N", "DOCKER-USER"],
                ["-A", "DOCKER-USER", "-j", "RETURN"],
                ["-A", "DOCKER-USER", "-j", "DROP"],
                ["-A", "FORWARD", "-j", "DOCKER-USER"],
            ],
            1,
        ],
    ] as const)("the accept is in front of what drops everything: %s", async (_, others, place) => {
        await newFirewall().ensure(onlyIpv4);
        for (const args of others) tables(...args);
        const firewall = newFirewall();
        await firewall.ensure(onlyIpv4);
        expect(chain("FORWARD").slice(place, place + 2)).toEqual(ours);
        expect(chain("FORWARD").filter((rule) => rule.startsWith("antrea: "))).toEqual(ours);
        expect(await eventually(() => reaches(far), Boolean)).toBe(true);
        const before = rulesOf(program);
        await firewall.ensure(onlyIpv4);
        expect(rulesOf(program)).toBe(before);
        // put in front of ours by somebody
        tables("-I", "FORWARD", "1", "-j", "DROP");
        expect(reaches(far)).toBe(false);
        await firewall.ensure(onlyIpv4);
        expect(chain("FORWARD").slice(0, 2)).toEqual(ours);
        expect(await eventually(() => reaches(far), Boolean)).toBe(true);
    });

    it("rules of an earlier version, which were first, move behind those of others", async () => {
        tables("-A", "FORWARD", "-p", "sctp", "-j", "DROP");
        for (const rule of accepts) tables("-I", "FORWARD", "1", ...rule);
        // and one that was made twice
        tables("-A", "FORWARD", ...(accepts[0] ?? []));
        await newFirewall().ensure(onlyIpv4);
        expect(chain("FORWARD")[0]).toBe("-p sctp -j DROP");
        expect(chain("FORWARD").slice(1).toSorted()).toEqual(ours);
    });
});
