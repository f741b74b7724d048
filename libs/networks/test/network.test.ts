import { describe, expect, it } from "@jest/globals";
import { parseNetworkConfig } from "@antrea/cni";
import {
    keysText,
    NetworkError,
    networkOfCall,
    parseNetwork,
    resourceNameAnnotation,
    type ForeignNetwork,
    type OwnNetwork,
} from "../src/index.ts";

const vlan100 = {
    cniVersion: "0.3.0",
    type: "antrea",
    networkType: "vlan",
    mtu: 1500,
    vlan: 100,
    ipam: { type: "antrea", ippools: ["vlan100-ipv4", "vlan100-ipv6"] },
};
const sriov = {
    cniVersion: "0.3.0",
    type: "antrea",
    networkType: "sriov",
    ipam: { type: "antrea", ippools: ["sriov-ipv4"] },
};
const resource = { [resourceNameAnnotation]: "intel.com/sriov_net_A" };

const parse = (config: unknown, annotations: Record<string, string> = {}): OwnNetwork | ForeignNetwork =>
    parseNetwork({
        namespace: "ns",
        name: "net1",
        annotations,
        config: typeof config === "string" || config === undefined ? config : JSON.stringify(config),
    });

function refusal(config: unknown, annotations?: Record<string, string>): string {
    try {
        parse(config, annotations);
    } catch (error) {
        if (error instanceof NetworkError) return `${error.code} ${error.details.network} ${error.message}`;
        throw error;
    }
    return "accepted";
}

