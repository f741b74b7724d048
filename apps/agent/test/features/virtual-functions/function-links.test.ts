import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NetlinkError, type Link, type LinkChanges, type NetlinkErrorCode } from "@antrea/netlink";
import { FunctionLinks, type FunctionRecord } from "../../../src/features/virtual-functions/function-links.ts";
import type { KeptLink } from "../../../src/features/virtual-functions/kept-link.ts";
import { KeptLinks } from "../../../src/features/virtual-functions/kept-links.ts";
import type { DeviceLink } from "../../../src/features/virtual-functions/sysfs.ts";
import type { DeviceId, FunctionDevice } from "../../../src/platform/pod-interfaces/index.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { networkRecord } from "../../support/records.ts";

/** The links of a Node, and sysfs, which names those of devices; a change of one member may be refused, as a driver does. */
class FakeNode {
    readonly links = new Map<number, Link>();
    /** The attribute dev_port of links that have one. */
    readonly ports = new Map<number, string>();
    readonly refused = new Map<keyof LinkChanges, NetlinkErrorCode>();
    readonly changes: LinkChanges[] = [];
    /** The links that were moved, and names that others have there. */
    readonly inPods = new Map<number, Link>();
    readonly namesInPods = new Set<string>();
    /** The next change waits for this. */
    held: Promise<void> | undefined;
    readonly #waits = Promise.withResolvers<void>();
    /** When a change does so. */
    readonly isHeld = this.#waits.promise;

    add(link: Partial<Link> & Pick<Link, "index" | "name">, parentDevice = device.id): void {
        const known = { type: 1, mac: "02:00:00:00:00:01", mtu: 1500, up: false, running: false, loopback: false };
        this.links.set(link.index, { ...known, promiscuous: false, group: 0, altNames: [], parentDevice, ...link });
    }

    readonly netlink = {
        link: (key: string | number): Promise<Link | undefined> => Promise.resolve(this.#find(key)),
        setLink: async (index: number, changes: LinkChanges): Promise<void> => {
            const { held } = this;
            this.held = undefined;
            if (held !== undefined) this.#waits.resolve();
            await held;
            for (const key of Object.keys(changes) as (keyof LinkChanges)[]) {
                const code = this.refused.get(key);
                if (code !== undefined) throw new NetlinkError(code, "environment", `${key}: ${code}`);
            }
            const { netnsPath, ...rest } = changes;
            if (rest.name === "dev%d") rest.name = `dev${index}`;
            if (netnsPath === undefined && rest.name !== undefined && this.#find(rest.name) !== undefined)
                throw new NetlinkError("EEXIST", "environment", "name: EEXIST");
            const link = this.links.get(index);
            if (netnsPath !== undefined && link?.altNames.some((one) => this.namesInPods.has(one)) === true)
                throw new NetlinkError("EEXIST", "environment", "netnsPath: EEXIST");
            if (link !== undefined) this.links.set(index, { ...link, ...(rest as Partial<Link>) });
            if (netnsPath !== undefined && link !== undefined) {
                this.inPods.set(index, { ...link, ...(rest as Partial<Link>) });
                this.links.delete(index);
            }
            this.changes.push(changes);
        },
        addAltName: (index: number, name: string): Promise<void> => this.#altNames(index, (all) => [...all, name]),
        deleteAltName: (index: number, name: string): Promise<boolean> =>
            this.#altNames(index, (all) => all.filter((one) => one !== name)).then(() => true),
    };

    readonly devices = {
        linksOf: ({ id }: DeviceId): Promise<readonly DeviceLink[]> => {
            const own = [...this.links.values()].filter(({ parentDevice }) => parentDevice === id);
            const named = own.map(({ index, name }) => ({ name, port: this.ports.get(index) ?? "" }));
            return Promise.resolve(named.sort((one, other) => (one.name < other.name ? -1 : 1)));
        },
        folderOf: ({ id }: DeviceId) => `/sys/bus/pci/devices/${id}/net`,
    };

    #altNames(index: number, change: (all: readonly string[]) => readonly string[]): Promise<void> {
        const link = this.links.get(index);
        if (link !== undefined) this.links.set(index, { ...link, altNames: change(link.altNames) });
        return Promise.resolve();
    }

    #find(key: string | number): Link | undefined {
        return [...this.links.values()].find(({ index, name }) => index === key || name === key);
    }
}

