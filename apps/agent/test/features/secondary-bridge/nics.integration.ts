import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { Netlink } from "@antrea/netlink";
import { isUsable, readNics, type NicSurroundings } from "../../../src/features/secondary-bridge/nics.ts";
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
        whenEmpty: () => "port",
        noteLink: () => undefined,
        ...surroundings,
    });
}

const usable = {
    name: "nic0",
    kind: "port",
    problem: undefined,
    mtu: 9000,
};

it("a NIC can be connected, up or down, with its MTU", async () => {
    expect(await read("nic0")).toEqual([usable]);
    ip("link", "set", "nic0", "up");
    ip("link", "set", "wire0", "up");
    expect(await read("nic0")).toEqual([usable]);
});

it("a NIC that the Node used is neither a plain port nor moved while its address is away for a moment", async () => {
    const [nic] = await readWith({ whenEmpty: () => "refused" }, "nic0");
    expect(nic).toMatchObject({ kind: "refused", problem: { reason: "NICNotConnected" } });
    expect(nic?.problem?.text).toMatch(/^nic0 has no address and no route at the moment, .*; give it an address, or /);
});

it("a NIC without addresses waits, unless it is a port already or has one", async () => {
    const soon = { whenEmpty: () => "waiting" as const };
    const text = "nic0 has no address and no route; it becomes a port when that is still so in a few seconds";
    const problem = { reason: "NICNotConnected", text };
    expect(await readWith(soon, "nic0")).toEqual([{ ...usable, kind: "waiting", problem }]);
    bridges.set("nic0", "br1");
    expect(await readWith(soon, "nic0")).toEqual([usable]);
    bridges.clear();
    ip("addr", "add", "192.0.2.1/24", "dev", "nic0");
    expect(await readWith(soon, "nic0")).toMatchObject([{ kind: "ofNode" }]);
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
            kind: "refused",
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
    expect(await read("nic0")).toEqual([{ ...usable, kind: "ofNode", problem }]);
});

it("a NIC that is moved is of the Node, whatever its links are called in a move", async () => {
    uplinks.states.set("nic0", { kind: "moving", name: "nic0" });
    ip("link", "set", "nic0", "name", "nic0~");
    expect(await read("nic0")).toMatchObject([{ kind: "ofNode", problem: expect.anything(), mtu: 0 }]);
    uplinks.move("nic0");
    ip("link", "add", "nic0", "type", "bridge");
    expect(await read("nic0")).toEqual([{ ...usable, kind: "ofNode", mtu: 1500 }]);
});

it("a NIC that bridging mode has is taken", async () => {
    const text = "nic0 is the uplink of bridging mode; name another NIC";
    expect(await readWith({ bridgedNic: "nic0" }, "nic0")).toEqual([
        { ...usable, kind: "refused", problem: { reason: "NICTaken", text } },
    ]);
});

it("a NIC that is connected stays so when it gets an address, which is a problem until the agent starts again", async () => {
    bridges.set("nic0", "br1");
    ip("addr", "add", "192.0.2.1/24", "dev", "nic0");
    const text: unknown = expect.stringMatching(
        /^nic0 has the address 192\.0\.2\.1, .*; take it off, or restart the agent/,
    );
    expect(await read("nic0")).toEqual([{ ...usable, problem: { reason: "NICUnsuitable", text } }]);
    expect(await readWith({ mayTakeOut: true }, "nic0")).toMatchObject([
        { kind: "ofNode", problem: expect.anything() },
    ]);
});

it("a bridge of the kernel can be named in place of its NIC", async () => {
    ip("link", "add", "linux0", "type", "bridge");
    ip("link", "set", "nic0", "master", "linux0");
    expect((await read("linux0", "nic0")).map(({ kind }) => kind)).toEqual(["port", "refused"]);
});

it("all are read, in their order, each for itself", async () => {
    ip("link", "add", "nic1", "type", "veth", "peer", "name", "wire1");
    const found = await read("nic1", "none", "nic0");
    expect(found.map((nic) => [nic.name, nic.mtu, isUsable(nic)])).toEqual([
        ["nic1", 1500, true],
        ["none", 0, false],
        ["nic0", 9000, true],
    ]);
});
