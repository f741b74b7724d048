import { describe, expect, it } from "@jest/globals";
import { parsePrefix } from "@antrea/ip";
import { Masquerade } from "../../../src/features/masquerade/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { dualInput } from "./inputs.ts";

/** nft(8) as far as it is used here: one text for our table, others beside it. */
class FakeNft {
    /** Of the rules; undefined: the kernel names none. */
    generation: number | undefined = 1;
    /** How often it ran. */
    runs = 0;
    #table: string | undefined;
    readonly others = ["table inet kube-proxy", "table inet antrea-not-ours"];
    applied = 0;
    failNext = false;
    failNextListing = false;

    get table(): string | undefined {
        return this.#table;
    }

    set table(table: string | undefined) {
        this.#table = table;
        this.change();
    }

    /** Somebody changes rules. */
    change(): void {
        if (this.generation !== undefined) this.generation += 1;
    }

    readonly run = (args: readonly string[], input: string): Promise<string> => {
        this.runs += 1;
        if (args.join(" ") === "-f -") {
            if (this.failNext) {
                this.failNext = false;
                return Promise.reject(new Error("Device or resource busy"));
            }
            this.applied += 1;
            const body = input.slice(input.indexOf("table inet antrea {"));
            this.table = input.includes("table inet antrea {") ? body : undefined;
            return Promise.resolve("");
        }
        if (this.failNextListing) {
            this.failNextListing = false;
            return Promise.reject(new Error("Interrupted system call"));
        }
        if (args.join(" ") === "list tables inet") {
            return Promise.resolve(
                [...this.others, ...(this.table === undefined ? [] : ["table inet antrea"]), ""].join("\n"),
            );
        }
        if (args.join(" ") === "list table inet antrea" && this.table !== undefined) return Promise.resolve(this.table);
        return Promise.reject(new Error(`nft ${args.join(" ")}: no such table`));
    };
}

const masqueradeBy = (nft: FakeNft): Masquerade =>
    new Masquerade({ nft: nft.run, generation: () => nft.generation, logger: silentLogger });

describe("the table", () => {
    it("is set once, and again only when it should be another", async () => {
        const nft = new FakeNft();
        const masquerade = masqueradeBy(nft);
        await masquerade.reconcile(dualInput);
        await masquerade.reconcile(dualInput);
        expect(nft.applied).toBe(1);
        await masquerade.reconcile({ ...dualInput, clusterPrefixes: [parsePrefix("10.10.9.0/24")] });
        expect(nft.applied).toBe(2);
        expect(nft.table).toContain("10.10.9.0/24");
    });

    it.each([
        ["changes it", "table inet antrea { }", 1],
        ["removes it", undefined, 1],
        ["changes it, on a kernel that names no generation", "table inet antrea { }", undefined],
    ])("comes back when somebody %s", async (_, table, generation) => {
        const nft = new FakeNft();
        nft.generation = generation;
        const masquerade = masqueradeBy(nft);
        await masquerade.reconcile(dualInput);
        const wanted = nft.table;
        nft.table = table;
        await masquerade.reconcile(dualInput);
        expect(nft.table).toBe(wanted);
    });

    it("is removed with noSNAT, also one that an earlier process made, and then left alone", async () => {
        const nft = new FakeNft();
        nft.table = "table inet antrea { old }";
        const masquerade = masqueradeBy(nft);
        await masquerade.reconcile({ ...dualInput, noSnat: true });
        expect(nft.table).toBeUndefined();
        await masquerade.reconcile({ ...dualInput, noSnat: true });
        expect(nft.applied).toBe(1);
    });

    it("is tried again after a failure", async () => {
        const nft = new FakeNft();
        nft.failNext = true;
        const masquerade = masqueradeBy(nft);
        await expect(masquerade.reconcile(dualInput)).rejects.toThrow("busy");
        await masquerade.reconcile(dualInput);
        expect(nft.table).toBeDefined();
    });

    it("is the wanted one again after a change that was applied and could not be listed was taken back", async () => {
        const nft = new FakeNft();
        const masquerade = masqueradeBy(nft);
        await masquerade.reconcile(dualInput);
        const wanted = nft.table;
        nft.failNextListing = true;
        const other = { ...dualInput, clusterPrefixes: [parsePrefix("10.10.9.0/24")] };
        await expect(masquerade.reconcile(other)).rejects.toThrow("Interrupted");
        expect(nft.table).not.toBe(wanted);
        await masquerade.reconcile(dualInput);
        expect(nft.table).toBe(wanted);
    });

    it("is listed only after somebody has changed rules, each time on a kernel that names no generation", async () => {
        const nft = new FakeNft();
        const masquerade = masqueradeBy(nft);
        const runs = async (): Promise<number> => {
            const before = nft.runs;
            await masquerade.reconcile(dualInput);
            return nft.runs - before;
        };
        await masquerade.reconcile(dualInput);
        expect([await runs(), await runs()]).toEqual([0, 0]);
        nft.change();
        expect([await runs(), await runs()]).toEqual([2, 0]);
        nft.generation = undefined;
        expect([await runs(), await runs()]).toEqual([2, 2]);
        expect(nft.applied).toBe(1);
    });
});
