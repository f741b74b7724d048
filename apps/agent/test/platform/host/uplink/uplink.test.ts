import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { mkdtempSync, rmSync } from "node:fs";
import { uptime, tmpdir } from "node:os";
import { join } from "node:path";
import { parseIp } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import { Journal } from "../../../../src/platform/host/uplink/journal.ts";
import type { UplinkPorts } from "../../../../src/platform/host/uplink/types.ts";
import { Uplink } from "../../../../src/platform/host/uplink/uplink.ts";
import { bootContextOf } from "../../../../src/platform/host/uplink/boot-context.ts";
import { silentLogger } from "../../../support/logger.ts";
import { entry } from "./support/entries.ts";
import { addressOf, fakeNetlink, linkOf } from "./support/fake-links.ts";

const own = parseIp("10.0.0.2");
const signal = new AbortController().signal;

let folder: string;
let links: Link[];
let rows: Set<string>;
let problem: string | undefined;
/** What OVS does at its next port, once. */
let next: (() => Promise<void>) | undefined;
let made: string[];

const ports: { -readonly [Key in keyof UplinkPorts]: UplinkPorts[Key] } = {
    port: (name) => (rows.has(name) ? { externalIds: new Map([["antrea-type", "host"]]) } : undefined),
    bridgeOf: () => undefined,
    ensurePort: async ({ name }) => {
        const work = next;
        next = undefined;
        await work?.();
        made.push(name);
        rows.add(name);
    },
    deletePort: leavesDevice,
    acknowledged: () => Promise.resolve(),
    ofPort: async () => 1,
};

async function leavesDevice(name: string): Promise<void> {
    rows.delete(name);
}

/** The device of the host port goes with its port. */
async function deletesDevice(name: string): Promise<void> {
    rows.delete(name);
    if (links[1]?.name === name) links.splice(1, 1);
}

beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "uplink-"));
    ports.deletePort = leavesDevice;
    ports.acknowledged = () => Promise.resolve();
    [rows, made, problem, next] = [new Set(["eth0", "eth0~"]), [], undefined, undefined];
    links = [linkOf(2, "eth0~"), linkOf(7, "eth0", { kind: "openvswitch" })];
    const saved = { takenAt: uptime(), addresses: [], routes: [], neighbours: [], altNames: [] };
    const here = await bootContextOf("boot");
    const { ipv6Disabled: _, addrGenMode: _mode, ...nic } = { ...entry.nic, txChecksumOffload: false };
    await new Journal({ logger: silentLogger }, { folder }).write({ ...entry, ...here, step: "bridged", nic, saved });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A Node of the kernel's datapath, whose move an earlier agent completed. */
function uplinkOf(copiesFrames = false): Uplink {
    return new Uplink(
        {
            netlink: fakeNetlink(links, [addressOf(7, own)]),
            ports,
            logger: silentLogger,
            apiReachable: () => Promise.resolve(true),
            ovsProblem: () => problem,
        },
        {
            folder,
            bootId: "boot",
            checkTimeoutMs: 1_000,
            uplinkOfPort: 1,
            hostOfPort: 2,
            linkGroup: 178,
            copiesFrames,
            mustComputeChecksums: false,
            timing: { lossMs: 40, carrierMs: 20, ovsMs: 20 },
        },
    );
}

describe("taking up a move of an earlier agent", () => {
    it("is repeated until it is done, and not reported to be done before", async () => {
        const uplink = uplinkOf();
        expect(await uplink.recover()).toEqual({ kind: "found", name: "eth0" });
        next = () => Promise.reject(new TypeError("no port"));
        await expect(uplink.connect("eth0", signal)).rejects.toThrow("no port");
        expect(uplink.state).toEqual({ kind: "found", name: "eth0" });
        expect(await uplink.connect("eth0", signal)).toMatchObject({ kind: "bridged", physicalName: "eth0~" });
        expect(made).toEqual(["eth0", "eth0~"]);
    });

    it("waits for OVS", async () => {
        const uplink = uplinkOf();
        await uplink.recover();
        problem = "ovs-vswitchd is not connected";
        expect(await uplink.connect("eth0", signal)).toEqual({ kind: "found", name: "eth0" });
        expect(made).toEqual([]);
    });

    it("is done again when the ports vanish from the database while the links stand", async () => {
        const uplink = uplinkOf();
        await uplink.recover();
        await uplink.connect("eth0", signal);
        made.length = 0;
        await uplink.check(signal);
        expect(made).toEqual([]);
        rows.clear();
        expect(await uplink.check(signal)).toMatchObject({ kind: "bridged" });
        expect([...rows].sort()).toEqual(["eth0", "eth0~"]);
    });
});

describe("an OVS that stays away", () => {
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));

    async function away(copiesFrames: boolean, change: () => void): Promise<Uplink> {
        const uplink = uplinkOf(copiesFrames);
        await uplink.recover();
        await uplink.connect("eth0", signal);
        problem = "ovs-vswitchd is not connected";
        change();
        await uplink.check(signal);
        await pause();
        await uplink.check(signal);
        return uplink;
    }

    const stop = (): void => void (links[1] = linkOf(7, "eth0", { kind: "openvswitch", running: false }));

    it("keeps the NIC on the kernel's datapath, which goes on, as long as the links stand", async () => {
        expect((await away(false, stop)).state).toMatchObject({ kind: "bridged" });
    });

    it("also at a start", async () => {
        stop();
        expect(await uplinkOf(false).recover()).toMatchObject({ kind: "found" });
        ports.deletePort = deletesDevice;
        expect(await uplinkOf(true).recover()).toMatchObject({ kind: "idle" });
    });

    it.each([
        ["of the kernel's datapath that is gone", false, () => void links.splice(1, 1)],
        ["of the userspace datapath that does not run", true, stop],
    ])("gives the NIC back for a host port %s", async (_, copiesFrames, change) => {
        const uplink = await away(copiesFrames, () => {
            change();
            ports.deletePort = deletesDevice;
        });
        expect(uplink.state).toMatchObject({ kind: "lost" });
        expect(links.map(({ name }) => name)).toEqual(["eth0"]);
    });
});

/** Time for what must not happen. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

it("calls exclude each other: the end waits until what is under way is over", async () => {
    const uplink = uplinkOf();
    await uplink.recover();
    const [under, began] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    next = () => {
        began.resolve();
        return under.promise;
    };
    const connecting = uplink.connect("eth0", signal);
    const restoring = uplink.restore();
    await began.promise;
    await settled();
    expect(links[0]?.name).toBe("eth0~");
    ports.deletePort = deletesDevice;
    under.resolve();
    expect(await connecting).toMatchObject({ kind: "bridged" });
    await restoring;
    expect(uplink.state).toEqual({ kind: "idle" });
    expect(links.map(({ name }) => name)).toEqual(["eth0"]);
});

it("the NIC has its name back only when OVS has released the device that had it", async () => {
    const uplink = uplinkOf();
    await uplink.recover();
    const [released, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    ports.deletePort = deletesDevice;
    ports.acknowledged = () => {
        asked.resolve();
        return released.promise;
    };
    const restoring = uplink.restore();
    await asked.promise;
    await settled();
    expect(links.map(({ name }) => name)).toEqual(["eth0~"]);
    released.reject(new TypeError("it takes too long"));
    await restoring;
    expect(links.map(({ name }) => name)).toEqual(["eth0"]);
});
