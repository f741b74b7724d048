import { describe, expect, it } from "@jest/globals";
import {
    CniCallError,
    CniResultError,
    type CniResult,
    type CniVersion,
    convertResult,
    parseResult,
} from "../src/index.ts";

const result: CniResult = {
    interfaces: [
        { name: "pod-123456", mac: "aa:bb:cc:dd:ee:01" },
        { name: "eth0", mac: "aa:bb:cc:dd:ee:02", mtu: 1450, sandbox: "/run/netns/x", pciID: "0000:00:1f.6" },
    ],
    ips: [
        { address: "10.0.0.5/24", gateway: "10.0.0.1", interface: 1 },
        { address: "fd00::5/64", gateway: "fd00::1", interface: 1 },
    ],
    routes: [
        { dst: "0.0.0.0/0", gw: "10.0.0.1", mtu: 1400, advmss: 1360, priority: 10, table: 254, scope: 0 },
        { dst: "::/0", gw: "fd00::1" },
    ],
    dns: { nameservers: ["10.96.0.10"], search: ["cluster.local"] },
};

const oldInterfaces = [
    { name: "pod-123456", mac: "aa:bb:cc:dd:ee:01" },
    { name: "eth0", mac: "aa:bb:cc:dd:ee:02", sandbox: "/run/netns/x" },
];
const oldRoutes = [
    { dst: "0.0.0.0/0", gw: "10.0.0.1" },
    { dst: "::/0", gw: "fd00::1" },
];

describe("convertResult", () => {
    it.each<CniVersion>(["0.3.0", "0.3.1", "0.4.0"])("writes %s with families and without newer fields", (version) => {
        expect(convertResult(result, version)).toEqual({
            cniVersion: version,
            interfaces: oldInterfaces,
            ips: [
                { version: "4", address: "10.0.0.5/24", gateway: "10.0.0.1", interface: 1 },
                { version: "6", address: "fd00::5/64", gateway: "fd00::1", interface: 1 },
            ],
            routes: oldRoutes,
            dns: result.dns,
        });
    });

    it("writes 1.0.0 without families and newer fields", () => {
        expect(convertResult(result, "1.0.0")).toEqual({
            cniVersion: "1.0.0",
            interfaces: oldInterfaces,
            ips: result.ips,
            routes: oldRoutes,
            dns: result.dns,
        });
    });

    it("writes 1.1.0 as it is", () => {
        expect(convertResult(result, "1.1.0")).toEqual({ cniVersion: "1.1.0", ...result });
    });

    it("leaves out what is empty, but not the addresses", () => {
        const empty: CniResult = { interfaces: [], ips: [], routes: [], dns: {} };
        expect(convertResult(empty, "1.0.0")).toEqual({ cniVersion: "1.0.0", ips: [] });
    });

    it("refuses an address that points at no interface", () => {
        const bad = { ...result, ips: [{ address: "10.0.0.5/24", interface: 2 }] };
        expect(() => convertResult(bad, "1.1.0")).toThrow(CniResultError);
    });

    it.each<CniVersion>(["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])("is read back from %s", (version) => {
        const converted = convertResult(result, version);
        const expected = version === "1.1.0" ? result : { ...result, interfaces: oldInterfaces, routes: oldRoutes };
        expect(parseResult(converted, { path: "prevResult", defaultVersion: "1.1.0" })).toEqual(expected);
    });
});

describe("parseResult", () => {
    const options = { path: "prevResult", defaultVersion: "1.0.0" } as const;
    const ip = { address: "10.0.0.5/24" };

    it("reads what other plugins write for not set", () => {
        const loose = {
            interfaces: null,
            ips: [{ ...ip, gateway: "" }],
            routes: [{ dst: "10.0.0.5/8", gw: "" }],
            dns: {},
        };
        expect(parseResult(loose, options)).toEqual({
            interfaces: [],
            ips: [ip],
            routes: [{ dst: "10.0.0.5/8" }],
            dns: {},
        });
    });

    it.each([
        ["text", "x", 'prevResult: "x" must be a JSON object'],
        ["version 0.2.0", { cniVersion: "0.2.0" }, 'prevResult.cniVersion: "0.2.0" is not one of'],
        ["addresses that are no list", { ips: {} }, "prevResult.ips: {} must be a list"],
        [
            "an address without prefix length",
            { ips: [{ address: "10.0.0.5" }] },
            'ips[0].address: "10.0.0.5" is refused',
        ],
        [
            "a gateway of the other family",
            { ips: [{ ...ip, gateway: "fd00::1" }] },
            "must be of the family of the address",
        ],
        ["a wrong family", { ips: [{ ...ip, version: "6" }] }, 'ips[0].version: "6" must be "4"'],
        [
            "an index out of range",
            { interfaces: [{ name: "a" }], ips: [{ ...ip, interface: 1 }] },
            "ips[0].interface: 1",
        ],
        ["an index below 0", { interfaces: [{ name: "a" }], ips: [{ ...ip, interface: -1 }] }, "ips[0].interface: -1"],
        ["an index without interfaces", { ips: [{ ...ip, interface: 0 }] }, "which has 0 elements"],
        ["an interface without name", { interfaces: [{}] }, "interfaces[0].name: nothing"],
        ["a wrong MAC", { interfaces: [{ name: "a", mac: "zz" }] }, 'interfaces[0].mac: "zz" is refused'],
        ["a wrong destination", { routes: [{ dst: "x" }] }, 'routes[0].dst: "x" is refused'],
        ["a next hop of the other family", { routes: [{ dst: "::/0", gw: "10.0.0.1" }] }, "routes[0].gw"],
        [
            "a wrong scope",
            { routes: [{ dst: "::/0", scope: 256 }] },
            "routes[0].scope: 256 must be an integer from 0 to 255",
        ],
    ])("refuses %s", (_name, value, expected) => {
        const parse = (): unknown => parseResult(value, options);
        expect(parse).toThrow(CniCallError);
        expect(parse).toThrow(expected);
    });
});
