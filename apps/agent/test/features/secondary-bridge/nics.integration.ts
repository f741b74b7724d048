import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { Netlink } from "@antrea/netlink";
import { readNics } from "../../../src/features/secondary-bridge/nics.ts";
import { OwnNamespace } from "../../support/namespace.ts";

let namespace: OwnNamespace;
let netlink: Netlink;
/** Ports of OVS bridges. */
let bridges: Map<string, string>;

beforeEach(() => {
    namespace = OwnNamespace.enter();
    netlink = Netlink.open();
    bridges = new Map();
    ip("link", "add", "nic0", "mtu", "9000", "type", "veth", "peer", "name", "wire0");
});
afterEach(() => {
    netlink[Symbol.dispose]();
    namespace[Symbol.dispose]();
});

function ip(...args: readonly string[]): void {
    execFileSync("ip", args);
}

const read = (...names: readonly string[]): ReturnType<typeof readNics> =>
    readNics(netlink, names, { bridgeOf: (name) => bridges.get(name), ownBridge: "br1" });

it("a NIC can be connected, up or down, with its MTU", async () => {
    expect(await read("nic0")).toEqual([{ name: "nic0", problem: undefined, isUsable: true, mtu: 9000 }]);
    ip("link", "set", "nic0", "up");
    ip("link", "set", "wire0", "up");
    expect(await read("nic0")).toEqual([{ name: "nic0", problem: undefined, isUsable: true, mtu: 9000 }]);
});

it("a NIC may have addresses of its link, and be a port of the own bridge", async () => {
    ip("link", "set", "nic0", "up");
    ip("addr", "add", "fe80::1/64", "dev", "nic0", "nodad");
    ip("addr", "add", "169.254.1.1/16", "scope", "link", "dev", "nic0");
    bridges.set("nic0", "br1");
    expect(await read("nic0")).toEqual([{ name: "nic0", problem: undefined, isUsable: true, mtu: 9000 }]);
});

it.each<[string, () => void, string, RegExp]>([
    ["does not exist", () => undefined, "nic7", /^nic7 does not exist; .*ovsBridges/],
    ["is the loopback", () => undefined, "lo", /^lo is no Ethernet link; name another NIC$/],
    ["is a tunnel", () => ip("tuntap", "add", "tun7", "mode", "tun"), "tun7", /^tun7 is no Ethernet link/],
    [
        "belongs to a bridge of the kernel",
        () => {
            ip("link", "add", "linux0", "type", "bridge");
            ip("link", "set", "nic0", "master", "linux0");
        },
        "nic0",
        /^nic0 belongs to linux0; take it out, or name linux0$/,
    ],
    [
        "is a port of another OVS bridge",
        () => void bridges.set("nic0", "br-int"),
        "nic0",
        /^nic0 is a port of OVS bridge br-int; take it out with "ovs-vsctl del-port"$/,
    ],
    [
        "has an IPv4 address",
        () => ip("addr", "add", "192.0.2.1/24", "dev", "nic0"),
        "nic0",
        /^nic0 has the address 192\.0\.2\.1, .*; take the addresses off, or name another NIC$/,
    ],
    [
        "has an IPv6 address beside one of its link",
        () => {
            ip("link", "set", "nic0", "up");
            ip("addr", "add", "fe80::1/64", "dev", "nic0", "nodad");
            ip("addr", "add", "2001:db8::1/64", "dev", "nic0", "nodad");
        },
        "nic0",
        /^nic0 has the address 2001:db8::1, /,
    ],
])("a NIC that %s is not connected, and the reason has the next step", async (_, prepare, name, problem) => {
    prepare();
    expect(await read(name)).toEqual([
        { name, problem: expect.stringMatching(problem), isUsable: false, mtu: expect.any(Number) },
    ]);
});

it("a NIC that is connected stays so when it gets an address, which is a problem", async () => {
    bridges.set("nic0", "br1");
    ip("addr", "add", "192.0.2.1/24", "dev", "nic0");
    expect(await read("nic0")).toEqual([
        {
            name: "nic0",
            problem: expect.stringMatching(/^nic0 has the address 192\.0\.2\.1, .*; take it off$/),
            isUsable: true,
            mtu: 9000,
        },
    ]);
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
