import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { formatPrefix } from "@antrea/ip";
import { Netlink } from "@antrea/netlink";
import { RouteWatch } from "../../../src/features/node-routes/index.ts";
import { eventually } from "../../support/eventually.ts";
import { OwnNamespace } from "../../support/namespace.ts";

let namespace: OwnNamespace;
let netlink: Netlink;
let watch: RouteWatch;
let unwanted: string | undefined;

function ip(...args: readonly string[]): void {
    execFileSync("ip", args);
}

beforeEach(() => {
    namespace = OwnNamespace.enter();
    netlink = Netlink.open();
    for (const name of ["gw", "other"]) {
        ip("link", "add", name, "type", "veth", "peer", "name", `${name}-peer`);
        for (const end of [name, `${name}-peer`]) ip("link", "set", end, "up");
    }
    ip("addr", "add", "10.1.0.1/24", "dev", "gw");
    ip("addr", "add", "fd00:1::1/64", "dev", "gw", "nodad");
    for (const [prefix, via, proto] of [
        ["10.1.9.0/24", "10.1.0.9", "178"],
        ["10.1.8.0/24", "10.1.0.9", "boot"],
        ["fd00:9::/64", "fd00:1::9", "179"],
    ] as const) {
        ip("route", "add", prefix, "via", via, "dev", "gw", "proto", proto);
    }
    unwanted = undefined;
    watch = new RouteWatch(
        { netlink },
        { protocols: [178, 179], linkName: "gw", isWanted: ({ dst }) => formatPrefix(dst) !== unwanted },
    );
});

afterEach(() => {
    watch[Symbol.dispose]();
    netlink[Symbol.dispose]();
    namespace[Symbol.dispose]();
});

const taken = async (): Promise<readonly number[]> => {
    const found = new Set<number>();
    await eventually(
        () => {
            for (const protocol of watch.take()) found.add(protocol);
        },
        () => found.size > 0,
        500,
    );
    return [...found];
};

it("notices a route of ours that somebody deletes, of either family, and no other", async () => {
    ip("route", "del", "10.1.8.0/24");
    ip("link", "set", "other", "down");
    expect(await taken()).toEqual([]);
    ip("route", "del", "10.1.9.0/24");
    expect(await taken()).toEqual([178]);
    ip("-6", "route", "del", "fd00:9::/64");
    expect(await taken()).toEqual([179]);
    expect(await taken()).toEqual([]);
});

it("takes no notice of a route that the agent itself deletes, as it is not wanted any more", async () => {
    unwanted = "fd00:9::/64";
    ip("-6", "route", "del", "fd00:9::/64");
    expect(await taken()).toEqual([]);
    ip("route", "del", "10.1.9.0/24");
    expect(await taken()).toEqual([178]);
});

it("notices that the gateway goes down, with which the kernel takes routes of IPv4 silently", async () => {
    ip("link", "set", "gw", "down");
    expect([...(await taken())].sort()).toEqual([178, 179]);
    ip("link", "set", "gw", "mtu", "1400");
    expect(await taken()).toEqual([]);
    ip("link", "set", "gw", "up");
    expect([...(await taken())].sort()).toEqual([178, 179]);
});
