import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeviceLinks, deviceOf } from "../../../src/features/virtual-functions/sysfs.ts";

describe("the name of a device", () => {
    it.each([
        ["0000:af:06.0", "pci"],
        ["10000:AF:1f.7", "pci"],
        ["mlx5_core.sf.4", "auxiliary"],
        ["net-1", "auxiliary"],
    ])("%s is of bus %s", (id, bus) => {
        expect(deviceOf(id)).toEqual({ bus, id });
    });

    it.each(["", ".", "..", "a/b", "../../class/net/eth0", "a..b", ".a", "a b", "0000:af:06.0/net", "ä"])(
        "%j is none",
        (id) => {
            expect(deviceOf(id)).toBeUndefined();
        },
    );
});

describe("the links of a device", () => {
    let root: string;
    let links: DeviceLinks;
    const device = { bus: "pci", id: "0000:af:06.0" } as const;

    beforeEach(() => {
        root = mkdtempSync(join(tmpdir(), "sys-"));
        links = new DeviceLinks({ root });
    });
    afterEach(() => rmSync(root, { recursive: true }));

    it("are those that sysfs names, in the order of their names, each with its port", async () => {
        for (const name of ["ens1f0v1", "ens1f0v0"]) mkdirSync(join(links.folderOf(device), name), { recursive: true });
        writeFileSync(join(links.folderOf(device), "ens1f0v1", "dev_port"), "1\n");
        expect(links.folderOf(device)).toBe(join(root, "bus/pci/devices/0000:af:06.0/net"));
        expect(await links.linksOf(device)).toEqual([
            { name: "ens1f0v0", port: "" },
            { name: "ens1f0v1", port: "1" },
        ]);
    });

    it("are none without a driver, in another namespace, and of a device that is not there", async () => {
        expect(await links.linksOf(device)).toEqual([]);
        mkdirSync(links.folderOf(device), { recursive: true });
        expect(await links.linksOf(device)).toEqual([]);
        const other = { bus: "auxiliary", id: "sf" } as const;
        mkdirSync(join(root, "bus/auxiliary/devices/sf"), { recursive: true });
        writeFileSync(links.folderOf(other), "");
        expect(await links.linksOf(other)).toEqual([]);
    });
});
