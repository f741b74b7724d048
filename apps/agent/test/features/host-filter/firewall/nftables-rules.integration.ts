import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { HostFirewall } from "../../../../src/features/host-filter/firewall/index.ts";
import { rulesGeneration } from "../../../../src/platform/nftables.ts";
import { ProgramError, runProgram, type RunProgram } from "../../../../src/platform/program.ts";
import { silentLogger } from "../../../support/logger.ts";
import { OwnNamespace } from "../../../support/namespace.ts";

let node: OwnNamespace;

beforeEach(() => {
    node = OwnNamespace.enter();
});

afterEach(() => node[Symbol.dispose]());

const nft = (...args: readonly string[]): string =>
    // its errors are in what is thrown; it warns of each table of iptables
    execFileSync("nft", args, { encoding: "utf8", stdio: "pipe" });

/** Rules that others made with nft(8) itself, in the tables of iptables, of which iptables(8) prints less than they match. */
describe.each([
    ["ip", "iptables-nft", "ipv4_addr", "192.0.2.0/24", 4],
    ["ip6", "ip6tables-nft", "ipv6_addr", "2001:db8::/64", 6],
] as const)("beside rules of nft(8) in table %s filter", (family, program, type, prefix, version) => {
    const input = { gatewayName: "antrea-gw0", families: [version], tunnel: undefined } as const;
    const chain = [family, "filter", "FORWARD"] as const;
    const ensure = (run: RunProgram = runProgram): Promise<void> =>
        new HostFirewall({ run, generation: rulesGeneration, logger: silentLogger }).ensure(input);
    const add = (rule: string): string => nft(`add rule ${chain.join(" ")} ${rule}`);

    /** The rules of the chain as nft(8) shows them; of ours only "ours". */
    const rules = (): readonly string[] =>
        nft("list", "chain", ...chain)
            .split("\n")
            .filter((line) => line.startsWith("\t\t") && !line.includes("policy"))
            .map((line) => (line.includes('"antrea-gw0"') ? "ours" : line.trim()))
            .map((line) => line.replace(/counter packets \d+ bytes \d+ /, ""));

    beforeEach(() => {
        // makes table and chains
        execFileSync(program, ["-N", "extra"]);
        execFileSync(program, ["-A", "FORWARD", "-p", "sctp", "-j", "DROP"]);
        execFileSync(program, ["-F", "FORWARD"]);
        nft(`add set ${family} filter bad { type ${type}; flags interval; elements = { ${prefix} }; }`);
    });

    it.each([
        ["a named set", `${family} daddr @bad counter drop`],
        ["a set of its own", 'iifname { "a", "b" } drop'],
        ["a concatenation", 'iifname . oifname { "a" . "b" } drop'],
        ["a set of ports", "tcp dport { 22, 23 } drop"],
        ["a limit", "limit rate 5/second drop"],
        ["a mark", "meta mark 3 drop"],
        [
            "a map to verdicts",
            `${family} daddr vmap { ${prefix === "192.0.2.0/24" ? "192.0.2.1" : "2001:db8::1"} : drop }`,
        ],
        ["a jump for a set", `${family} daddr @bad jump extra`],
        ["a set and a comment", `${family} daddr @bad drop comment "drops the rest"`],
    ])("a drop with %s counts: the accepts come behind it", async (_, rule) => {
        nft(`add rule ${family} filter extra drop`);
        add(rule);
        const before = rules();
        expect(before.length).toBe(1);
        await ensure();
        expect(rules()).toEqual([...before, "ours", "ours"]);
        // also where it comes later, and is put first
        execFileSync(program, ["-F", "FORWARD"]);
        await ensure();
        nft(`insert rule ${chain.join(" ")} ${rule}`);
        await ensure();
        expect(rules()).toEqual([...before, "ours", "ours"]);
    });

    it.each([
        ["a bare drop", ["drop"]],
        ["a drop that counts and has a comment", ['counter drop comment "the rest"']],
        ["a jump to a chain that drops", ["jump extra"]],
    ])("what drops everything is overruled: %s", async (_, made) => {
        nft(`add rule ${family} filter extra ${family} saddr @bad accept`);
        nft(`add rule ${family} filter extra drop`);
        add(`${family} daddr @bad drop`);
        for (const rule of made) add(rule);
        const [first = "", ...rest] = rules();
        await ensure();
        expect(rules()).toEqual([first, "ours", "ours", ...rest]);
        await ensure();
        expect(rules()).toEqual([first, "ours", "ours", ...rest]);
    });

    it("a chain that only drops what is in a set is none that drops everything", async () => {
        nft(`add rule ${family} filter extra ${family} saddr @bad drop`);
        add("jump extra");
        add(`tcp dport 22 drop`);
        await ensure();
        expect(rules().slice(0, 2)).not.toContain("ours");
        expect(rules().slice(2)).toEqual(["ours", "ours"]);
    });

    it("rules of iptables(8) that log and reject are known as such, long comments too", async () => {
        const long = "x".repeat(200);
        for (const rule of [
            ["-p", "tcp", "-j", "ACCEPT"],
            ["-m", "limit", "--limit", "3/min", "-j", "LOG"],
            ["-j", "NFLOG"],
            ["-m", "comment", "--comment", long, "-j", "REJECT"],
        ]) {
            execFileSync(program, ["-A", "FORWARD", ...rule]);
        }
        await ensure();
        expect(rules().indexOf("ours")).toBe(1);
        expect(rules().lastIndexOf("ours")).toBe(2);
    });

    it("while nft(8) fails nothing is moved, and the problem is logged", async () => {
        add("drop");
        await ensure();
        const before = rules();
        expect(before).toEqual(["ours", "ours", "drop"]);
        const warnings: unknown[] = [];
        const firewall = new HostFirewall({
            run: (name, args) => {
                if (name === "nft") throw new ProgramError("PROGRAM_FAILED", "environment", "nft has no memory");
                return runProgram(name, args);
            },
            generation: rulesGeneration,
            logger: { ...silentLogger, warn: (_, fields) => void warnings.push(fields) },
        });
        await firewall.ensure(input);
        await firewall.ensure(input);
        expect(rules()).toEqual(before);
        expect(warnings).toEqual([{ family: `IPv${version}`, reason: "nft has no memory" }]);
    });
});
