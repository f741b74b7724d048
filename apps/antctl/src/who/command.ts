import { formatIp, IpError, parseIp, type IpAddress } from "@antrea/ip";
import { isKubeError, type KubeObject, type Resource } from "@antrea/kube";
import { Command } from "commander";
import { hasOwnAddress, type Cluster, type PodInfo } from "../cluster/index.ts";
import { CliError } from "../errors.ts";
import { PoolSet } from "../pools/index.ts";
import { type CommandContext } from "../program/index.ts";
import { renderWho } from "./render.ts";
import { clusterUses, whoReport, type ClusterUse } from "./report.ts";

/**
 * Makes the command `antctl ipam who ADDRESS`, which prints a WhoReport. Its action rejects with CliError `BAD_INPUT`,
 * `NOT_SERVED` or KubeError.
 */
export function whoCommand(context: CommandContext): Command {
    const command = new Command("who")
        .summary("show the owner of an address")
        .description(
            "Shows the owner of an address: the allocation with its Pod, Node and owner, and the pool that hands it out; or " +
                "that it belongs to a Node, a podCIDR or a Service, or is free.",
        )
        .argument("ADDRESS", "an IPv4 address, or an IPv6 address in any spelling")
        .action(async (text: string) => {
            const ip = readAddress(text);
            using session = context.session(command);
            const { cluster } = session;
            const [pools, allocation] = await Promise.all([PoolSet.read(cluster), cluster.allocationOf(ip)]);
            const uses = await nameServices(cluster, ip, clusterUses(pools, ip));
            const pods = await podsWith(cluster, ip, allocation?.pod?.nodeName, uses);
            const report = whoReport({ ip, allocation, pools, uses, pods });
            context.print(command, report, (each, style) => renderWho(each, style, context.now()));
        });
    return command;
}

function readAddress(text: string): IpAddress {
    try {
        return parseIp(text.trim().replace(/^\[(.*)\]$/, "$1"));
    } catch (cause) {
        if (!(cause instanceof IpError)) throw cause;
        const next = "write an address without a prefix length, such as 10.2.0.12 or fd00::1";
        throw new CliError("BAD_INPUT", "caller", cause.message, next, { cause });
    }
}

/**
 * The Pods that report the address. If the Node is known, its Pods are listed, since Pods cannot be selected by their
 * second address; otherwise Pods are selected by their first address.
 */
async function podsWith(
    cluster: Cluster,
    ip: IpAddress,
    allocationNode: string | undefined,
    uses: readonly ClusterUse[],
): Promise<readonly PodInfo[]> {
    const address = formatIp(ip);
    const nodes = new Set([allocationNode, ...uses.filter(({ kind }) => kind === "PodCIDR").map(({ of }) => of)]);
    nodes.delete(undefined);
    const selectors = [`status.podIP=${address}`, ...[...nodes].map((node) => `spec.nodeName=${node}`)];
    const lists = await Promise.all(selectors.map((fieldSelector) => cluster.pods({ fieldSelector })));
    const found = lists.flat().filter((pod) => hasOwnAddress(pod) && pod.ips.includes(address));
    return [...new Map(found.map((pod) => [pod.uids[0], pod])).values()];
}

interface ServiceAddress extends KubeObject {
    readonly spec?: { readonly parentRef?: { readonly namespace?: string; readonly name?: string } };
}

/** networking.k8s.io/v1 IPAddress: named by the address, it references the Service that uses it. */
const serviceAddresses: Resource<ServiceAddress> = {
    group: "networking.k8s.io",
    version: "v1",
    plural: "ipaddresses",
    kind: "IPAddress",
    namespaced: false,
};

async function nameServices(
    cluster: Cluster,
    ip: IpAddress,
    uses: readonly ClusterUse[],
): Promise<readonly ClusterUse[]> {
    if (!uses.some(({ kind }) => kind === "ServiceCIDR")) return uses;
    const service = await serviceOf(cluster, ip);
    return service === undefined
        ? uses
        : uses.map((use) => (use.kind === "ServiceCIDR" ? { ...use, of: `Service ${service}` } : use));
}

// Only adds a name: without permission to read these objects the CIDR is still reported.
async function serviceOf(cluster: Cluster, ip: IpAddress): Promise<string | undefined> {
    try {
        const { parentRef } = (await cluster.find(serviceAddresses, { name: formatIp(ip) }))?.spec ?? {};
        return parentRef === undefined ? undefined : `${parentRef.namespace ?? ""}/${parentRef.name ?? ""}`;
    } catch (error) {
        if (isKubeError(error, "FORBIDDEN")) return undefined;
        throw error;
    }
}
