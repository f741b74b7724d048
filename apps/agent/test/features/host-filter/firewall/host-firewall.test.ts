import { expect, it } from "@jest/globals";
import { HostFirewall, removeFirewallRules } from "../../../../src/features/host-filter/firewall/index.ts";
import { ProgramError, type RunProgram } from "../../../../src/platform/program.ts";
import { silentLogger } from "../../../support/logger.ts";

const input = { gatewayName: "antrea-gw0", families: [4, 6], tunnel: undefined } as const;
const accepts = "-P FORWARD ACCEPT\n";
const generation = (): undefined => undefined;

function logged(): { readonly warnings: string[]; readonly logger: typeof silentLogger } {
    const warnings: string[] = [];
    return {
        warnings,
        logger: { ...silentLogger, warn: (_, fields) => void warnings.push(JSON.stringify(fields)) },
    };
}

it("without ip6tables the rules of IPv4 are set, and the problem is logged once", async () => {
    const calls: string[] = [];
    const run: RunProgram = async (program, args) => {
        if (program.startsWith("ip6")) throw new ProgramError("PROGRAM_MISSING", "environment", `no ${program}`);
        calls.push(`${program} ${args.join(" ")}`);
        return accepts;
    };
    const { warnings, logger } = logged();
    const firewall = new HostFirewall({ run, generation, logger, legacyTables: () => [] });
    await firewall.ensure(input);
    await firewall.ensure(input);
    expect(calls.filter((call) => call.includes("-A FORWARD -i antrea-gw0"))).not.toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("no ip6tables-nft")]);
});

it("a Node without IPv6 Pods needs no ip6tables", async () => {
    const run: RunProgram = async (program) => {
        if (program.startsWith("ip6")) throw new ProgramError("PROGRAM_MISSING", "environment", `no ${program}`);
        return accepts;
    };
    const { warnings, logger } = logged();
    await new HostFirewall({ run, generation, logger, legacyTables: () => [] }).ensure({ ...input, families: [4] });
    expect(warnings).toEqual([]);
});

it("what is as it must be takes one check of each chain and no change", async () => {
    const calls: string[] = [];
    const run: RunProgram = async (program, args) => {
        calls.push(args.join(" "));
        const [, , , chain] = args;
        if (chain === "INPUT" || program.startsWith("ip6")) return "-P INPUT ACCEPT\n";
        return `-P FORWARD DROP
-A FORWARD -s 192.0.2.1/32 -m comment --comment "antrea-looking rule of somebody" -j DROP
-A FORWARD -o antrea-gw0 -m comment --comment "antrea: to antrea-gw0" -j ACCEPT
-A FORWARD -i antrea-gw0 -m comment --comment "antrea: from antrea-gw0" -j ACCEPT
`;
    };
    const firewall = new HostFirewall({ run, generation, logger: silentLogger, legacyTables: () => [] });
    await firewall.ensure({ ...input, families: [4] });
    expect(calls.filter((call) => !call.startsWith("-w 5 -S"))).toEqual([]);
    expect(calls.length).toBe(4);
});

it("chains are listed again only for other rules, and after somebody has changed any", async () => {
    let calls = 0;
    let current: number | undefined = 1;
    let legacy: readonly string[] = [];
    let isBroken = false;
    const run: RunProgram = async (_, args) => {
        calls += 1;
        if (isBroken) throw new ProgramError("PROGRAM_FAILED", "environment", "no lock");
        if (args.includes("-A")) current = (current ?? 0) + 1;
        return `-P ${args.at(-1)} ACCEPT\n`;
    };
    const components = { run, logger: silentLogger, legacyTables: () => legacy, generation: () => current };
    const firewall = new HostFirewall(components);
    const listed = async (families: readonly (4 | 6)[] = []): Promise<boolean> => {
        const before = calls;
        await firewall.ensure({ ...input, families });
        return calls > before;
    };
    expect([await listed(), await listed(), await listed()]).toEqual([true, false, false]);
    current += 1;
    expect([await listed(), await listed()]).toEqual([true, false]);
    // What it adds is a change too, so it is checked once more.
    expect([await listed([4]), await listed([4])]).toEqual([true, true]);
    expect([await listed(), await listed()]).toEqual([true, false]);
    legacy = ["filter"];
    expect([await listed(), await listed()]).toEqual([true, true]);
    [legacy, isBroken, current] = [[], true, current + 1];
    expect([await listed(), await listed()]).toEqual([true, true]);
    isBroken = false;
    expect([await listed(), await listed()]).toEqual([true, false]);
    current = undefined;
    expect([await listed(), await listed()]).toEqual([true, true]);
});

