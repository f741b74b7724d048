import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { Netlink } from "@antrea/netlink";
import { HostServiceRoutes } from "../../../src/features/host-services/host-routes.ts";
import { silentLogger } from "../../support/logger.ts";
import { OwnNamespace } from "../../support/namespace.ts";

let namespace: OwnNamespace;
let netlink: Netlink;
const run = (...args: readonly string[]): string => execFileSync("ip", args, { encoding: "utf8" });
const listed = (): string => `${run("route", "show", "proto", "181")}${run("-6", "route", "show", "proto", "181")}`;

/** As a start of the agent has it. */
const routes = (): HostServiceRoutes =>
    new HostServiceRoutes(
        { logger: silentLogger, netlink, sysctls: { set: () => undefined, undo: () => undefined } },
        { gatewayName: "gw", families: [4, 6] },
    );

beforeEach(() => {
    namespace = OwnNamespace.enter();
    netlink = Netlink.open();
    run("link", "add", "gw", "type", "veth", "peer", "name", "peer");
    run("address", "add", "192.0.2.1/24", "dev", "gw");
    run("address", "add", "2001:db8::1/64", "dev", "gw", "nodad");
    for (const link of ["gw", "peer"]) run("link", "set", link, "up");
});

afterEach(() => {
    netlink[Symbol.dispose]();
    namespace[Symbol.dispose]();
});

it("routes to ServiceCIDRs that were last known are added, none is removed, until they are known", async () => {
    const last = [parsePrefix("10.96.0.0/16"), parsePrefix("fd00:96::/112")];
    await routes().ensure({ serviceCidrs: [parsePrefix("10.98.0.0/16")], sources: undefined });
    await routes().ensure({ serviceCidrs: undefined, lastCidrs: last, sources: undefined });
    for (const text of ["10.98.0.0/16", "10.96.0.0/16", "fd00:96::/112"]) expect(listed()).toContain(text);
    const serviceCidrs = [parsePrefix("10.97.0.0/16")];
    await routes().ensure({ serviceCidrs, lastCidrs: last, sources: undefined });
    expect(listed()).toContain("10.97.0.0/16");
    expect(listed()).not.toMatch(/10\.9[68]\.|fd00:96::/);
});

it("a start that knows neither the Node nor the ServiceCIDRs leaves their routes as they are", async () => {
    const serviceCidrs = [parsePrefix("10.96.0.0/16"), parsePrefix("fd00:96::/112")];
    const sources = [parseIp("192.0.2.1"), parseIp("2001:db8::1")];
    await routes().ensure({ serviceCidrs, sources });
    const before = listed();
    for (const text of ["10.96.0.0/16", "fd00:96::/112", "src 192.0.2.1", "src 2001:db8::1"])
        expect(before).toContain(text);
    await routes().ensure({ serviceCidrs: undefined, sources: undefined });
    expect(listed()).toBe(before);
    await routes().ensure({ serviceCidrs: [], sources: [] });
    expect(listed()).not.toMatch(/10\.96\.0\.0|fd00:96::|src/);
});
