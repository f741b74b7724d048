import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
    existsSync,
    mkdirSync,
    mkdtempSync,
    readFileSync,
    rmSync,
    statSync,
    truncateSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { formatPrefix, parsePrefix } from "@antrea/ip";
import { removeJournalFile } from "../../../../src/features/services/journal/journal-file.ts";
import { JournalStart, servedBy, servedOf } from "./journal-examples.ts";

let folder: string;
let file: string;

beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), "journal-")), "state");
    file = join(folder, "services.journal");
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true, force: true }));

const linesOf = (): readonly string[] => readFileSync(file, "utf8").trimEnd().split("\n");
/** What the next start reads. */
const readBy = async (start = new JournalStart(folder)): Promise<Readonly<Record<string, string>>> =>
    servedOf((await start.journal.read()).services);

/** A start that knows three Services, and whose journal has them. */
async function started(maxBytes?: number): Promise<JournalStart> {
    const start = new JournalStart(folder, maxBytes);
    for (const [at, name] of ["a", "b", "c"].entries()) start.set(name, [`10.10.0.${at + 1}`], `10.96.0.${at + 1}`);
    start.begin();
    await start.pass();
    return start;
}

describe("the journal of Services", () => {
    it("is what the index has, then a line for each Service that changed, one write for many changes", async () => {
        const start = await started();
        expect(linesOf()).toHaveLength(3);
        expect(statSync(file).mode & 0o777).toBe(0o600);
        expect(await readBy()).toEqual(servedBy(start.index));
        for (let n = 1; n <= 50; n += 1) start.set("b", [`10.10.1.${n}`], "10.96.0.2");
        start.set("d", [], "10.96.0.4");
        start.delete("c");
        expect(start.triggers).toBeGreaterThan(0);
        await start.pass();
        expect(linesOf()).toHaveLength(6);
        expect(await readBy()).toEqual(servedBy(start.index));
        expect(Object.keys(await readBy())).toEqual(["default/a", "default/b", "default/d"]);
        expect([start.log, start.failures]).toEqual([[], 0]);
    });

    it("is not written without a change, nor by one that leaves the objects as they are", async () => {
        const start = await started();
        const before = statSync(file).mtimeMs;
        await start.pass();
        start.set("a", ["10.10.0.1"], "10.96.0.1");
        start.journal.changed("default/unknown");
        await start.pass();
        expect(linesOf()).toHaveLength(3);
        expect(statSync(file).mtimeMs).toBe(before);
    });

    it("has the Service CIDRs as they are, a line for each change, also when it is replaced", async () => {
        const start = await started();
        const known = async (): Promise<readonly string[] | undefined> =>
            (await new JournalStart(folder).journal.read()).serviceCidrs?.map(formatPrefix);
        expect(await known()).toBeUndefined();
        const two = ["10.96.0.0/16", "fd00:96::/112"];
        for (const cidrs of [two, two.slice(0, 1), []]) {
            start.serviceCidrs = cidrs.map((text) => parsePrefix(text));
            start.journal.cidrsChanged();
            expect(start.triggers).toBe(1);
            await start.pass();
            expect(await known()).toEqual(cidrs);
        }
        expect(linesOf()).toHaveLength(6);
        start.journal.cidrsChanged();
        await start.pass();
        expect(linesOf()).toHaveLength(6);
        const next = new JournalStart(folder);
        next.serviceCidrs = [parsePrefix("10.97.0.0/16")];
        next.begin();
        await next.pass();
        expect(linesOf()).toHaveLength(1);
        expect(await known()).toEqual(["10.97.0.0/16"]);
        expect([start.log, await readBy()]).toEqual([[], {}]);
    });

    it("has nothing of Services that are not served", async () => {
        const start = await started();
        start.index.setService({
            metadata: { name: "a", namespace: "default", labels: { "service.kubernetes.io/service-proxy-name": "x" } },
            spec: { clusterIPs: ["10.96.0.1"], ports: [{ port: 80 }] },
        });
        start.journal.changed("default/a");
        await start.pass();
        expect(Object.keys(await readBy())).toEqual(["default/b", "default/c"]);
    });

    it("is replaced when it has grown to twice its size", async () => {
        const start = new JournalStart(folder);
        const ips = Array.from({ length: 1_000 }, (_, at) => `10.10.${at >> 8}.${at & 255}`);
        for (let n = 0; n < 8; n += 1) start.set(`s${n}`, ips, `10.96.0.${n + 1}`);
        start.begin();
        await start.pass();
        const { size } = statSync(file);
        let largest = 0;
        const sizes: number[] = [];
        for (let n = 0; n < 40; n += 1) {
            start.set("s1", ips.slice(n), "10.96.0.2");
            await start.pass();
            sizes.push(statSync(file).size);
            largest = Math.max(largest, statSync(file).size);
        }
        expect(largest).toBeGreaterThan(1.5 * size);
        expect(largest).toBeLessThanOrEqual(2 * size);
        expect(sizes.filter((one, at) => one < (sizes[at - 1] ?? 0)).length).toBeGreaterThan(1);
        expect(existsSync(`${file}.new`)).toBe(false);
        expect(await readBy()).toEqual(servedBy(start.index));
    });

    it("is begun anew at its limit; what does not fit is left out, logged once, and tried again later", async () => {
        const limit = 300_000;
        const start = await started(limit);
        const ips = Array.from({ length: 2_000 }, (_, at) => `10.10.${at >> 8}.${at & 255}`);
        for (let n = 1; n <= 6; n += 1) {
            start.set("b", ips.slice(n), "10.96.0.2");
            await start.pass();
            expect(statSync(file).size).toBeLessThanOrEqual(limit);
        }
        expect(await readBy()).toEqual(servedBy(start.index));
        expect(start.log).toEqual([]);
        for (let n = 10; n < 20; n += 1) start.set(`s${n}`, ips, `10.96.1.${n}`);
        expect(await start.pass()).toMatchObject({ againInMs: 600_000, failed: 1 });
        expect(await start.pass()).toMatchObject({ failed: 1 });
        expect(statSync(file).size).toBeLessThanOrEqual(limit);
        const known = await readBy();
        expect(Object.keys(known)).toEqual(expect.arrayContaining(["default/a", "default/b", "default/c"]));
        expect(servedBy(start.index)).toMatchObject(known);
        for (let n = 10; n < 20; n += 1) start.delete(`s${n}`);
        await start.clock.advance(600_000);
        expect(await start.pass()).toEqual({ againInMs: undefined });
        expect(await readBy()).toEqual(servedBy(start.index));
        expect(start.log.map(({ level }) => level)).toEqual(["warn", "info"]);
    });

    it("over the limit is not read, and begun anew", async () => {
        await started();
        const next = new JournalStart(folder, 100);
        expect((await next.journal.read()).services).toEqual([]);
        expect(next.log).toMatchObject([{ level: "warn", fields: { file, reason: expect.stringContaining("limit") } }]);
    });

    it("that cannot be written stays as it is; that is logged once, counted and retried", async () => {
        const start = await started();
        const before = await readBy();
        // a folder in the place of the temporary file, and a file that somebody has cut
        mkdirSync(`${file}.new`);
        truncateSync(file, statSync(file).size - 10);
        start.set("a", ["10.10.0.9"], "10.96.0.1");
        expect(await start.pass()).toMatchObject({ failed: 1 });
        // a change does not make it try sooner
        start.set("b", ["10.10.0.9"], "10.96.0.2");
        await start.pass();
        expect(start.failures).toBe(1);
        await start.clock.advance(60_000);
        await start.pass();
        expect(start.failures).toBe(2);
        expect(start.log).toMatchObject([{ level: "warn", fields: { file } }]);
        const { ["default/c"]: _, ...others } = before;
        expect(await readBy()).toEqual(others);
        rmSync(`${file}.new`, { recursive: true });
        await start.clock.advance(60_000);
        expect(await start.pass()).toEqual({ againInMs: undefined });
        expect(await readBy()).toEqual(servedBy(start.index));
        expect(start.log.map(({ level }) => level)).toEqual(["warn", "info"]);
    });

    it("that somebody removes is written anew at the next change", async () => {
        const start = await started();
        rmSync(folder, { recursive: true });
        start.set("a", ["10.10.0.9"], "10.96.0.1");
        await start.pass();
        await start.clock.advance(60_000);
        await start.pass();
        expect(await readBy()).toEqual(servedBy(start.index));
    });

    it("gets what has changed last when the agent ends, and stays the earlier one if it ends while it is replaced", async () => {
        const start = await started();
        start.set("a", ["10.10.0.9"], "10.96.0.1");
        await start.journal.close();
        expect(await readBy()).toEqual(servedBy(start.index));
        const next = new JournalStart(folder);
        next.set("z", ["10.10.0.1"]);
        await next.journal.close();
        next.begin();
        const stop = new AbortController();
        stop.abort(new DOMException("ended", "AbortError"));
        await expect(next.pass({ signal: stop.signal })).rejects.toThrow("cancelled");
        await next.journal.close();
        expect(await readBy()).toEqual(servedBy(start.index));
        expect(existsSync(`${file}.new`)).toBe(false);
    });

    it("of no start is empty, and removed where AntreaProxy is off", async () => {
        const start = new JournalStart(folder);
        expect([await start.journal.read(), start.log]).toEqual([{ services: [], serviceCidrs: undefined }, []]);
        await started();
        writeFileSync(`${file}.new`, "half");
        removeJournalFile(folder);
        removeJournalFile(folder);
        expect([existsSync(file), existsSync(`${file}.new`)]).toEqual([false, false]);
    });
});

