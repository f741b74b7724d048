import { describe, expect, it } from "@jest/globals";
import { parsePrefix } from "@antrea/ip";
import { Masquerade } from "../../../src/features/masquerade/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { dualInput } from "./inputs.ts";

/** nft(8) as far as it is used here: one text for our table, others beside it. */
class FakeNft {
    table: string | undefined;
    readonly others = ["table inet kube-proxy", "table inet antrea-not-ours"];
    applied = 0;
    failNext = false;

    readonly run = (args: readonly string[], input: string): Promise<string> => {
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
        if (args.join(" ") === "list tables inet") {
            return Promise.resolve(
                [...this.others, ...(this.table === undefined ? [] : ["table inet antrea"]), ""].join("\n"),
            );
        }
        if (args.join(" ") === "list table inet antrea" && this.table !== undefined) return Promise.resolve(this.table);
        return Promise.reject(new Error(`nft ${args.join(" ")}: no such table`));
    };
}

describe("the table", () => {
    it("is set once, and again only when it should be another", async () => {
        const nft = new FakeNft();
        const masquerade = new Masquerade({ nft: nft.run, logger: silentLogger });
        await masquerade.reconcile(dualInput);
        await masquerade.reconcile(dualInput);
        expect(nft.applied).toBe(1);
        await masquerade.reconcile({ ...dualInput, clusterPrefixes: [parsePrefix("10.10.9.0/24")] });
        expect(nft.applied).toBe(2);
        expect(nft.table).toContain("10.10.9.0/24");
    });

    it.each([
        ["changed", "table inet antrea { }"],
        ["removed", undefined],
    ])("comes back when somebody %s it", async (_, table) => {
        const nft = new FakeNft();
        const masquerade = new Masquerade({ nft: nft.run, logger: silentLogger });
        await masquerade.reconcile(dualInput);
        const wanted = nft.table;
        nft.table = table;
        await masquerade.reconcile(dualInput);
        expect(nft.table).toBe(wanted);
    });

    it("is removed with noSNAT, also one that an earlier process made, and then left alone", async () => {
        const nft = new FakeNft();
        nft.table = "table inet antrea { old }";
        const masquerade = new Masquerade({ nft: nft.run, logger: silentLogger });
        await masquerade.reconcile({ ...dualInput, noSnat: true });
        expect(nft.table).toBeUndefined();
        await masquerade.reconcile({ ...dualInput, noSnat: true });
        expect(nft.applied).toBe(1);
    });

    it("is tried again after a failure", async () => {
        const nft = new FakeNft();
        nft.failNext = true;
        const masquerade = new Masquerade({ nft: nft.run, logger: silentLogger });
        await expect(masquerade.reconcile(dualInput)).rejects.toThrow("busy");
        await masquerade.reconcile(dualInput);
        expect(nft.table).toBeDefined();
    });
});
