import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatPrefix, parsePrefix, type Prefix } from "@antrea/ip";
import { RouteTable, type Netlink, type Route, type RouteFilter, type RouteOptions } from "@antrea/netlink";
import { podRouteProtocol } from "../../../src/platform/kernel-ids.ts";
import { HostRoutes } from "../../../src/features/pod-network/host-routes.ts";
import { silentLogger } from "../../support/logger.ts";
import { addressOf, podRecord } from "../../support/records.ts";

const inPool = (...texts: readonly string[]) =>
    podRecord({ addresses: texts.map((text) => ({ ...addressOf(text), pool: "pool1" })) });
const both = inPool("10.20.0.7/24", "fd20::7/64");
const nobody = (): boolean => false;

/** The kernel's main table: "destination, device, protocol". */
let table: Set<string>;
let gateway: { readonly index: number } | undefined;
/** Routes that are listed whatever the filter is, as older kernels do. */
let isFilterIgnored: boolean;

const line = (dst: Prefix, dev: number | undefined, protocol: number | undefined): string =>
    `${formatPrefix(dst)} dev ${dev} proto ${protocol}`;

const netlink = {
    link: (name: string) => Promise.resolve(name === "antrea-gw0" ? gateway : undefined),
    routes: ({ table: wanted, protocol }: RouteFilter) => {
        expect(wanted).toBe(RouteTable.MAIN);
        const all = [...table].map((text) => {
            const [dst = "", , dev, , proto] = text.split(" ");
            const prefix = parsePrefix(dst);
            return { dst: prefix, family: prefix.family, dev: Number(dev), protocol: Number(proto) } as Route;
        });
        return Promise.resolve(isFilterIgnored ? all : all.filter((one) => one.protocol === protocol));
    },
    replaceRoute: ({ dst, dev, protocol }: RouteOptions) =>
        Promise.resolve(void table.add(line(dst as Prefix, dev, protocol))),
    deleteRoute: ({ dst, dev, protocol, family }: RouteOptions) => {
        expect(family).toBe((dst as Prefix).family);
        return Promise.resolve(table.delete(line(dst as Prefix, dev, protocol)));
    },
} as unknown as Netlink;

const routes = (bridged = false): HostRoutes =>
    new HostRoutes({ netlink, logger: silentLogger }, { gatewayName: "antrea-gw0", bridged });
const ours = (dst: string, dev = 5): string => `${dst} dev ${dev} proto ${podRouteProtocol}`;

beforeEach(() => {
    table = new Set();
    gateway = { index: 5 };
    isFilterIgnored = false;
});

describe("the Node's routes to Pods of pools", () => {
    it("lead each address, of both families, to the gateway, and go with the Pod", async () => {
        await routes().add(both);
        expect([...table]).toEqual([ours("10.20.0.7/32"), ours("fd20::7/128")]);
        await routes().remove(both, nobody);
        expect([...table]).toEqual([]);
    });

    it("stay for an address that another interface has by now", async () => {
        await routes().add(both);
        await routes().remove(both, ({ family }) => family === 4);
        expect([...table]).toEqual([ours("10.20.0.7/32")]);
    });

    it("are none for Pods of the Node's subnet, which the podCIDR's route leads to, nor for bridged Pods", async () => {
        await routes().add(podRecord());
        await routes(true).add(both);
        expect([...table]).toEqual([]);
        table.add(ours("10.20.0.7/32"));
        await routes(true).remove(both, nobody);
        expect([...table]).toEqual([ours("10.20.0.7/32")]);
    });

    it("wait for the reconcile while the gateway is not there", async () => {
        gateway = undefined;
        await routes().add(both);
        table.add(ours("10.20.0.7/32"));
        await routes().remove(both, nobody);
        await routes().reconcile([]);
        expect([...table]).toEqual([ours("10.20.0.7/32")]);
    });
});

describe("the reconcile of routes to Pods", () => {
    it("makes the missing ones, removes those of Pods that are gone, and lets the right ones be", async () => {
        table = new Set([ours("10.20.0.7/32"), ours("10.20.0.9/32"), ours("fd20::9/128")]);
        const made: string[] = [];
        const add = table.add.bind(table);
        table.add = (text) => (made.push(text), add(text));
        await routes().reconcile([both, podRecord()]);
        expect([...table].toSorted()).toEqual([ours("10.20.0.7/32"), ours("fd20::7/128")]);
        expect(made).toEqual([ours("fd20::7/128")]);
    });

    it.each([false, true])("never touches a route of somebody else (filter ignored: %s)", async (ignored) => {
        isFilterIgnored = ignored;
        const others = ["10.20.0.7/32 dev 5 proto 4", "10.30.0.0/16 dev 3 proto 2"];
        table = new Set([...others, ours("10.20.0.9/32")]);
        await routes().reconcile([both]);
        expect([...table].toSorted()).toEqual([...others, ours("10.20.0.7/32"), ours("fd20::7/128")].toSorted());
    });

    it("removes them all once Pods are bridged", async () => {
        await routes().add(both);
        await routes(true).reconcile([both]);
        expect([...table]).toEqual([]);
    });
});
