import { CniCallError, encodeResult, parseCniArgs, parseNetworkConfig, parseResult, type CniResult } from "@antrea/cni";
import { formatIp, parsePrefix, prefixContains, type IpAddress } from "@antrea/ip";
import {
    addressesOf,
    ipamResult,
    parseIpamSection,
    planAddresses,
    requestedMac,
    wantedAddresses,
    type AddressPlan,
    type IpamSection,
} from "@antrea/networks";
import { hasMoreLevels, isRecord, json, parsed } from "../fixture.ts";
import { BrokenProperty, isTypedRefusal, mustEqual, type Target } from "../target.ts";

const section = {
    type: "antrea",
    ippools: ["a", "b"],
    addresses: [{ address: "10.10.0.1/24", gateway: "10.10.0.254" }, { address: "fd00:b::5/64" }],
    routes: [{ dst: "192.168.0.0/16", gw: "10.10.5.1" }],
    dns: { nameservers: ["8.8.8.8"], domain: "example.com", search: ["example.com"] },
};
const ranges = [
    ["a", parsePrefix("10.2.0.0/16")],
    ["b", parsePrefix("fd00:b::/64")],
    ["c", parsePrefix("10.3.0.0/16")],
] as const;

/** The IPAM section of a network, what a call requests beside it, and the plan for both. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    seeds: () => [
        json({ config: { ipam: section } }),
        json({
            config: { ipam: { ...section, addresses: undefined }, runtimeConfig: { ips: ["10.2.0.5", "10.3.0.5/24"] } },
        }),
        json({ config: { ipam: { ...section, ippools: [] } }, args: "IP=10.2.0.9/24,10.9.0.9/24;GATEWAY=10.9.0.1" }),
        json({
            config: { ipam: section, args: { cni: { ips: ["10.2.0.7/16", "fd00:b::7"], mac: "02:00:00:00:00:02" } } },
        }),
        json({ config: { ipam: { type: "antrea" } }, args: "IP=10.2.0.9" }),
        json({
            config: { ipam: section, runtimeConfig: { ips: [], mac: "02:00:00:00:00:01" } },
            args: "MAC=02:00:00:00:00:03",
        }),
        json({ config: { ipam: { ...section, ippools: ["a", "a"] } } }),
        json({
            config: { ipam: { type: "antrea", ippools: ["a"] }, runtimeConfig: { ips: ["10.2.0.5", "10.2.0.6/24"] } },
        }),
        json({ config: { ipam: section, runtimeConfig: { ips: ["::ffff:10.2.0.5"] } } }),
    ],
    tokens: ["IP=", ";GATEWAY=", ";MAC=", "10.2.0.5/24", "fd00:b::5", "10.3.0.5", "0.0.0.0/0", "runtimeConfig", "ips"],
    run: (input) => {
        const value = parsed(input);
        if (!isRecord(value) || !isRecord(value.config) || hasMoreLevels(value)) return;
        const text = json({ cniVersion: "1.1.0", name: "net1", type: "macvlan", ...value.config });
        const config = parseNetworkConfig(text);
        const args = parseCniArgs(typeof value.args === "string" ? value.args : "");
        const mac = settled(() => requestedMac({ args, config }));
        if (mac !== undefined && !/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac)) throw new BrokenProperty(`MAC ${mac}`);
        if (config.ipam === undefined) return;
        const read = parseIpamSection(config.ipam.raw);
        const plan = planAddresses(read, wantedAddresses(read, { args, config }), poolOf);
        check(read, plan);
        checkResult(read, plan);
    },
    isRefusal: (error) => error instanceof CniCallError && isTypedRefusal(error),
};

function poolOf(ip: IpAddress): string | undefined {
    return ranges.find(([, prefix]) => prefix.family === ip.family && prefixContains(prefix, ip))?.[0];
}

/** Undefined if it is rejected: what follows is to be reached also then. */
function settled<Value>(parse: () => Value): Value | undefined {
    try {
        return parse();
    } catch (error) {
        if (error instanceof CniCallError) return undefined;
        throw error;
    }
}

function check({ ippools }: IpamSection, { demands, order, given }: AddressPlan): void {
    const numbers = order.filter((one) => typeof one === "number");
    mustEqual("the demands in the order of the result", numbers, [...demands.keys()]);
    mustEqual(
        "the pools of the section, first and in its order",
        demands.slice(0, ippools.length).map(({ pool }) => pool),
        ippools,
    );
    mustEqual("the first of the result", order.slice(0, ippools.length), [...ippools.keys()]);
    const fixed = demands.flatMap((demand) => (demand.fixed === undefined ? [] : [formatIp(demand.fixed)]));
    const statics = order.filter((one) => typeof one !== "number").map(({ ip }) => ip);
    const all = [...fixed, ...statics.map((ip) => formatIp(ip))];
    if (new Set(all).size !== all.length) throw new BrokenProperty(`an address is planned twice: ${json(all)}`);
    for (const { pool, fixed: ip } of demands) {
        if (ip !== undefined && poolOf(ip) !== pool) throw new BrokenProperty(`${formatIp(ip)} of IPPool ${pool}`);
    }
    for (const ip of statics) {
        if (poolOf(ip) !== undefined) throw new BrokenProperty(`${formatIp(ip)} of an IPPool is not claimed`);
    }
    for (const [pool, of] of Map.groupBy(demands, (demand) => demand.pool)) {
        if (of.length > 1 && of.some((demand) => demand.fixed === undefined)) {
            throw new BrokenProperty(`IPPool ${pool} has several demands, and one of any address`);
        }
    }
    for (const [index, { ip }] of given) {
        const demand = demands[index]?.fixed;
        if (index < ippools.length || demand === undefined || formatIp(demand) !== formatIp(ip)) {
            throw new BrokenProperty(`settings of ${formatIp(ip)} for demand ${index}`);
        }
    }
}

/** The answer to the call has each address once, and can be read again. */
function checkResult(section: IpamSection, plan: AddressPlan): void {
    const claimed = plan.demands.map(({ pool, fixed }) => {
        const [, prefix] = ranges.find(([name]) => name === pool) ?? ranges[0];
        const gateway = { family: prefix.family, value: prefix.base };
        return { ip: fixed ?? gateway, prefixLength: prefix.length, gateway };
    });
    const result: CniResult = ipamResult(section, addressesOf(plan, claimed));
    if (result.ips.length !== plan.order.length) throw new BrokenProperty(`${result.ips.length} addresses`);
    const encoded = JSON.parse(new TextDecoder().decode(encodeResult(result, "1.1.0"))) as unknown;
    mustEqual("a result written and read", parseResult(encoded, { path: "result", defaultVersion: "1.1.0" }), result);
}