describe("parseNetwork", () => {
    it("reads a VLAN network", () => {
        expect(parse(vlan100)).toEqual({
            kind: "vlan",
            network: "ns/net1",
            mtu: 1500,
            vlan: 100,
            resourceName: undefined,
            ipam: { ippools: ["vlan100-ipv4", "vlan100-ipv6"], addresses: [], routes: [], dns: undefined, ignored: [] },
            ignored: [],
        });
    });

    it("names the keys that have no effect, of the section and beside a list too", () => {
        const ipam = { type: "antrea", ippools: ["a"], range: "10.1.0.0/24", gateway: null };
        const harmless = { disableCheck: true, capabilities: { ips: true }, args: {}, "cni.dev/attachments": [] };
        const wrong = { ...vlan100, ...harmless, vlanId: 5, dns: {}, unset: null, ipam };
        const ignoredIn = (config: object): unknown => (parse(config) as OwnNetwork).ignored;
        expect(ignoredIn(wrong)).toEqual(["vlanId", "dns", "ipam.range"]);
        expect(ignoredIn({ cniVersion: "1.0.0", vlan: 7, disableGC: true, plugins: [wrong] })).toEqual([
            "vlan beside plugins",
            "vlanId",
            "dns",
            "ipam.range",
        ]);
        const called = parseNetworkConfig(JSON.stringify({ ...wrong, name: "net1", runtimeConfig: {}, pciBusID: "a" }));
        expect(networkOfCall(called, "ns").ignored).toEqual(["vlanId", "dns", "ipam.range"]);
        const many = Array.from({ length: 12 }, (_, index) => `k${index}`);
        expect(keysText(["vlan beside plugins", "a\nb", ...many])).toBe(
            'vlan beside plugins, "a\\nb", k0, k1, k2, k3, k4, k5, k6, k7 and 4 more',
        );
    });

    it("reads a list of one plugin", () => {
        const { cniVersion, ...plugin } = vlan100;
        expect(parse({ cniVersion, name: "list", plugins: [plugin] })).toEqual(parse(vlan100));
    });

    it("leaves out what is not set: mtu 0, vlan 0, ipam", () => {
        const { type, cniVersion } = vlan100;
        expect(parse({ type, cniVersion, networkType: "vlan", mtu: 0, vlan: 0, ipam: {} })).toEqual({
            kind: "vlan",
            network: "ns/net1",
            mtu: undefined,
            vlan: undefined,
            resourceName: undefined,
            ipam: undefined,
            ignored: [],
        });
    });

    it("reads an SR-IOV network", () => {
        expect(parse(sriov, resource)).toMatchObject({ kind: "sriov", resourceName: "intel.com/sriov_net_A" });
    });

    it.each([
        ["one plugin", { cniVersion: "1.0.0", type: "macvlan", master: "eth0" }],
        ["a list", { cniVersion: "1.0.0", name: "x", plugins: [{ type: "macvlan" }, { type: "tuning" }] }],
    ])("leaves a network of another plugin alone: %s", (_, config) => {
        expect(parse(config)).toEqual({ kind: "foreign", network: "ns/net1", type: "macvlan" });
    });

    it.each<[string, unknown, RegExp]>([
        ["no config", undefined, /spec\.config: nothing is empty; next: write/],
        ["an empty config", " ", /spec\.config: " " is empty/],
        ["no JSON", "{", /spec\.config: "\{" is not valid JSON/],
        ["a list as document", "[]", /spec\.config: \[\] is not a JSON object/],
        [
            "more levels than can be written",
            `{"type":"antrea","networkType":"vlan","a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
            /spec\.config: a value of too many levels cannot be read; next: write fewer levels/,
        ],
        ["no plugins", { plugins: [] }, /plugins: \[\] must be a list of objects/],
        ["a plugin that is no object", { plugins: [7] }, /plugins: \[7\] must be a list of objects/],
        [
            "two plugins",
            { plugins: [{ type: "antrea" }, { type: "tuning" }] },
            /plugins: \["antrea","tuning"\] has more than one plugin; next: keep/,
        ],
        ["no type", { cniVersion: "1.0.0" }, /type: nothing must name a plugin/],
        ["another version", { ...vlan100, cniVersion: "9.0.0" }, /9\.0\.0/],
        [
            "no networkType",
            { ...vlan100, networkType: undefined },
            /networkType: nothing is not supported; next: write "vlan" or "sriov"/,
        ],
        ["another networkType", { ...vlan100, networkType: "overlay" }, /networkType: "overlay" is not supported/],
        ["vlan 4095", { ...vlan100, vlan: 4095 }, /vlan: 4095 must be a whole number from 0 to 4094/],
        ["vlan 1.5", { ...vlan100, vlan: 1.5 }, /vlan: 1\.5 must be/],
        ["vlan -1", { ...vlan100, vlan: -1 }, /vlan: -1 must be/],
        ["vlan as text", { ...vlan100, vlan: "100" }, /vlan: "100" must be/],
        ["mtu 67", { ...vlan100, mtu: 67 }, /mtu: 67 must be 0 \(not set\) or from 68 to 65535/],
        ["mtu 65536", { ...vlan100, mtu: 65536 }, /mtu: 65536 must be an integer/],
        [
            "mtu under 1280 with IPv6",
            { ...vlan100, mtu: 1279, ipam: { type: "antrea", addresses: [{ address: "2001:db8::5/64" }] } },
            /mtu: 1279 is under 1280, the minimum of IPv6 \(RFC 8200\); next: raise it, or use IPv4 only$/,
        ],
        [
            "another IPAM",
            { ...vlan100, ipam: { type: "host-local" } },
            /ipam\.type: "host-local" gives no addresses to networks of Antrea/,
        ],
        [
            "neither pools nor addresses",
            { ...vlan100, ipam: { type: "antrea" } },
            /ipam: \{"type":"antrea"\} has neither IPPools nor addresses/,
        ],
        [
            "a pool twice",
            { ...vlan100, ipam: { type: "antrea", ippools: ["a", "a"] } },
            /ipam\.ippools: .* names "a" twice/,
        ],
        [
            "a pool's name that is none",
            { ...vlan100, ipam: { type: "antrea", ippools: ["A"] } },
            /ipam\.ippools: .* has as element 1 "A", which must be a DNS subdomain/,
        ],
        [
            "an address without prefix length",
            { ...vlan100, ipam: { type: "antrea", addresses: [{ address: "10.0.0.5" }] } },
            /ipam\.addresses\[0\]\.address: "10\.0\.0\.5" is refused/,
        ],
        [
            "a gateway of another family",
            { ...vlan100, ipam: { type: "antrea", addresses: [{ address: "10.0.0.5/24", gateway: "::1" }] } },
            /ipam\.addresses\[0\]\.gateway: "::1" must be of the family/,
        ],
        [
            "a route that is none",
            { ...vlan100, ipam: { type: "antrea", ippools: ["a"], routes: [{ dst: "x" }] } },
            /ipam\.routes\[0\]\.dst: "x" is refused/,
        ],
        [
            "a route of another table",
            {
                ...vlan100,
                ipam: {
                    type: "antrea",
                    ippools: ["a"],
                    routes: [{ dst: "10.0.0.0/8" }, { dst: "0.0.0.0/0", table: 100 }],
                },
            },
            /ipam\.routes\[1\]\.table: 100 is refused, as the routes .* main table; next: remove table$/,
        ],
        [
            "two default routes of a family",
            {
                ...vlan100,
                ipam: {
                    type: "antrea",
                    ippools: ["a"],
                    routes: [{ dst: "0.0.0.0/0" }, { dst: "::/0" }, { dst: "10.0.0.1/0", gw: "10.2.0.9" }],
                },
            },
            /ipam\.routes\[2\]\.dst: "10\.0\.0\.1\/0" is a second default route of IPv4, after ipam\.routes\[0\]; next: keep one/,
        ],
        ...["mtu", "advmss", "priority", "scope"].map((key): [string, unknown, RegExp] => [
            `${key} of a route`,
            { ...vlan100, ipam: { type: "antrea", ippools: ["a"], routes: [{ dst: "10.0.0.0/8", [key]: 200 }] } },
            new RegExp(
                String.raw`ipam\.routes\[0\]\.${key}: 200 is refused, as it has no effect .*; next: remove ${key}$`,
                "u",
            ),
        ]),
    ])("refuses %s", (_, config, message) => {
        expect(refusal(config)).toMatch(/^INVALID_NETWORK ns\/net1 network ns\/net1: /);
        expect(refusal(config)).toMatch(message);
        expect(refusal(config)).toMatch(/; next: /);
    });

    it("takes keys of a route that describe what the agent does", () => {
        const route = { dst: "10.0.0.0/8", table: 254, mtu: 0, advmss: 0, priority: 0, scope: 0 };
        expect(refusal({ ...vlan100, ipam: { type: "antrea", ippools: ["a"], routes: [route] } })).toBe("accepted");
    });

    it.each<[string, unknown, Record<string, string>, RegExp]>([
        ["no resource", sriov, {}, /annotation k8s\.v1\.cni\.cncf\.io\/resourceName: "" is missing; next: set/],
        ["vlan", { ...sriov, vlan: 5 }, resource, /vlan: 5 has no effect in a network of type sriov/],
    ])("refuses an SR-IOV network with %s", (_, config, annotations, message) => {
        expect(refusal(config, annotations)).toMatch(message);
    });

    it("accepts a default route of each family", () => {
        const routes = [{ dst: "0.0.0.0/0" }, { dst: "::/0" }, { dst: "10.0.0.0/8" }];
        expect(refusal({ ...vlan100, ipam: { type: "antrea", ippools: ["a"], routes } })).toBe("accepted");
    });

    it("accepts a gateway outside of the subnet", () => {
        const ipam = { type: "antrea", addresses: [{ address: "10.0.0.5/32", gateway: "10.0.1.1" }] };
        expect(refusal({ ...vlan100, ipam })).toBe("accepted");
    });
});

describe("networkOfCall", () => {
    const call = (more: object): OwnNetwork =>
        networkOfCall(parseNetworkConfig(JSON.stringify({ ...sriov, name: "net1", ...more })), "ns");

    it("has the device that a meta plugin names, and no resource", () => {
        const device = { deviceId: "0000:af:06.0", resourceName: undefined };
        expect(call({ deviceID: "0000:af:06.0" })).toMatchObject({ kind: "sriov", network: "ns/net1", ...device });
        expect(call({}).deviceId).toBeUndefined();
        expect(call({ deviceID: null }).deviceId).toBeUndefined();
        expect(call({ networkType: "vlan", deviceID: "0000:af:06.0" }).deviceId).toBeUndefined();
    });

    it.each([5, "", {}, ["0000:af:06.0"]])("refuses the device %j", (deviceID) => {
        expect(() => call({ deviceID })).toThrow(/^network ns\/net1: deviceID: .* must be a text .*; next: /);
    });
});
