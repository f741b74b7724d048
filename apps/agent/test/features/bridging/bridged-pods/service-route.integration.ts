import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import type { IpAddress } from "@antrea/ip";
import { Netlink, NetlinkError, type Batch } from "@antrea/netlink";
import { ServiceRoute } from "../../../../src/features/bridging/bridged-pods/index.ts";
import { OwnNamespace } from "../../../support/namespace.ts";

let namespace: OwnNamespace;
let netlink: Netlink;
const run = (...args: readonly string[]): string => execFileSync("ip", args, { encoding: "utf8" });
const listed = (): readonly string[] =>
    ["-4", "-6"].flatMap((family) =>
        [run(family, "route", "show", "dev", "gw"), run(family, "neighbour", "show", "dev", "gw", "nud", "permanent")]
            .join("")
            .split("\n")
            .filter((line) => /169\.254|fc01/.test(line)),
    );

beforeEach(() => {
    namespace = OwnNamespace.enter();
    netlink = Netlink.open();
    run("link", "add", "gw", "type", "veth", "peer", "name", "peer");
    for (const link of ["gw", "peer"]) run("link", "set", link, "up");
});

afterEach(() => {
    netlink[Symbol.dispose]();
    namespace[Symbol.dispose]();
});

const routeOf = (used: Netlink): ServiceRoute => new ServiceRoute({ netlink: used }, { gatewayName: "gw" });

it("what bridging mode has set is removed, of both families, and again without effect", async () => {
    await routeOf(netlink).ensure([4, 6], { sparesProxyRoutes: false });
    expect(listed()).toHaveLength(4);
    await routeOf(netlink).remove({ keepsNeighbours: true });
    expect(listed()).toHaveLength(2);
    await routeOf(netlink).remove({ keepsNeighbours: false });
    await routeOf(netlink).remove({ keepsNeighbours: false });
    expect(listed()).toEqual([]);
});

it("routes and neighbours of others stay", async () => {
    run("route", "add", "169.254.0.253", "dev", "gw");
    run("neighbour", "add", "169.254.0.1", "lladdr", "02:00:00:00:00:01", "dev", "gw", "nud", "permanent");
    const before = listed();
    expect(before).toHaveLength(2);
    await routeOf(netlink).remove({ keepsNeighbours: false });
    expect(listed()).toEqual(before);
});

it("is removed from a Node whose kernel has no IPv6, and refuses to delete anything of it", async () => {
    await routeOf(netlink).ensure([4], { sparesProxyRoutes: false });
    expect(listed()).toHaveLength(2);
    await routeOf(withoutIpv6(netlink)).remove({ keepsNeighbours: false });
    expect(listed()).toEqual([]);
});

/** As after `ipv6.disable=1`: rtnetlink has nobody for messages of the family (rtnetlink_rcv_msg, neigh_find_table). */
function withoutIpv6(real: Netlink): Netlink {
    const refuse = ({ family }: IpAddress): void => {
        if (family === 6) throw new NetlinkError("EAFNOSUPPORT", "unsupported", "the kernel has no IPv6");
    };
    const batch = (fill: (batch: Batch) => void): Promise<void> =>
        real.batch((own) => {
            const deleteNeighbour: Batch["deleteNeighbour"] = (key) => (refuse(key.ip), own.deleteNeighbour(key));
            const deleteRoute: Batch["deleteRoute"] = (options) => {
                if (options.dst !== "default") refuse({ family: options.dst.family, value: 0n });
                return own.deleteRoute(options);
            };
            fill({ deleteNeighbour, deleteRoute } as Batch);
        });
    return {
        link: (name: string) => real.link(name),
        routes: (filter: object) => real.routes(filter),
        neighbours: (index: number) => real.neighbours(index),
        batch,
    } as unknown as Netlink;
}