const device: FunctionDevice = { bus: "pci", id: "0000:af:06.0", linkName: "vf0", linkMtu: 1500 };
const record: FunctionRecord = {
    ...networkRecord({
        containerId: "c1",
        network: "default/net-a",
        netns: "/no/such/netns",
        hostIfName: "",
        mtu: 9000,
    }),
    device,
};
const next: FunctionRecord = { ...record, containerId: "c2", netns: "/no/other/netns" };
const { bus, id } = device;
const home = {
    name: "vf0",
    mtu: 1500,
    mac: "02:00:00:00:00:01",
    up: true,
    alias: "rack 7",
    group: 0,
    promiscuous: false,
    altNames: [],
};
const kept: KeptLink = {
    containerId: "c1",
    ifName: "eth1",
    device: { bus, id },
    port: "",
    kind: undefined,
    former: home,
};
const mark = "antrea4 c1 eth1";

let node: FakeNode;
let stateFolder: string;
let store: KeptLinks;
let log: LogEntry[];
let links: FunctionLinks;

/** A start of the agent. */
function start(): FunctionLinks {
    store = new KeptLinks({ logger: listLogger(log) }, { stateFolder, bootId: "boot" });
    return new FunctionLinks({ netlink: node.netlink, devices: node.devices, kept: store, logger: listLogger(log) });
}
const restoreReturned = (): Promise<void> => links.restoreReturned(new AbortController().signal);
const warnings = (): readonly string[] => log.flatMap(({ level, message }) => (level === "warn" ? [message] : []));
const errorOf = (work: Promise<unknown>): Promise<unknown> => work.catch((cause: unknown) => cause);

beforeEach(() => {
    stateFolder = mkdtempSync(join(tmpdir(), "state-"));
    [node, log] = [new FakeNode(), []];
    links = start();
});
afterEach(() => rmSync(stateFolder, { recursive: true }));

