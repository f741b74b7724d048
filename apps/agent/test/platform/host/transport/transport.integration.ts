import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { formatIp, formatPrefix } from "@antrea/ip";
import { Netlink } from "@antrea/netlink";
import { Transport, type TransportState } from "../../../../src/platform/host/transport/index.ts";
import { silentLogger } from "../../../support/logger.ts";
import { OwnNamespace } from "../../../support/namespace.ts";

function ip(...args: readonly string[]): void {
    execFileSync("ip", args);
}

function addUplink(): void {
    ip("link", "add", "uplink", "type", "veth", "peer", "name", "wire");
    for (const name of ["wire", "uplink"]) ip("link", "set", name, "up");
}

function shown({ mtu, addresses, subnets }: TransportState): string {
    return [mtu, ...addresses.map(formatIp), ...subnets.map(formatPrefix)].join(" ");
}

let namespace: OwnNamespace;
let netlink: Netlink;
let transport: Transport;
const notified: string[] = [];

async function eventually(assertion: () => Promise<void>): Promise<void> {
    const end = performance.now() + 60_000;
    for (;;) {
        try {
            return await assertion();
        } catch (error) {
            if (performance.now() > end) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

beforeEach(async () => {
    namespace = OwnNamespace.enter();
    addUplink();
    ip("addr", "add", "2001:db8::1/64", "dev", "uplink", "nodad");
    ip("addr", "add", "192.0.2.1/24", "dev", "uplink");
    netlink = Netlink.open();
    const link = await netlink.link("uplink");
    if (link === undefined) throw new Error("no link");
    transport = await Transport.of({ netlink, logger: silentLogger }, link);
    notified.splice(0);
    transport.onChange((state) => notified.push(shown(state)));
});

afterEach(() => {
    transport[Symbol.dispose]();
    netlink[Symbol.dispose]();
    namespace[Symbol.dispose]();
});

const first = "1500 192.0.2.1 2001:db8::1 192.0.2.0/24 2001:db8::/64";

it("knows its addresses, IPv4 first and without link-local ones, and reports changes once", async () => {
    expect(shown(transport.state)).toBe(first);
    expect(transport.tunnelFamily).toBe(4);
    await transport.check();
    expect(notified).toEqual([]);
    ip("addr", "add", "192.0.3.1/25", "dev", "uplink");
    ip("addr", "del", "192.0.2.1/24", "dev", "uplink");
    ip("link", "set", "uplink", "mtu", "1400");
    await transport.check();
    await transport.check();
    expect(notified).toEqual(["1400 192.0.3.1 2001:db8::1 192.0.3.0/25 2001:db8::/64"]);
});

it("reports an address that was away for a moment: routes went with it", async () => {
    ip("addr", "del", "192.0.2.1/24", "dev", "uplink");
    ip("addr", "add", "192.0.2.1/24", "dev", "uplink");
    await eventually(async () => {
        await transport.check();
        expect(notified).toEqual([first]);
    });
    await transport.check();
    expect(notified).toEqual([first]);
});

it("keeps the last addresses while it has none", async () => {
    ip("addr", "flush", "dev", "uplink");
    await transport.check();
    expect(shown(transport.state)).toBe(first);
});

it("carries tunnels by IPv6 when that is all it has", async () => {
    ip("addr", "del", "192.0.2.1/24", "dev", "uplink");
    await transport.check();
    expect(transport.tunnelFamily).toBe(6);
});

it("an interface that is gone is taken for as it was, and found again under its name", async () => {
    const { index } = transport.state;
    ip("link", "del", "uplink");
    await transport.check();
    expect(shown(transport.state)).toBe(first);
    addUplink();
    ip("addr", "add", "192.0.2.1/24", "dev", "uplink");
    await transport.check();
    expect(transport.state.index).not.toBe(index);
    expect(notified).toEqual(["1500 192.0.2.1 192.0.2.0/24"]);
});