it("the journal of Services has what the index has after any changes, starts and damage", async () => {
    const change = fc.record({
        name: fc.constantFrom("a", "b", "c", "d"),
        // 0: it is deleted
        endpoints: fc.nat(400),
    });
    const step = fc.record({
        before: fc.array(change, { maxLength: 3 }),
        during: fc.array(change, { maxLength: 3 }),
        then: fc.constantFrom("nothing", "cut", "remove", "restart", "blocked"),
    });
    await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
            rmSync(folder, { recursive: true, force: true });
            let start = new JournalStart(folder);
            start.begin();
            const make = (changes: (typeof steps)[number]["before"]): void => {
                for (const { name, endpoints } of changes) {
                    const ips = Array.from({ length: endpoints }, (_, at) => `10.10.${at >> 8}.${at & 255}`);
                    if (endpoints === 0) start.delete(name);
                    else start.set(name, ips, `10.96.0.${name.charCodeAt(0)}`);
                }
            };
            for (const { before, during, then } of steps) {
                make(before);
                await start.pass({ during: () => make(during) });
                if (then === "cut" && existsSync(file)) truncateSync(file, statSync(file).size >> 1);
                if (then === "remove") rmSync(folder, { recursive: true, force: true });
                if (then === "blocked") mkdirSync(`${file}.new`, { recursive: true });
                if (then !== "restart") continue;
                const { index } = start;
                await start.journal.close();
                start = new JournalStart(folder);
                for (const key of index.keys) {
                    const known = index.objects(key);
                    if (known !== undefined) start.index.setService(known.service);
                    for (const slice of known?.slices ?? []) start.index.setSlice(slice);
                }
                start.begin();
            }
            rmSync(`${file}.new`, { recursive: true, force: true });
            for (let tries = 0; tries < 2; tries += 1) {
                start.set("last", [`10.10.9.${tries}`], "10.96.9.9");
                await start.clock.advance(60_000);
                await start.pass();
            }
            expect(await readBy()).toEqual(servedBy(start.index));
        }),
        { numRuns: 200 },
    );
});

