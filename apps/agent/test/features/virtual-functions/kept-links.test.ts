import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
    existsSync,
    mkdirSync,
    mkdtempSync,
    readdirSync,
    readFileSync,
    rmSync,
    statSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { formatStored, parseStored, type KeptLink } from "../../../src/features/virtual-functions/kept-link.ts";
import { KeptLinks } from "../../../src/features/virtual-functions/kept-links.ts";
import type { DeviceId } from "../../../src/platform/pod-interfaces/index.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";

const device: DeviceId = { bus: "pci", id: "0000:af:06.0" };
const kept: KeptLink = {
    containerId: "c1",
    ifName: "eth1",
    device,
    port: "0",
    kind: undefined,
    former: {
        name: "vf0",
        mtu: 9000,
        mac: "02:00:00:00:00:01",
        up: true,
        alias: "rack 7,  port 1 ",
        group: 0,
        promiscuous: false,
        altNames: ["enp175s0f0v0"],
    },
};

let stateFolder: string;
let folder: string;
let log: LogEntry[];

beforeEach(() => {
    stateFolder = mkdtempSync(join(tmpdir(), "state-"));
    [folder, log] = [join(stateFolder, "virtual-functions"), []];
});
afterEach(() => rmSync(stateFolder, { recursive: true }));

const open = (bootId = "boot-1"): KeptLinks => new KeptLinks({ logger: listLogger(log) }, { stateFolder, bootId });
const warned = (): readonly unknown[] => log.map(({ level, fields }) => [level, fields["file"]]);

describe("what is kept of a link", () => {
    it.each<[string, KeptLink]>([
        ["of a NIC", kept],
        ["of a kind", { ...kept, kind: "veth", port: "" }],
        ["of the auxiliary bus", { ...kept, device: { bus: "auxiliary", id: "mlx5_core.sf.4" } }],
    ])("is read by the next agent: %s", async (_, one) => {
        await open().write(one);
        expect(open().read(one.device)).toEqual(one);
        expect(open().list()).toEqual([one]);
    });

    it("is replaced as a whole, readable for root only, and removed", async () => {
        const links = open();
        await links.write(kept);
        const next = { ...kept, containerId: "c2" };
        await links.write(next);
        expect(links.read(device)).toEqual(next);
        expect(readdirSync(folder)).toEqual(["pci-0000:af:06.0.json"]);
        expect(statSync(links.fileOf(device)).mode & 0o777).toBe(0o600);
        await links.remove(device);
        await links.remove(device);
        expect(readdirSync(folder)).toEqual([]);
        expect([links.read(device), links.list()]).toEqual([undefined, []]);
        expect(log).toEqual([]);
    });

    it("is nothing where nothing was written", async () => {
        expect([open().read(device), open().list()]).toEqual([undefined, []]);
        await open().remove(device);
        await open().removeEarlierBoots();
        expect(existsSync(folder)).toBe(false);
        expect(log).toEqual([]);
    });

    it("is in the folder whatever the device is called", async () => {
        const ids = ["../../../etc/passwd", "..", ".", "/", "a/b", "a\0b", "\ud800", "x%2Fy", "x/y", "ä", "a b"];
        const all = ids.map((id) => ({ ...kept, device: { bus: "auxiliary" as const, id } }));
        const files = all.map((one) => open().fileOf(one.device));
        for (const file of files) expect(dirname(file)).toBe(folder);
        expect(new Set(files).size).toBe(files.length);
        const writable = all.filter(({ device: { id } }) => id.isWellFormed());
        for (const one of writable) await open().write(one);
        expect(readdirSync(stateFolder)).toEqual(["virtual-functions"]);
        expect(readdirSync(folder)).toHaveLength(writable.length);
        for (const one of writable) expect(open().read(one.device)).toEqual(one);
    });

    it("is nothing after another boot, whose start removes it", async () => {
        await open("boot-1").write(kept);
        const next = open("boot-2");
        expect([next.read(device), next.list()]).toEqual([undefined, []]);
        const own = { ...kept, device: { bus: "pci" as const, id: "0000:af:06.1" } };
        await next.write(own);
        await next.removeEarlierBoots();
        expect(readdirSync(folder)).toEqual(["pci-0000:af:06.1.json"]);
        expect(log).toEqual([]);
    });
});

describe("a file that is none", () => {
    const text = formatStored({ ...kept, bootId: "boot-1" });

    it("is one that is damaged anywhere", () => {
        expect(parseStored(text)).toEqual({ ...kept, bootId: "boot-1" });
        const whole = text.trimEnd();
        for (let length = 0; length < whole.length; length++)
            expect(parseStored(whole.slice(0, length))).toBeUndefined();
    });

    const former = (change: object): object => ({ former: { ...kept.former, ...change } });
    it.each<[string, object]>([
        ["of another version", { version: 2 }],
        ["without a boot", { bootId: undefined }],
        ["without a container", { containerId: "" }],
        ["whose interface is no text", { ifName: 5 }],
        ["without a port", { port: undefined }],
        ["with an empty kind", { kind: "" }],
        ["without a device", { device: undefined }],
        ["of an unknown bus", { device: { bus: "usb", id: "1-1" } }],
        ["of a device without name", { device: { bus: "pci", id: "" } }],
        ["without what the link was", { former: null }],
        ["without a name", former({ name: "" })],
        ["with an MTU that is none", former({ mtu: 1500.5 })],
        ["with an MTU of 0", former({ mtu: 0 })],
        ["with an MTU as text", former({ mtu: "1500" })],
        ["with a MAC address that is none", former({ mac: "02:00" })],
        ["with a state that is none", former({ up: "up" })],
        ["without an alias", former({ alias: undefined })],
        ["with a group below 0", former({ group: -1 })],
        ["without promiscuous mode, on or off", former({ promiscuous: null })],
        ["with an alternative name that is none", former({ altNames: ["a", 5] })],
        ["whose alternative names are no list", former({ altNames: "a" })],
    ])("is one %s; it is logged once, until it is written again", async (_, change) => {
        const links = open();
        await links.write(kept);
        writeFileSync(links.fileOf(device), JSON.stringify({ ...(JSON.parse(text) as object), ...change }));
        for (let time = 0; time < 2; time++) expect([links.read(device), links.list()]).toEqual([undefined, []]);
        expect(warned()).toEqual([["warn", links.fileOf(device)]]);
        await links.write(kept);
        expect(links.read(device)).toEqual(kept);
        rmSync(links.fileOf(device));
        mkdirSync(links.fileOf(device));
        expect(links.read(device)).toBeUndefined();
        expect(warned()).toHaveLength(2);
    });

    it.each(["", "null", "[]", "5", "{}", '"text"'])("is %j", (one) => {
        expect(parseStored(one)).toBeUndefined();
    });

    it("is that of another device", async () => {
        const links = open();
        const other: DeviceId = { bus: "pci", id: "0000:af:06.1" };
        await links.write(kept);
        writeFileSync(links.fileOf(other), readFileSync(links.fileOf(device)));
        expect(links.read(other)).toBeUndefined();
        expect(links.list()).toEqual([kept]);
    });

    it("is one that cannot be written, which the writer learns", async () => {
        writeFileSync(folder, "");
        const links = open();
        await expect(links.write(kept)).rejects.toMatchObject({ code: "EEXIST" });
        expect([links.read(device), links.list()]).toEqual([undefined, []]);
        expect(log.every(({ level }) => level === "warn")).toBe(true);
    });
});
