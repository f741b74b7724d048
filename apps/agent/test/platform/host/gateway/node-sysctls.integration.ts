import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { getSysctl, setSysctl } from "@antrea/netlink";
import { NodeSysctls } from "../../../../src/platform/host/gateway/index.ts";
import { silentLogger } from "../../../support/logger.ts";

const key = "net/ipv4/neigh/default/gc_stale_time";

describe("sysctls of the Node", () => {
    it("are kept, for root only, as they were, and set back", () => {
        const folder = mkdtempSync(join(tmpdir(), "sysctls-"));
        const before = getSysctl(undefined, key);
        const sysctls = new NodeSysctls({ logger: silentLogger }, { folder, bootId: "boot" });
        try {
            sysctls.set(key, "61");
            const path = join(folder, "sysctls.json");
            expect(statSync(path).mode & 0o777).toBe(0o600);
            expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
                changes: { [key]: { before, after: "61" } },
            });
            expect(new NodeSysctls({ logger: silentLogger }, { folder, bootId: "another" }).restore()).toEqual([]);
            expect(sysctls.restore()).toEqual([key]);
            expect(getSysctl(undefined, key)).toBe(before);
        } finally {
            setSysctl(undefined, key, before);
            rmSync(folder, { recursive: true });
        }
    });

    it("are held until they are undone, which is forgotten then: what others set later is theirs", () => {
        const folder = mkdtempSync(join(tmpdir(), "sysctls-"));
        const before = getSysctl(undefined, key);
        const sysctls = new NodeSysctls({ logger: silentLogger }, { folder, bootId: "boot" });
        try {
            expect(sysctls.held()).toEqual([]);
            sysctls.set(key, "61");
            expect(new NodeSysctls({ logger: silentLogger }, { folder, bootId: "boot" }).held()).toEqual([key]);
            setSysctl(undefined, key, "62");
            expect(sysctls.held()).toEqual([]);
            setSysctl(undefined, key, "61");
            sysctls.undo(key);
            expect(getSysctl(undefined, key)).toBe(before);
            setSysctl(undefined, key, "61");
            expect(sysctls.held()).toEqual([]);
            sysctls.undo(key);
            expect(getSysctl(undefined, key)).toBe("61");
        } finally {
            setSysctl(undefined, key, before);
            rmSync(folder, { recursive: true });
        }
    });
});
