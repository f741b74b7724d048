import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { movedNics, nicFolder } from "../../../../src/platform/host/uplink/index.ts";

let folder: string;

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "nic-folders-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("no NIC is moved without a journal: neither before the first, nor where a folder is empty", () => {
    expect(movedNics(folder)).toEqual([]);
    mkdirSync(nicFolder(folder, "eth1"), { recursive: true });
    expect(movedNics(folder)).toEqual([]);
});

it("those with journals are found, apart from the one of bridging mode", () => {
    writeFileSync(join(folder, "uplink.json"), "{}");
    for (const nic of ["eth2", "eth1"]) {
        mkdirSync(nicFolder(folder, nic), { recursive: true });
        writeFileSync(join(nicFolder(folder, nic), "uplink.json"), "{}");
    }
    expect(movedNics(folder)).toEqual(["eth1", "eth2"]);
});