describe("a link that is taken", () => {
    it("is kept as it was before anything is changed, gets mark and MTU, and moves with its new name", async () => {
        node.add({ index: 7, name: "vf0", up: true, alias: "rack 7" });
        const held = Promise.withResolvers<void>();
        node.held = held.promise;
        const taking = links.take(record);
        await node.isHeld;
        expect([node.changes, store.read(device)]).toEqual([[], kept]);
        held.resolve();
        await taking;
        expect(node.changes).toEqual([{ alias: mark }, { mtu: 9000 }, { netnsPath: "/no/such/netns", name: "eth1" }]);
        expect(store.read(device)).toEqual(kept);
    });

    it("is kept, and passed on, as it was before an ended Pod had it, whatever that made of it", async () => {
        await store.write({ ...kept, containerId: "c0", ifName: "net7" });
        const alias = "antrea4 c1 eth1 uplink 68 02:00:00:00:00:66 down";
        const made = { name: "uplink", mtu: 68, mac: "02:00:00:00:00:99", alias, group: 179, promiscuous: true };
        node.add({ index: 7, ...made, altNames: ["eth0"] });
        // The kernel moves none with a name that the Pod has.
        node.namesInPods.add("eth0");
        expect(await links.formerOf(device)).toEqual(home);
        await links.take(record);
        expect(node.inPods.get(7)).toMatchObject({ ...home, up: false, mtu: 9000, name: "eth1", alias: mark });
        expect(node.changes.filter(({ up }) => up === true)).toEqual([]);
        expect(store.read(device)).toEqual(kept);
    });

    it("had no alias if it has a mark that nothing is kept of", async () => {
        node.add({ index: 7, name: "vf0", alias: "antrea4 c0 eth1" });
        await links.take(record);
        expect(store.read(device)?.former.alias).toBe("");
    });

    it("stays as it is when nothing can be kept", async () => {
        node.add({ index: 7, name: "vf0", up: true, alias: "rack 7" });
        writeFileSync(join(stateFolder, "virtual-functions"), "");
        expect(await errorOf(links.take(record))).toMatchObject({
            code: "NOT_KEPT",
            fault: "environment",
            message: expect.stringMatching(
                /^network default\/net-a: device 0000:af:06\.0 .*\/virtual-functions\/pci-0000:af:06\.0\.json \(EEXIST.*; next: see that/,
            ),
        });
        await links.bringHome(record);
        expect(node.changes).toEqual([]);
    });

    it.each<[string, keyof LinkChanges, NetlinkErrorCode, string, RegExp]>([
        [
            "an MTU",
            "mtu",
            "EINVAL",
            "BAD_MTU",
            /mtu: 9000 is not taken .* device 0000:af:06\.0 \(.*EINVAL\); next: lower/,
        ],
        ["a move", "netnsPath", "EINVAL", "NOT_MOVED", /0000:af:06\.0 cannot become eth1 of .*EINVAL; next: /],
        ["a name", "name", "EEXIST", "NOT_MOVED", /0000:af:06\.0 cannot become eth1 of .*EEXIST; next: /],
    ])("may be one whose driver refuses %s; it is as it was then", async (_, key, errno, code, text) => {
        node.add({ index: 7, name: "vf0", up: true, alias: "rack 7" });
        node.refused.set(key, errno);
        expect(await errorOf(links.take(record))).toMatchObject({ code, message: expect.stringMatching(text) });
        node.refused.clear();
        await links.bringHome(record);
        expect(node.links.get(7)).toMatchObject(home);
        expect(store.list()).toEqual([]);
    });

    it("is none in the network namespace of the Node", async () => {
        node.add({ index: 7, name: "vf0" });
        expect(await errorOf(links.take({ ...record, netns: "/proc/self/ns/net" }))).toMatchObject({
            code: "NOT_MOVED",
            message: expect.stringMatching(/namespace of the Node itself/),
        });
        expect(node.links.has(7)).toBe(true);
    });

    it("is none that another port of the device has", async () => {
        await store.write({ ...kept, port: "0" });
        node.add({ index: 8, name: "port1", mtu: 9000 });
        node.ports.set(8, "1");
        expect(await links.formerOf(device)).toBeUndefined();
        expect(await errorOf(links.take(next))).toMatchObject({ code: "NO_LINK" });
        await restoreReturned();
        expect(node.changes).toEqual([]);
    });
});

describe("a link that is back", () => {
    const forged = "antrea4 c9 eth9 uplink 68 02:00:00:00:00:66 down mine";
    it.each<[string, Partial<Link>]>([
        ["with the mark", { alias: mark }],
        ["with an alias that its Pod forged", { alias: forged, up: true }],
        ["with the mark of another interface", { alias: "antrea4 c2 eth1" }],
        ["without alias", {}],
    ])("is what it was: %s, in whatever name, for the next agent too", async (_, change) => {
        await store.write(kept);
        node.add({ index: 7, name: "br-int", mtu: 68, mac: "02:00:00:00:00:99", ...change });
        links = start();
        await restoreReturned();
        expect(node.links.get(7)).toMatchObject(home);
        expect(store.list()).toEqual([]);
        expect(warnings()).toEqual([]);
    });

    it("has the alternative names that it had, no group and no promiscuous mode of its Pod", async () => {
        const altNames = ["enp175s0f0v0", "uplink of rack 7"];
        await store.write({ ...kept, former: { ...home, altNames } });
        node.add({ index: 7, name: "vf0", group: 179, promiscuous: true, altNames: ["management", "enp175s0f0v0"] });
        await restoreReturned();
        expect(node.links.get(7)).toMatchObject({ ...home, altNames });
        expect(store.list()).toEqual([]);
    });

    it("is known by its device: none that has the name or the mark is changed", async () => {
        await store.write(kept);
        node.add({ index: 7, name: "vf1", alias: mark }, "0000:af:06.1");
        node.add({ index: 8, name: "eth1", alias: mark }, "none");
        await restoreReturned();
        await links.bringHome(record);
        expect(node.changes).toEqual([]);
        expect(store.list()).toEqual([kept]);
    });

    it("is left alone when nothing is kept, as after it was made as it was", async () => {
        node.add({ index: 7, name: "eth1", mtu: 9000, alias: mark });
        await restoreReturned();
        await links.bringHome(record);
        expect(node.changes).toEqual([]);
        expect(log).toEqual([]);
    });

    it.each<[string, keyof LinkChanges, Partial<Link>]>([
        ["MTU", "mtu", { ...home, mtu: 9000, alias: mark }],
        ["MAC address", "mac", { ...home, mac: "02:00:00:00:00:99", up: false, alias: mark }],
        ["name", "name", { ...home, name: "dev9", up: false, alias: mark }],
        ["alias", "alias", { ...home, alias: mark }],
    ])("gets what it was as far as the driver takes it, and the %s once it does", async (_, key, expected) => {
        await store.write(kept);
        node.add({ index: 7, name: "dev9", mtu: 9000, mac: "02:00:00:00:00:99", alias: mark });
        node.refused.set(key, "EPERM");
        await restoreReturned();
        expect(node.links.get(7)).toMatchObject(expected);
        expect(new Set(warnings())).toEqual(new Set(["virtual function not restored yet"]));
        expect(store.list()).toEqual([kept]);
        // It goes neither down nor up each minute.
        node.changes.length = 0;
        await restoreReturned();
        expect(node.changes).toEqual([]);
        node.refused.clear();
        await restoreReturned();
        expect(node.links.get(7)).toMatchObject(home);
        expect(store.list()).toEqual([]);
    });

    it("loses the name that its Pod gave it, also while the one that it had is taken", async () => {
        await store.write(kept);
        node.add({ index: 7, name: "bond0", mtu: 9000 });
        node.add({ index: 8, name: "vf0" }, "none");
        await restoreReturned();
        expect(node.links.get(7)).toMatchObject({ name: "dev7", mtu: 1500, up: false, alias: mark });
        node.links.delete(8);
        await restoreReturned();
        expect(node.links.get(7)).toMatchObject(home);
    });

    it("gets its name also from another one of the Pod, when that was given it", async () => {
        const other = { ...kept, ifName: "eth2", device: { bus, id: "0000:af:06.1" } };
        await store.write(kept);
        await store.write({ ...other, former: { ...home, name: "vf1" } });
        node.add({ index: 7, name: "vf1" });
        node.add({ index: 8, name: "vf0" }, "0000:af:06.1");
        await restoreReturned();
        await restoreReturned();
        expect([node.links.get(7)?.name, node.links.get(8)?.name]).toEqual(["vf0", "vf1"]);
        expect(store.list()).toEqual([]);
    });

    it("is missed when neither Pod nor Node has it", async () => {
        await store.write(kept);
        await links.bringHome(record);
        expect(warnings()).toEqual([
            expect.stringMatching(/^a virtual function is not there; it comes back when the network namespace/),
        ]);
        expect(store.list()).toEqual([kept]);
    });
});

describe("two containers and one device", () => {
    beforeEach(async () => {
        await store.write(kept);
        node.add({ index: 7, name: "dev7", mtu: 9000, up: false, alias: mark });
    });
    const restored: readonly LinkChanges[] = [{ name: "vf0" }, { mtu: 1500 }, { up: true }, { alias: "rack 7" }];
    const taken: readonly LinkChanges[] = [
        { alias: "antrea4 c2 eth1" },
        { mtu: 9000 },
        { netnsPath: "/no/other/netns", name: "eth1" },
    ];
    const work: readonly [string, () => Promise<void>][] = [
        ["the end of the one", () => links.bringHome(record)],
        ["the job", restoreReturned],
    ];

    it.each(work)("%s makes the link as it was before the other one takes it", async (_, restore) => {
        const held = Promise.withResolvers<void>();
        node.held = held.promise;
        const restoring = restore();
        await node.isHeld;
        const taking = links.take(next);
        expect(node.changes).toEqual([]);
        held.resolve();
        await Promise.all([restoring, taking]);
        expect(node.changes).toEqual([...restored, ...taken]);
        expect(store.list()).toEqual([{ ...kept, containerId: "c2" }]);
    });

    it.each(work)("%s does nothing after the other one has taken the link", async (_, restore) => {
        const held = Promise.withResolvers<void>();
        node.held = held.promise;
        const taking = links.take(next);
        await node.isHeld;
        const restoring = restore();
        held.resolve();
        await Promise.all([restoring, taking]);
        expect(node.changes).toEqual([...restored.filter((change) => !change.up), ...taken]);
        expect(store.list()).toEqual([{ ...kept, containerId: "c2" }]);
    });

    it("the end of the one leaves the link alone that the other one could not take", async () => {
        node.refused.set("netnsPath", "EINVAL");
        await expect(links.take(next)).rejects.toMatchObject({ code: "NOT_MOVED" });
        await links.bringHome(record);
        expect(node.links.get(7)).toMatchObject({ ...home, mtu: 9000, up: false, alias: "antrea4 c2 eth1" });
        expect(warnings()).toEqual([]);
        await links.bringHome(next);
        expect(node.links.get(7)).toMatchObject(home);
    });

    it("a device is not waited for because of another", async () => {
        node.held = new Promise(() => undefined);
        void links.bringHome(record);
        await node.isHeld;
        node.add({ index: 8, name: "vf1" }, "0000:af:06.1");
        await links.take({ ...next, device: { ...device, id: "0000:af:06.1" } });
        expect(node.links.has(8)).toBe(false);
    });
});
