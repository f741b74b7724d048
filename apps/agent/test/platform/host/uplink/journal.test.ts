import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatEntry, parseEntry } from "../../../../src/platform/host/uplink/journal-codec.ts";
import { Journal } from "../../../../src/platform/host/uplink/journal.ts";
import { silentLogger } from "../../../support/logger.ts";
import { entry } from "./support/entries.ts";

describe("an entry of the journal", () => {
    it("comes back as it went, addresses as text", () => {
        const text = formatEntry(entry);
        expect(parseEntry(text)).toEqual(entry);
        expect(JSON.parse(text)).toMatchObject({
            version: 1,
            saved: { addresses: [{ ip: "10.0.0.2" }, { lifetime: { validSeconds: "forever" } }] },
        });
        const { hostIndex: _, ...without } = entry;
        expect(parseEntry(formatEntry(without))).toEqual(without);
    });

    it("is none when it is damaged anywhere", () => {
        const text = formatEntry(entry).trimEnd();
        for (let length = 0; length < text.length; length++) expect(parseEntry(text.slice(0, length))).toBeUndefined();
    });

    it.each<[string, (value: Record<string, unknown>) => unknown]>([
        ["of another version", (value) => ({ ...value, version: 2 })],
        ["with an unknown step", (value) => ({ ...value, step: "fly" })],
        ["without a name", ({ name: _, ...value }) => value],
        ["without the NIC", (value) => ({ ...value, nic: undefined })],
        [
            "whose addresses are no list",
            (value) => ({ ...value, saved: { ...(value["saved"] as object), addresses: 5 } }),
        ],
        [
            "with an address that is none",
            (value) => ({ ...value, saved: { ...(value["saved"] as object), addresses: [{ ip: "x" }] } }),
        ],
        [
            "with metrics that are none",
            (value) => ({ ...value, saved: { ...(value["saved"] as object), routes: [{ metrics: { 2: {} } }] } }),
        ],
        ["that is a list", () => []],
        ["that is null", () => null],
    ])("is none %s", (_, change) => {
        expect(
            parseEntry(JSON.stringify(change(JSON.parse(formatEntry(entry)) as Record<string, unknown>))),
        ).toBeUndefined();
    });
});

describe("the journal", () => {
    let folder: string;

    beforeEach(() => {
        folder = mkdtempSync(join(tmpdir(), "journal-"));
    });

    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    const open = (path: string): Journal => new Journal({ logger: silentLogger }, { folder: path });

    it("is read by the next start, replaced as a whole, removed", async () => {
        const path = join(folder, "a", "b");
        await open(path).write(entry);
        await open(path).write({ ...entry, step: "bridged" });
        const next = open(path);
        expect(await next.read()).toEqual({ ...entry, step: "bridged" });
        expect(next.entry?.step).toBe("bridged");
        expect(readdirSync(path)).toEqual(["uplink.json"]);
        await next.remove();
        await next.remove();
        expect(next.entry).toBeUndefined();
        expect(await open(path).read()).toBeUndefined();
    });

    it("is none when there is no folder, or the file is not ours", async () => {
        expect(await open(join(folder, "missing")).read()).toBeUndefined();
        await open(join(folder, "missing")).remove();
        writeFileSync(join(folder, "uplink.json"), "{");
        expect(await open(folder).read()).toBeUndefined();
    });

    it("reports it when it cannot be written", async () => {
        writeFileSync(join(folder, "file"), "");
        await expect(open(join(folder, "file")).write(entry)).rejects.toMatchObject({ code: "JOURNAL_UNWRITABLE" });
    });

    it("that cannot be written, read or removed keeps no rollback from being made", async () => {
        const path = join(folder, "full");
        // What stands in the way of the draft and of the file refuses as a full disk does, also to root.
        mkdirSync(join(path, "uplink.json.new"), { recursive: true });
        mkdirSync(join(path, "uplink.json"));
        const journal = open(path);
        expect(await journal.read()).toBeUndefined();
        let isMade = false;
        await journal.makeAnyway("switch-back", entry, async () => void (isMade = true));
        expect([isMade, journal.entry?.step]).toEqual([true, "switch-back"]);
        await journal.removeAnyway();
        expect(journal.entry).toBeUndefined();
        await expect(journal.make("switch", entry, () => Promise.resolve())).rejects.toMatchObject({
            code: "JOURNAL_UNWRITABLE",
        });
        await expect(journal.remove()).rejects.toMatchObject({ code: "JOURNAL_UNWRITABLE" });
    });

    it("has the line of a step on disk before its effect", async () => {
        const seen: string[] = [];
        const journal: Journal = new Journal(
            {
                logger: silentLogger,
                fault: (_, moment) => void seen.push(`${moment} ${journal.entry?.step ?? "none"}`),
            },
            { folder },
        );
        await journal.make("rename", entry, async () => {
            seen.push(`effect ${(await open(folder).read())?.step ?? "none"}`);
        });
        expect(seen).toEqual(["before none", "written rename", "effect rename", "made rename"]);
    });
});
