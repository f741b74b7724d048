import { beforeEach, describe, expect, it } from "@jest/globals";
import { NetlinkError, type Link, type LinkChanges, type NetlinkErrorCode } from "@antrea/netlink";
import { FunctionLinks } from "../../../src/features/virtual-functions/function-links.ts";
import type { FunctionDevice, NetworkRecord } from "../../../src/platform/pod-interfaces/index.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";

/** The links of a Node; a change of one member may be refused, as a driver does. */
class FakeNode {
    readonly links = new Map<number, Link>();
    readonly refused = new Map<keyof LinkChanges, NetlinkErrorCode>();
    readonly changes: LinkChanges[] = [];

    add(link: Partial<Link> & Pick<Link, "index" | "name">): void {
        const known = { type: 1, mac: "02:00:00:00:00:01", mtu: 1500, up: false, running: false, loopback: false };
        this.links.set(link.index, { ...known, promiscuous: false, group: 0, altNames: [], ...link });
    }

    readonly netlink = {
        links: (): Promise<Link[]> => Promise.resolve([...this.links.values()]),
        link: (key: string | number): Promise<Link | undefined> =>
            Promise.resolve([...this.links.values()].find(({ index, name }) => index === key || name === key)),
        setLink: (index: number, changes: LinkChanges): Promise<void> => {
            for (const key of Object.keys(changes) as (keyof LinkChanges)[]) {
                const code = this.refused.get(key);
                if (code !== undefined) return Promise.reject(new NetlinkError(code, "environment", `${key}: ${code}`));
            }
            const { netnsPath, ...rest } = changes;
            const link = this.links.get(index);
            if (link !== undefined) this.links.set(index, { ...link, ...(rest as Partial<Link>) });
            if (netnsPath !== undefined) this.links.delete(index);
            this.changes.push(changes);
            return Promise.resolve();
        },
    };
}

const device: FunctionDevice = { bus: "pci", id: "0000:af:06.0", linkName: "vf0", linkMtu: 1500 };
const record: NetworkRecord & { readonly device: FunctionDevice } = {
    containerId: "c1",
    ifName: "eth1",
    podNamespace: "default",
    podName: "web-0",
    podUid: "u1",
    network: "default/net-a",
    netns: "/no/such/netns",
    hostIfName: "",
    mac: "02:00:00:00:00:01",
    addresses: [],
    vlan: 0,
    mtu: 9000,
    defaultGateways: [],
    bootId: "b",
    device,
};
const mark = "antrea4 c1 eth1 vf0 1500 02:00:00:00:00:01 up rack 7";

let node: FakeNode;
let names: Readonly<Record<string, string>>;
let log: LogEntry[];
let links: FunctionLinks;

beforeEach(() => {
    [node, names, log] = [new FakeNode(), { [device.id]: "vf0" }, []];
    links = new FunctionLinks({
        netlink: node.netlink,
        devices: {
            nameOf: ({ id }) => Promise.resolve(names[id]),
            folderOf: ({ id }) => `/sys/bus/pci/devices/${id}/net`,
        },
        logger: listLogger(log),
    });
});

describe("a link that is taken", () => {
    it("is marked with what it was, gets its MTU, and moves with its new name", async () => {
        node.add({ index: 7, name: "vf0", up: true, alias: "rack 7" });
        await links.take(record);
        expect(node.changes).toEqual([{ alias: mark }, { mtu: 9000 }, { netnsPath: "/no/such/netns", name: "eth1" }]);
    });

    it("keeps what it was before an ended Pod had it", async () => {
        node.add({ index: 7, name: "vf0", mtu: 9000, alias: mark.replace("c1 eth1", "c0 net7") });
        await links.take(record);
        expect(node.changes).toEqual([{ alias: mark }, { netnsPath: "/no/such/netns", name: "eth1" }]);
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
        const error: unknown = await links.take(record).catch((cause: unknown) => cause);
        expect(error).toMatchObject({ code, message: expect.stringMatching(text) });
        node.refused.clear();
        await links.bringHome(record);
        expect(node.links.get(7)).toMatchObject({ name: "vf0", mtu: 1500, up: true, alias: "rack 7" });
    });

    it("is none in the network namespace of the Node", async () => {
        node.add({ index: 7, name: "vf0" });
        const error: unknown = await links
            .take({ ...record, netns: "/proc/self/ns/net" })
            .catch((cause: unknown) => cause);
        expect(error).toMatchObject({
            code: "NOT_MOVED",
            message: expect.stringMatching(/namespace of the Node itself/),
        });
        expect(node.links.has(7)).toBe(true);
    });
});

describe("a link that is back", () => {
    it.each<[string, keyof LinkChanges, Partial<Link>]>([
        ["MTU", "mtu", { name: "vf0", mac: "02:00:00:00:00:01", alias: "rack 7" }],
        ["MAC address", "mac", { name: "vf0", mtu: 1500, alias: "rack 7" }],
        ["name", "name", { name: "dev7", alias: mark }],
    ])("gets what it was as far as the driver takes it: not the %s, which is logged", async (_, key, expected) => {
        node.add({ index: 7, name: "dev7", mtu: 9000, mac: "02:00:00:00:00:99", alias: mark });
        node.refused.set(key, "EPERM");
        await links.bringHome(record);
        expect(node.links.get(7)).toMatchObject(expected);
        expect(log.map(({ level, message }) => [level, message])).toContainEqual([
            "warn",
            "a virtual function cannot be made as it was",
        ]);
        node.refused.clear();
        await links.bringHome(record);
        if (key === "name") expect(node.links.get(7)).toMatchObject({ name: "vf0", alias: "rack 7" });
    });

    it("gets what the record has, whatever its Pod wrote as alias", async () => {
        const written = "antrea4 c1 eth1 uplink 68 02:00:00:00:00:66 down mine";
        node.add({ index: 7, name: "eth1", mtu: 9000, mac: "02:00:00:00:00:99", alias: written });
        await links.bringHome(record);
        expect(node.links.get(7)).toMatchObject({ name: "vf0", mtu: 1500, mac: "02:00:00:00:00:01" });
    });

    it("gets what its alias has without a record", async () => {
        node.add({ index: 7, name: "eth1", mtu: 9000, mac: "02:00:00:00:00:99", alias: mark });
        await links.bringHome({ containerId: "c1", ifName: "eth1", netns: "" });
        expect(node.links.get(7)).toMatchObject({ name: "vf0", mtu: 1500, mac: "02:00:00:00:00:01", alias: "rack 7" });
    });

    it("is left alone without our mark, or with that of another interface", async () => {
        node.add({ index: 7, name: "vf0", mtu: 9000 });
        node.add({ index: 8, name: "dev8", alias: mark.replace("eth1", "eth2") });
        await links.bringHome(record);
        expect(node.changes).toEqual([]);
        expect(log).toEqual([]);
    });

    it("is missed when neither Pod nor Node has it", async () => {
        names = {};
        await links.bringHome(record);
        expect(log.map(({ level, message }) => `${level} ${message}`)).toEqual([
            expect.stringMatching(/^warn a virtual function is not there; it comes back when the network namespace/),
        ]);
    });
});
