import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { LastGoodStatus } from "../src/last-good-status.ts";

const bootId = "e802e8da-285a-430d-928c-ca50e411e016";

let folder: string;
let file: string;
let uptimeS: number;
let boot: string;

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "antrea-cni-"));
    file = join(folder, "cni-status");
    uptimeS = 1000.25;
    boot = bootId;
});

afterEach(() => {
    rmSync(folder, { recursive: true });
});

/** Each as a process of its own would have it: the file alone is common. */
function status(path = file): LastGoodStatus {
    return new LastGoodStatus(
        {
            ...fs,
            readFileSync: (from: string) => {
                if (from === "/proc/uptime") return `${uptimeS.toFixed(2)} 17.00\n`;
                if (from === "/proc/sys/kernel/random/boot_id") return `${boot}\n`;
                return fs.readFileSync(from, "utf8");
            },
        },
        { file: path, pid: 7 },
    );
}

describe("the last good answer to STATUS", () => {
    it("is recent for 60 s, by a clock that nobody can set", () => {
        status().keep();
        expect(status().check()).toEqual({ recent: true, text: "the last good answer was 0 s ago" });
        uptimeS += 59.99;
        expect(status().check()).toMatchObject({ recent: true });
        uptimeS += 0.01;
        expect(status().check()).toEqual({ recent: false, text: "the last good answer was 60 s ago" });
    });

    it("counts from the last one, which takes the place of the one before whole", () => {
        status().keep();
        uptimeS += 50;
        status().keep();
        uptimeS += 50;
        expect(status().check()).toMatchObject({ recent: true });
        expect(readdirSync(folder)).toEqual(["cni-status"]);
        expect(statSync(file).mode & 0o777).toBe(0o600);
        expect(readFileSync(file, "utf8")).toBe(`${bootId} 1050.25\n`);
    });

    it("of another boot of the Node does not count", () => {
        status().keep();
        boot = "aaaaaaaa-285a-430d-928c-ca50e411e016";
        uptimeS += 10;
        expect(status().check()).toEqual({ recent: false, text: "there was no good answer since the Node started" });
    });

    it.each([
        ["that is empty", ""],
        ["cut in the middle", bootId.slice(0, 20)],
        ["of other text", "good\n"],
        ["with a time that is none", `${bootId} Infinity\n`],
        ["with a time below 0", `${bootId} -5\n`],
        ["with more behind the time", `${bootId} 1000.25 1\n`],
        ["of NUL bytes, as a full disk leaves them", "\0".repeat(48)],
    ])("in a file %s does not count, and the next good answer mends it", (_name, text) => {
        writeFileSync(file, text);
        expect(status().check()).toEqual({ recent: false, text: `${file} holds no time of a good answer` });
        status().keep();
        expect(status().check()).toMatchObject({ recent: true });
    });

    it("with a time that is still to come does not count: a clock that went back must not keep it good for ever", () => {
        status().keep();
        uptimeS -= 0.01;
        expect(status().check()).toEqual({ recent: false, text: `${file} holds no time of a good answer` });
    });

    it("is unknown when there is no file", () => {
        expect(status().check()).toEqual({ recent: false, text: `there is no ${file} with the time of a good answer` });
    });

    it("cannot be kept in a folder that is not there: reading reports it, keeping never fails", () => {
        const path = join(folder, "missing", "cni-status");
        status(path).keep();
        expect(status(path).check()).toMatchObject({ recent: false, text: expect.stringContaining(path) });
    });

    it("does not fail where a folder stands in the place of the file, and leaves nothing behind", () => {
        mkdirSync(join(file, "x"), { recursive: true });
        status().keep();
        expect(status().check()).toMatchObject({
            recent: false,
            text: expect.stringContaining(`${file} cannot be read`),
        });
        expect(readdirSync(folder)).toEqual(["cni-status"]);
    });

    it("does not fail where /proc shows no time", () => {
        const unreadable = new LastGoodStatus(
            {
                ...fs,
                readFileSync: () => {
                    throw new Error("EACCES");
                },
            },
            { file, pid: 7 },
        );
        unreadable.keep();
        expect(unreadable.check()).toMatchObject({ recent: false });
    });
});
