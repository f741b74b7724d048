import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JournalStart, servedBy, servedOf } from "./journal-examples.ts";

/** A small file system. */
let folder: string;

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "journal-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]);
});
afterEach(() => {
    execFileSync("umount", [folder]);
    rmSync(folder, { recursive: true });
});

const known = async (): Promise<Readonly<Record<string, string>>> =>
    servedOf((await new JournalStart(folder).journal.read()).services);
const manyIps = Array.from({ length: 4_000 }, (_, at) => `10.${at >> 8}.0.${at & 255}`);

async function started(): Promise<JournalStart> {
    const start = new JournalStart(folder);
    start.set("a", ["10.10.0.1"], "10.96.0.1");
    start.set("b", ["10.10.0.2"], "10.96.0.2");
    start.begin();
    expect(await start.pass()).toEqual({ againInMs: undefined });
    return start;
}

it("on a full disk stays readable, as a file that lacks what did not fit, and is complete when there is space", async () => {
    const start = await started();
    const before = servedBy(start.index);
    writeFileSync(join(folder, "filler"), Buffer.alloc(900 << 10));
    start.set("large", manyIps, "10.96.0.3");
    expect(await start.pass()).toMatchObject({ failed: 1 });
    expect(await known()).toMatchObject(before);
    for (let tries = 0; tries < 3; tries += 1) {
        await start.clock.advance(60_000);
        await start.pass();
        expect(await known()).toMatchObject(before);
    }
    expect(start.failures).toBe(4);
    expect(start.log).toMatchObject([{ level: "warn", fields: { reason: expect.stringContaining("ENOSPC") } }]);
    rmSync(join(folder, "filler"));
    await start.clock.advance(60_000);
    expect(await start.pass()).toEqual({ againInMs: undefined });
    expect(await known()).toEqual(servedBy(start.index));
    expect(Object.keys(await known())).toHaveLength(3);
    expect(start.log.map(({ level }) => level)).toEqual(["warn", "info"]);
});

it("on a disk that is read-only stays as it is", async () => {
    const start = await started();
    const before = readFileSync(join(folder, "services.journal"), "utf8");
    execFileSync("mount", ["-o", "remount,ro", folder]);
    start.set("a", ["10.10.0.9"], "10.96.0.1");
    expect(await start.pass()).toMatchObject({ failed: 1 });
    await start.clock.advance(60_000);
    await start.pass();
    expect(readFileSync(join(folder, "services.journal"), "utf8")).toBe(before);
    expect(start.log).toMatchObject([{ level: "warn", fields: { reason: expect.stringContaining("EROFS") } }]);
    execFileSync("mount", ["-o", "remount,rw", folder]);
    await start.clock.advance(60_000);
    expect(await start.pass()).toEqual({ againInMs: undefined });
    expect(await known()).toEqual(servedBy(start.index));
});
