import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { Netlink } from "@antrea/netlink";
import { readNics, type NicSurroundings } from "../../../src/features/secondary-bridge/nics.ts";
import { FakeUplinks } from "./support/fake-uplinks.ts";
import { OwnNamespace } from "../../support/namespace.ts";

let namespace: OwnNamespace;
let netlink: Netlink;
/** Ports of OVS bridges. */
let bridges: Map<string, string>;
let uplinks: FakeUplinks;

beforeEach(() => {
    namespace = OwnNamespace.enter();
    netlink = Netlink.open();
    bridges = new Map();
    uplinks = new FakeUplinks();
    ip("link", "add", "nic0", "mtu", "9000", "type", "veth", "peer", "name", "wire0");
});
afterEach(() => {
    netlink[Symbol.dispose]();
    namespace[Symbol.dispose]();
});

function ip(...args: readonly string[]): void {
    execFileSync("ip", args);
}

const read = (...names: readonly string[]): ReturnType<typeof readNics> => readWith({}, ...names);

function readWith(surroundings: Partial<NicSurroundings>, ...names: readonly string[]): ReturnType<typeof readNics> {
    return readNics(netlink, names, {
        bridgeOf: (name) => bridges.get(name),
        ownBridge: "br1",
        uplinks,
        bridgedNic: undefined,
        mayTakeOut: false,
        wasOfNode: () => false,
        mayTakeIn: () => true,
        ...surroundings,
    });
}

const usable = {
    name: "nic0",
    problem: undefined,
    isUsable: true,
    isOfNode: false,
    isEmptyTooShort: false,
    mtu: 9000,
};

it("a NIC can be connected, up or down, with its MTU", async () => {
    expect(await read("nic0")).toEqual([usable]);
    ip("link", "set", "nic0", "up");
    ip("link", "set", "wire0", "up");
    expect(await read("nic0")).toEqual([usable]);
});

it("a NIC that the Node used is neither a plain port nor moved while its address is away for a moment", async () => {
    const [nic] = await readWith({ wasOfNode: (name) => name === "nic0" }, "nic0");
    expect(nic).toMatchObject({ isUsable: false, isOfNode: false, problem: { reason: "NICNotConnected" } });
    expect(nic?.problem?.text).toMatch(/^nic0 has no address and no route at the moment, .*; give it an address, or /);
});

it("a NIC without addresses waits, unless it is a port already or has one", async () => {
    const soon = { mayTakeIn: () => false };
    const text = "nic0 has no address and no route; it becomes a port when that is still so in a few seconds";
    const problem = { reason: "NICNotConnected", text };
    expect(await readWith(soon, "nic0")).toEqual([{ ...usable, isUsable: false, isEmptyTooShort: true, problem }]);
    bridges.set("nic0", "br1");
    expect(await readWith(soon, "nic0")).toEqual([usable]);
    bridges.clear();
    ip("addr", "add", "192.0.2.1/24", "dev", "nic0");
    expect(await readWith(soon, "nic0")).toMatchObject([{ isOfNode: true, isEmptyTooShort: false }]);
});

it("a NIC may have addresses of its link, and be a port of the own bridge", async () => {
    ip("link", "set", "nic0", "up");
    ip("addr", "add", "fe80::1/64", "dev", "nic0", "nodad");
    ip("addr", "add", "169.254.1.1/16", "scope", "link", "dev", "nic0");
    bridges.set("nic0", "br1");
    expect(await read("nic0")).toEqual([usable]);
});

