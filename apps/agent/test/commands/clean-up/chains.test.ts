import { expect, it } from "@jest/globals";
import { removeChains } from "../../../src/commands/clean-up/chains.ts";
import { ProgramError, type RunProgram } from "../../../src/platform/program.ts";

const tables: Readonly<Record<string, string>> = {
    nat: `-P POSTROUTING ACCEPT
-N ANTREA-POSTROUTING
-N ANTREA-PREROUTING
-A POSTROUTING -m comment --comment "somebody\\'s \\"own\\" \\\\ jump" -j ANTREA-POSTROUTING
-A PREROUTING -j ANTREA-PREROUTING
-A POSTROUTING -m comment --comment "about -j
-A ANTREA-POSTROUTING" -j MASQUERADE
`,
    filter: `-N ANTREA-FORWARD
-A FORWARD -j ANTREA-FORWARD
`,
};

/** iptables-nft of IPv4 with these tables, of which some calls fail; gives what was called. */
function fake(fails: (call: string) => boolean): { readonly run: RunProgram; readonly calls: (readonly string[])[] } {
    const calls: (readonly string[])[] = [];
    const run: RunProgram = async (program, args) => {
        if (program === "nft") return "table ip nat\ntable ip filter\n";
        const [, , , table = "", ...call] = args;
        if (call[0] !== "-S") calls.push(call);
        if (fails([table, ...call].join(" "))) throw new ProgramError("PROGRAM_FAILED", "environment", "Bad rule");
        return tables[table] ?? "";
    };
    return { run, calls };
}

it("a jump is deleted by its comment as it was given, whatever iptables has escaped", async () => {
    const { run, calls } = fake(() => false);
    const removed = await removeChains({ run, legacyTables: () => [] });
    const comment = `somebody's "own" \\ jump`;
    expect(calls.slice(0, 2)).toEqual([
        ["-D", "POSTROUTING", "-m", "comment", "--comment", comment, "-j", "ANTREA-POSTROUTING"],
        ["-D", "PREROUTING", "-j", "ANTREA-PREROUTING"],
    ]);
    expect(calls.filter(([what]) => what === "-D").length).toBe(3);
    expect(removed).toEqual([
        "iptables-nft chain ANTREA-POSTROUTING of table nat",
        "iptables-nft chain ANTREA-PREROUTING of table nat",
        "iptables-nft chain ANTREA-FORWARD of table filter",
    ]);
});

it("a jump that stays keeps no other chain, and its own chain does nothing any more", async () => {
    const { run, calls } = fake((call) => /^nat (-D POSTROUTING|-X ANTREA-POSTROUTING)/.test(call));
    await expect(removeChains({ run, legacyTables: () => [] })).rejects.toMatchObject({
        code: "PARTLY_REMOVED",
        message:
            "a jump from POSTROUTING to ANTREA-POSTROUTING (iptables-nft, table nat): Bad rule; chain ANTREA-POSTROUTING (iptables-nft, table nat): Bad rule",
        removed: [
            "iptables-nft chain ANTREA-PREROUTING of table nat",
            "iptables-nft chain ANTREA-FORWARD of table filter",
        ],
    });
    expect(calls).toContainEqual(["-F", "ANTREA-POSTROUTING"]);
});

it("a table that cannot be read keeps no other one", async () => {
    const { run } = fake((call) => call === "nat -S");
    await expect(removeChains({ run, legacyTables: () => [] })).rejects.toMatchObject({
        message: "table nat (iptables-nft): Bad rule",
        removed: ["iptables-nft chain ANTREA-FORWARD of table filter"],
    });
});