it("nothing is changed while iptables and nft show different numbers of rules", async () => {
    const calls: string[] = [];
    const run: RunProgram = async (program, args) => {
        calls.push(`${program} ${args.join(" ")}`);
        if (program === "nft") return JSON.stringify({ nftables: [{ rule: { expr: [{ drop: null }] } }] });
        return args.includes("FORWARD") ? `${accepts}-A FORWARD -p sctp -j DROP\n-A FORWARD -j DROP\n` : "";
    };
    const { warnings, logger } = logged();
    const firewall = new HostFirewall({ run, generation, logger, legacyTables: () => [] });
    await firewall.ensure({ ...input, families: [4] });
    expect(calls.filter((call) => / -[AIRD] /.test(call))).toEqual([]);
    expect(warnings).toEqual([
        expect.stringContaining("iptables-nft shows 2 rules of chain FORWARD of table filter and nft shows 1"),
    ]);
});

it("nothing is moved while a chain that drops everything cannot be read", async () => {
    const calls: string[] = [];
    const run: RunProgram = async (program, args) => {
        calls.push(args.join(" "));
        const reason = args.includes("MARK") ? "No chain/target/match by that name." : "Another app holds the lock";
        if (!args.includes("FORWARD") && !args.includes("INPUT")) {
            throw new ProgramError("PROGRAM_FAILED", "environment", `iptables: ${reason}`);
        }
        if (program !== "iptables-legacy" || args.includes("INPUT")) return `-P ${args.at(-1)} ACCEPT\n`;
        return `-P FORWARD DROP\n-A FORWARD -j MARK --set-xmark 0x1/0x1\n-A FORWARD -j ufw-reject-forward\n`;
    };
    const { warnings, logger } = logged();
    const firewall = new HostFirewall({ run, generation, logger, legacyTables: () => ["filter"] });
    await firewall.ensure({ ...input, families: [4] });
    expect(calls).toContain("-w 5 -S MARK");
    expect(calls.filter((call) => call.includes("-A FORWARD"))).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("holds the lock")]);
});

it("rules that cannot be read or removed keep none of the others, and are named", async () => {
    const calls: string[] = [];
    const own = (way: string): string => `-m comment --comment "antrea: ${way} antrea-gw0" -j ACCEPT`;
    const run: RunProgram = async (program, args) => {
        const call = args.join(" ");
        if (program === "iptables-nft") throw new ProgramError("PROGRAM_FAILED", "environment", "incompatible");
        if (args.includes("-S"))
            return `-A FORWARD -i antrea-gw0 ${own("from")}\n-A FORWARD -o antrea-gw0 ${own("to")}\n`;
        if (program === "iptables-legacy" && call.includes("from")) {
            throw new ProgramError("PROGRAM_FAILED", "environment", "Bad rule");
        }
        calls.push(`${program} ${call}`);
        return "";
    };
    const legacyTables = (family: 4 | 6): readonly string[] => (family === 4 ? ["filter"] : []);
    await expect(removeFirewallRules({ run, legacyTables })).rejects.toMatchObject({
        code: "PARTLY_REMOVED",
        message: 'iptables-nft: incompatible; iptables-legacy FORWARD "antrea: from antrea-gw0": Bad rule',
        removed: [
            'iptables-legacy FORWARD "antrea: to antrea-gw0"',
            'ip6tables-nft FORWARD "antrea: from antrea-gw0"',
            'ip6tables-nft FORWARD "antrea: to antrea-gw0"',
        ],
    });
    expect(calls.length).toBe(3);
});
