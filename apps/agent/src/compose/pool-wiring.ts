import { formatIp, formatPrefix, prefixOf, type Prefix } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import type { SubnetInterface } from "../features/ip-pools/ignored-annotations.ts";
import {
    type IpPools,
    type SubnetWired,
    type SubnetWiring,
    type PoolInterface,
    type Wiring,
} from "../features/ip-pools/index.ts";
import { type NodeSubnet, type PodNetwork, type RecordClaims } from "../features/pod-network/index.ts";
import { type Attachment, isPoolRecord, type PodInterface, type PodRecord } from "../platform/pod-interfaces/index.ts";

/** The Pod network as the reconcile of claims sees it. */
export function poolWiring(network: PodNetwork, netlink: Netlink): Wiring {
    const { linkExists, isIsolated, isolate, reconnect } = isolation(network, netlink);
    return {
        interfaces: () =>
            network
                .interfaces()
                // Those that are being removed too: their claims are in use until port and flows are gone.
                .filter((known) => isPoolRecord(known.record))
                .map(({ record }) => wiredOf(record)),
        linkExists,
        exclusively: (containerId, work, signal) => network.exclusively(containerId, work, signal),
        isWired: (podUid, ifName) =>
            podUid !== "" &&
            network.interfaces().some(({ record }) => record.podUid === podUid && record.ifName === ifName),
        isAdding: (containerIdOrPodUid) => network.isAdding(containerIdOrPodUid),
        isCutOff: isIsolated,
        isUndecided: ({ containerId, ifName }) => {
            const known = network.find(containerId, ifName);
            return known !== undefined && network.isUndecided(known);
        },
        isConnected: (ip) => network.isConnected(ip),
        cutOff: isolate,
        reconnect,
    };
}

/** The Pod network as the look at claims in this Node's podCIDRs sees it. */
export function subnetWiring(network: PodNetwork, netlink: Netlink): SubnetWiring {
    return {
        interfaces: () =>
            network
                .interfaces()
                .filter((known) => !isPoolRecord(known.record) && !network.isLeaving(known))
                .map(({ record }) => subnetWiredOf(record)),
        exclusively: (containerId, work, signal) => network.exclusively(containerId, work, signal),
        ...isolation(network, netlink),
    };
}

/**
 * The podCIDRs of this Node, and each address that a Pod has of them, or that is held for one, or that one has still of an
 * earlier podCIDR: a pool may have that too, and of a podCIDR only the blocks that are asked about are watched.
 */
export function guardedPrefixes(
    podPrefixes: readonly Prefix[],
    network: Pick<PodNetwork, "interfaces">,
    subnet: Pick<NodeSubnet, "addresses">,
): readonly Prefix[] {
    const ofSubnets = network.interfaces().filter(({ record }) => !isPoolRecord(record));
    const wired = ofSubnets.flatMap(({ record }) => record.addresses.map(({ ip }) => prefixOf(ip)));
    const known = new Map(
        [...wired, ...subnet.addresses().map((ip) => prefixOf(ip))].map((one) => [formatPrefix(one), one]),
    );
    return [...podPrefixes, ...known.values()];
}

function isolation(
    network: PodNetwork,
    netlink: Netlink,
): {
    readonly isIsolated: (wired: Attachment) => boolean;
    readonly linkExists: (wired: Attachment) => Promise<boolean>;
    readonly isolate: (wired: Attachment) => Promise<void>;
    readonly reconnect: (wired: Attachment) => Promise<void>;
} {
    const found = ({ containerId, ifName }: Attachment): PodInterface | undefined => network.find(containerId, ifName);
    return {
        linkExists: async (wired) => {
            const known = found(wired);
            return known !== undefined && (await netlink.link(known.record.hostIfName)) !== undefined;
        },
        isIsolated: (wired) => {
            const known = found(wired);
            return known !== undefined && network.isCutOff(known);
        },
        isolate: async (wired) => {
            const known = found(wired);
            // Also one that is: an earlier try may have failed in part.
            if (known !== undefined) await network.cutOff(known);
        },
        reconnect: async (wired) => {
            const known = found(wired);
            if (known !== undefined && network.isCutOff(known)) await network.reconnect(known);
        },
    };
}

/** The claims of this Node as the rebuild of its interfaces sees them. */
export function recordClaims(pools: Pick<IpPools, "own" | "hasClaims">): RecordClaims {
    return {
        synced: (signal) => pools.own.synced(signal),
        cover: (record) =>
            pools.hasClaims(
                record,
                record.addresses.map(({ ip }) => ip),
            ),
    };
}

/** Interfaces with addresses of the Node's subnets. */
export function subnetInterfaces(network: Pick<PodNetwork, "interfaces">): readonly SubnetInterface[] {
    return network
        .interfaces()
        .filter(({ record, addedAt }) => !isPoolRecord(record) && Number.isFinite(addedAt))
        .map(({ record: { containerId, ifName, podNamespace, podName, podUid }, addedAt }) => ({
            containerId,
            ifName,
            podNamespace,
            podName,
            podUid,
            isRebuilt: addedAt === 0,
        }));
}

/** Interfaces that are isolated, with whatever addresses. */
export function isolatedInterfaces(
    network: Pick<PodNetwork, "interfaces" | "isCutOff" | "isLeaving">,
): readonly SubnetWired[] {
    return network
        .interfaces()
        .filter((known) => network.isCutOff(known) && !network.isLeaving(known))
        .map(({ record }) => subnetWiredOf(record));
}

const claimsKnownMs = 2_000;

/** For CHECK: what is wrong with the claims of a record, if anything; nothing is while the claims are not known. */
export async function claimProblem(pools: IpPools | undefined, record: PodRecord): Promise<string | undefined> {
    if (pools === undefined || !isPoolRecord(record)) return undefined;
    try {
        await pools.own.synced(AbortSignal.timeout(claimsKnownMs));
    } catch {
        return undefined;
    }
    const claimed = new Set(pools.own.ofContainer(record).map(({ spec }) => spec.address));
    const lost = record.addresses.map(({ ip }) => formatIp(ip)).find((text) => !claimed.has(text));
    return lost === undefined
        ? undefined
        : `address ${lost} is not claimed for it: no IPAllocation names the container`;
}

function subnetWiredOf({ containerId, ifName, podNamespace, podName, podUid, addresses }: PodRecord): SubnetWired {
    return { containerId, ifName, podNamespace, podName, podUid, addresses: addresses.map(({ ip }) => ip) };
}

function wiredOf(record: PodRecord): PoolInterface {
    const { containerId, ifName, podNamespace, podName, podUid, addresses, vlan } = record;
    return {
        containerId,
        ifName,
        podNamespace,
        podName,
        podUid,
        vlan,
        addresses: addresses.map(({ pool = "", ...address }) => ({ ...address, pool })),
    };
}