it.each<[string, () => void, string, string, RegExp]>([
    ["does not exist", () => undefined, "nic7", "NICMissing", /^nic7 does not exist; .*ovsBridges/],
    ["is the loopback", () => undefined, "lo", "NICUnsuitable", /^lo is no Ethernet link; name another NIC$/],
    [
        "is a tunnel",
        () => ip("tuntap", "add", "tun7", "mode", "tun"),
        "tun7",
        "NICUnsuitable",
        /^tun7 is no Ethernet link/,
    ],
    [
        "belongs to a bridge of the kernel",
        () => {
            ip("link", "add", "linux0", "type", "bridge");
            ip("link", "set", "nic0", "master", "linux0");
        },
        "nic0",
        "NICTaken",
        /^nic0 belongs to linux0; take it out, or name linux0$/,
    ],
    [
        "is a port of another OVS bridge",
        () => void bridges.set("nic0", "br-int"),
        "nic0",
        "NICTaken",
        /^nic0 is a port of OVS bridge br-int; take it out with "ovs-vsctl del-port"$/,
    ],
])("a NIC that %s is not connected, and the reason has the next step", async (_, prepare, name, reason, text) => {
    prepare();
    expect(await read(name)).toEqual([
        {
            name,
            problem: { reason, text: expect.stringMatching(text) },
            isUsable: false,
            isOfNode: false,
            isEmptyTooShort: false,
            mtu: expect.any(Number),
        },
    ]);
});

it.each<[string, () => void]>([
    ["an IPv4 address", () => ip("addr", "add", "192.0.2.1/24", "dev", "nic0")],
    [
        "an IPv6 address beside one of its link",
        () => {
            ip("link", "set", "nic0", "up");
            ip("addr", "add", "fe80::1/64", "dev", "nic0", "nodad");
            ip("addr", "add", "2001:db8::1/64", "dev", "nic0", "nodad");
        },
    ],
    [
        "a route without an address",
        () => {
            ip("link", "set", "nic0", "up");
            ip("route", "add", "198.51.100.0/24", "dev", "nic0");
        },
    ],
    [
        "an address, as a port of its own bridge after a rollback that failed",
        () => {
            ip("addr", "add", "192.0.2.1/24", "dev", "nic0");
            bridges.set("nic0", "nic0~br");
        },
    ],
])("a NIC with %s is of the Node: it waits for its host port", async (_, prepare) => {
    prepare();
    const problem = { reason: "NICNotConnected", text: "nic0 is being connected, with its addresses on a host port" };
    expect(await read("nic0")).toEqual([{ ...usable, isUsable: false, isOfNode: true, problem }]);
});

it("a NIC that is moved is of the Node, whatever its links are called in a move", async () => {
    uplinks.states.set("nic0", { kind: "moving", name: "nic0" });
    ip("link", "set", "nic0", "name", "nic0~");
    expect(await read("nic0")).toMatchObject([{ isUsable: false, isOfNode: true, mtu: 0 }]);
    uplinks.move("nic0");
    ip("link", "add", "nic0", "type", "bridge");
    expect(await read("nic0")).toEqual([{ ...usable, isOfNode: true, mtu: 1500 }]);
});

it("a NIC that bridging mode has is taken", async () => {
    const text = "nic0 is the uplink of bridging mode; name another NIC";
    expect(await readWith({ bridgedNic: "nic0" }, "nic0")).toEqual([
        { ...usable, isUsable: false, problem: { reason: "NICTaken", text } },
    ]);
});

it("a NIC that is connected stays so when it gets an address, which is a problem until the agent starts again", async () => {
    bridges.set("nic0", "br1");
    ip("addr", "add", "192.0.2.1/24", "dev", "nic0");
    const text: unknown = expect.stringMatching(
        /^nic0 has the address 192\.0\.2\.1, .*; take it off, or restart the agent/,
    );
    expect(await read("nic0")).toEqual([{ ...usable, problem: { reason: "NICUnsuitable", text } }]);
    expect(await readWith({ mayTakeOut: true }, "nic0")).toMatchObject([{ isUsable: false, isOfNode: true }]);
});

it("a bridge of the kernel can be named in place of its NIC", async () => {
    ip("link", "add", "linux0", "type", "bridge");
    ip("link", "set", "nic0", "master", "linux0");
    expect((await read("linux0", "nic0")).map(({ isUsable }) => isUsable)).toEqual([true, false]);
});

it("all are read, in their order, each for itself", async () => {
    ip("link", "add", "nic1", "type", "veth", "peer", "name", "wire1");
    const found = await read("nic1", "none", "nic0");
    expect(found.map(({ name, mtu, isUsable }) => [name, mtu, isUsable])).toEqual([
        ["nic1", 1500, true],
        ["none", 0, false],
        ["nic0", 9000, true],
    ]);
});
