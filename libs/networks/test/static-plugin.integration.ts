import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { convertResult, parseCniArgs, parseNetworkConfig } from "@antrea/cni";
import { ipamResult, parseIpamSection, wantedAddresses, type StaticAddress } from "../src/index.ts";

const versions = readFileSync(new URL("../../../tools/versions.env", import.meta.url), "utf8");
const version = /^CNI_PLUGINS_VERSION=(.+)$/m.exec(versions)?.[1] ?? "";
const cache = process.env["ANTREA_CACHE"] ?? join(process.env["HOME"] ?? "/root", ".cache/antrea");
const plugin = join(cache, `programs/cni-plugins-${version}/static`);

/** What the CNI project's plugin `static` answers: its result, or undefined when it refuses. */
function upstream(document: object, args: string): unknown {
    if (!existsSync(plugin)) throw new Error(`${plugin} is missing: run "tools/cluster/build-programs.sh cni-plugins"`);
    const env = {
        CNI_COMMAND: "ADD",
        CNI_CONTAINERID: "c1",
        CNI_NETNS: "/var/run/netns/none",
        CNI_IFNAME: "net1",
        CNI_PATH: "/",
        CNI_ARGS: args,
    };
    const { status, stdout } = spawnSync(plugin, { env, input: JSON.stringify(document), encoding: "utf8" });
    return status === 0 ? JSON.parse(stdout) : undefined;
}

function ours(document: object, args: string): unknown {
    try {
        const config = parseNetworkConfig(JSON.stringify(document));
        const section = parseIpamSection(config.ipam?.raw ?? {});
        const { addresses } = wantedAddresses(section, { args: parseCniArgs(args), config });
        const complete = addresses.filter((one): one is StaticAddress => one.prefixLength !== undefined);
        if (complete.length < addresses.length) return undefined;
        return JSON.parse(JSON.stringify(convertResult(ipamResult(section, complete), config.cniVersion)));
    } catch {
        return undefined;
    }
}

/** Empty lists and sections mean the same as absent ones; the two write them differently. */
function withoutEmpty(result: unknown): unknown {
    if (typeof result !== "object" || result === null) return result;
    return Object.fromEntries(Object.entries(result).filter(([, value]) => Object.keys(value as object).length > 0));
}

const listed = [
    { address: "10.10.0.1/24", gateway: "10.10.0.254" },
    { address: "3ffe:ffff:0:1ff::1/64", gateway: "3ffe:ffff::1" },
];
const whole = {
    addresses: listed,
    routes: [{ dst: "0.0.0.0/0" }, { dst: "192.168.0.0/16", gw: "10.10.5.1" }, { dst: "3ffe:ffff:0:1ff::/64" }],
    dns: { nameservers: ["8.8.8.8"], domain: "example.com", search: ["example.com"], options: ["ndots:2"] },
};

describe("an IPAM section without IPPools, beside the plugin static of the CNI project", () => {
    it.each<[string, object, object, string]>([
        ["a whole section", whole, {}, ""],
        ["no address", { routes: whole.routes }, {}, ""],
        ["an empty dns section", { ...whole, dns: {} }, {}, ""],
        ["CNI_ARGS IP", whole, {}, "IP=10.10.1.5/24"],
        ["CNI_ARGS IP of both families with a space", {}, {}, "IP=10.10.1.5/24, 2001:db8::5/64"],
        ["CNI_ARGS GATEWAY", whole, {}, "IP=10.10.0.7/24,10.10.1.5/24;GATEWAY=10.10.0.9,10.10.1.1"],
        ["CNI_ARGS of others", whole, {}, "IgnoreUnknown=1;K8S_POD_NAME=pod"],
        ["args.cni.ips", whole, { args: { cni: { ips: ["10.10.2.5/24"] } } }, "IP=10.10.1.5/24"],
        [
            "runtimeConfig.ips",
            whole,
            { args: { cni: { ips: ["10.10.2.5/24"] } }, runtimeConfig: { ips: ["10.10.3.5/24"] } },
            "",
        ],
        ["empty lists", whole, { args: { cni: { ips: [] } }, runtimeConfig: { ips: [] } }, ""],
        ["an address without prefix length", { addresses: [{ address: "10.10.0.1" }] }, {}, ""],
        ["an address that is none", { addresses: [{ address: "x/24" }] }, {}, ""],
        ["a gateway that is none", { addresses: [{ address: "10.10.0.1/24", gateway: "x" }] }, {}, ""],
        ["CNI_ARGS IP without prefix length", whole, {}, "IP=10.10.1.5"],
        ["CNI_ARGS GATEWAY that is none", whole, {}, "IP=10.10.1.5/24;GATEWAY=x"],
        ["runtimeConfig.ips without prefix length", whole, { runtimeConfig: { ips: ["10.10.3.5"] } }, ""],
    ])("answers alike: %s", (_, ipam, more, args) => {
        for (const cniVersion of ["0.3.0", "0.4.0", "1.0.0", "1.1.0"]) {
            const document = { cniVersion, name: "net", type: "macvlan", ipam: { type: "static", ...ipam }, ...more };
            expect(withoutEmpty(ours(document, args))).toEqual(withoutEmpty(upstream(document, args)));
        }
    });
});
