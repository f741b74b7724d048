import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CniCmdArgs } from "@antrea/cni";
import { antreaConfig } from "../cni-client.ts";
import { cniPluginsPath, shimPath, workPath } from "../paths.ts";
import { pluginEnvironment, startPlugin } from "../plugin.ts";
import { type VlanNetwork } from "./vlan-networks.ts";

/** The CNI arguments of a Pod, for its first interface. */
export type PodCall = Omit<CniCmdArgs, "networkConfiguration">;

/** One plugin call for one interface of a Pod. */
export interface Step {
    readonly program: string;
    readonly ifname: string;
    readonly config: string;
}

/** The steps by which the agent attaches all networks: the ADD of the first interface. */
export const atOnce: readonly Step[] = [{ program: shimPath, ifname: "eth0", config: antreaConfig }];

/** The steps by which a meta plugin lets the agent attach one network after another. */
export function oneByOne(networks: readonly VlanNetwork[]): readonly Step[] {
    return [...atOnce, ...networks.map(({ config }, at) => ({ program: shimPath, ifname: `eth${at + 1}`, config }))];
}

/**
 * The steps by which a meta plugin calls containernetworking's `bridge` with `host-local`, a Linux bridge for each of so
 * many networks, and one more for the Pod network.
 */
export function byBridges(count: number): readonly Step[] {
    return Array.from({ length: count + 1 }, (_, at) => {
        const ranges = [[{ subnet: `10.${firstBridgeSubnet + at}.0.0/22` }]];
        const ipam = { type: "host-local", dataDir: workPath("networks-host-local"), ranges };
        const config = { cniVersion: "1.0.0", name: `peer${at}`, type: "bridge", bridge: bridgeName(at), ipam };
        const whole = at === 0 ? { ...config, isDefaultGateway: true } : config;
        return { program: join(cniPluginsPath(), "bridge"), ifname: `eth${at}`, config: JSON.stringify(whole) };
    });
}

const firstBridgeSubnet = 160;

/** The Linux bridge of `byBridges` for eth0, eth1, …, from 0. */
export function bridgeName(at: number): string {
    return `peer${at}`;
}

/** Runs the steps of an ADD in their order; resolves with the results. Rejects with the first failure. */
export async function attach(
    steps: readonly Step[],
    call: PodCall,
    environment: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
    const results: string[] = [];
    for (const step of steps) results.push(await run("ADD", step, call, environment));
    return results;
}

/** Runs the steps of a DEL, the last interface first. */
export async function detach(steps: readonly Step[], call: PodCall, environment: NodeJS.ProcessEnv): Promise<void> {
    for (const step of steps.toReversed()) await run("DEL", step, call, environment);
}

function run(
    command: "ADD" | "DEL",
    { program, ifname, config }: Step,
    call: PodCall,
    environment: NodeJS.ProcessEnv,
): Promise<string> {
    const env = { ...pluginEnvironment(command, { ...call, ifname, path: cniPluginsPath() }), ...environment };
    return startPlugin(program, env, config);
}

/**
 * Lets a meta plugin be the first in the CNI folder of a Node, until disposal: the agent then attaches only what it is
 * called for.
 */
export function metaPluginIn(folder: string): Disposable {
    const path = join(folder, "00-meta.conf");
    writeFileSync(path, JSON.stringify({ cniVersion: "1.0.0", name: "meta", type: "meta" }));
    return { [Symbol.dispose]: () => rmSync(path) };
}