describe("a damaged journal", () => {
    it("of another version has nothing to read, and is begun anew", async () => {
        const start = await started();
        writeFileSync(file, readFileSync(file, "utf8").replaceAll(/^1 /gm, "2 "));
        const next = new JournalStart(folder);
        expect(await readBy(next)).toEqual({});
        expect(next.skippedLines).toBe(3);
        expect(next.log).toMatchObject([{ level: "warn", fields: { file, damaged: 0, ofOtherVersion: 3 } }]);
        next.set("a", ["10.10.0.1"]);
        next.begin();
        await next.pass();
        expect(Object.keys(await readBy())).toEqual(["default/a"]);
        expect(Object.keys(servedBy(start.index))).toHaveLength(3);
    });

    it("cut at any byte has all Services before the cut", async () => {
        const start = await started();
        const whole = readFileSync(file);
        const all = Object.entries(servedBy(start.index));
        const ends = [...whole.keys()].filter((at) => whole[at] === 0x0a);
        for (let at = 0; at <= whole.length; at += 1) {
            writeFileSync(file, whole.subarray(0, at));
            const next = new JournalStart(folder);
            const complete = ends.filter((end) => end <= at).length;
            expect([at, await readBy(next)]).toEqual([at, Object.fromEntries(all.slice(0, complete))]);
            const isCut = at > 0 && !ends.includes(at) && !ends.includes(at - 1);
            expect([at, next.skippedLines, next.log.length]).toEqual([at, isCut ? 1 : 0, isCut ? 1 : 0]);
        }
    });

    it("with any byte changed has all Services of the other lines", async () => {
        const start = await started();
        const whole = readFileSync(file);
        const all = Object.entries(servedBy(start.index));
        for (let at = 0; at < whole.length; at += 1) {
            for (const mask of [1 << (at % 8), 0xff]) {
                const bytes = Buffer.from(whole);
                bytes[at] = (bytes[at] ?? 0) ^ mask;
                writeFileSync(file, bytes);
                const next = new JournalStart(folder);
                const line = whole.subarray(0, at).filter((byte) => byte === 0x0a).length;
                // a line end that is none joins two lines
                const isEnd = whole[at] === 0x0a && at < whole.length - 1;
                const left = all.filter((_, index) => index !== line && !(isEnd && index === line + 1));
                expect([at, await readBy(next)]).toEqual([at, Object.fromEntries(left)]);
                expect(next.skippedLines).toBeGreaterThan(0);
                expect(next.log).toHaveLength(1);
            }
        }
    });

    it("in any way never has what was not written", async () => {
        const start = await started();
        start.set("b", ["10.10.0.7"], "10.96.0.2");
        start.delete("c");
        await start.pass();
        const whole = readFileSync(file);
        const written = new Set(
            (await Promise.all(linesOf().map((_, at) => servedBefore(at + 1)))).flatMap((one) => Object.values(one)),
        );
        writeFileSync(file, whole);
        const damage = fc.record({
            kind: fc.constantFrom("cut", "insert", "remove", "repeat", "flip"),
            at: fc.nat(whole.length - 1),
            length: fc.integer({ min: 1, max: 400 }),
            byte: fc.integer({ min: 1, max: 255 }),
        });
        const damages = fc.array(damage, { minLength: 1, maxLength: 4 });
        await fc.assert(
            fc.asyncProperty(damages, async (list) => {
                let bytes = Buffer.from(whole);
                for (const { kind, at, length, byte } of list) {
                    const [before, part, after] = [
                        bytes.subarray(0, at),
                        bytes.subarray(at, at + length),
                        bytes.subarray(at + length),
                    ];
                    if (kind === "cut") bytes = Buffer.from(before);
                    if (kind === "insert") bytes = Buffer.concat([before, Buffer.alloc(length, byte), part, after]);
                    if (kind === "remove") bytes = Buffer.concat([before, after]);
                    if (kind === "repeat") bytes = Buffer.concat([before, part, part, after]);
                    if (kind === "flip") bytes = Buffer.concat([before, part.map((one) => one ^ byte), after]);
                }
                writeFileSync(file, bytes);
                const next = new JournalStart(folder);
                for (const served of Object.values(await readBy(next))) expect(written).toContain(served);
                expect(next.log.length).toBe(next.skippedLines === 0 ? 0 : 1);
            }),
            { numRuns: 500 },
        );
    });

    /** What a file of the first lines has. */
    async function servedBefore(lines: number): Promise<Readonly<Record<string, string>>> {
        const parts = mkdtempSync(join(folder, "part-"));
        writeFileSync(join(parts, "services.journal"), `${linesOf().slice(0, lines).join("\n")}\n`);
        return servedOf((await new JournalStart(parts).journal.read()).services);
    }

    it("with a line without end is read up to it", async () => {
        const start = await started();
        const [first = "", ...rest] = linesOf();
        writeFileSync(
            file,
            Buffer.concat([Buffer.from(`${first}\n`), Buffer.alloc(40 << 20, 0x61), Buffer.from("\n")]),
        );
        writeFileSync(file, rest.map((line) => `${line}\n`).join(""), { flag: "a" });
        const next = new JournalStart(folder);
        expect(await readBy(next)).toEqual(servedBy(start.index));
        expect(next.skippedLines).toBe(1);
    });
});
