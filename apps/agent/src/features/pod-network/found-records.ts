import type { IpAddress } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import { macOf } from "./names.ts";
import { gatewayOf } from "./node-subnet.ts";
import { fromAlias, networkOfHash, type PodRecord } from "../../platform/pod-interfaces/index.ts";

/** A port of the bridge with its record, as read from OVSDB. */
export interface StoredPort {
    readonly name: string;
    readonly externalIds: ReadonlyMap<string, string>;
    /** Undefined until OVS has assigned one, -1 if OVS cannot open the port (ovs-vswitchd.conf.db(5)). */
    readonly ofPort: number | undefined;
}

/** A Pod of this Node as reported by the API server; "" for a missing field. */
export interface KnownPod {
    readonly uid: string;
    /** For a static Pod, the UID that CNI passes; the UID of its object differs. */
    readonly staticUid?: string | undefined;
    readonly namespace: string;
    readonly name: string;
    readonly hostNetwork: boolean;
    /** Phase Succeeded or Failed: its containers are gone, and their addresses with them. */
    readonly ended: boolean;
    /** Whether its sandbox exists; after a restart of the Node it does not until the kubelet has created a new one. */
    readonly hasSandbox: boolean;
    /** The valid addresses of `status.podIPs`. */
    readonly podIps: readonly IpAddress[];
}

/** What `fromLink` completes a record with. */
export interface FromLinkInput {
    readonly pods: readonly KnownPod[];
    /** /proc/sys/kernel/random/boot_id: links with another one are ignored. */
    readonly bootId: string;
    /** The pool that an address of this Node is allocated from; undefined if unknown. */
    readonly poolOf: (ip: IpAddress) => string | undefined;
}

/**
 * The record, isolated if the alias of its link is so too: an agent that ended while isolating an interface may have
 * written only one of the two. Returns the same object if the alias is of another container or not isolated.
 */
export function isolatedByAlias(record: PodRecord, link: Link | undefined): PodRecord {
    const alias = fromAlias(link?.alias);
    const isIsolated = alias?.isolated === true && alias.containerId === record.containerId;
    return isIsolated ? { ...record, isolated: true } : record;
}

/**
 * Adds missing Pod names to the record, by UID: a record rebuilt from its link while the API server was unavailable
 * lacks them, also in OVSDB. Returns the same object if there is nothing to add.
 */
export function named(record: PodRecord, pods: readonly KnownPod[]): PodRecord {
    const pod = record.podName === "" ? podOf(record.podUid, pods) : undefined;
    return pod === undefined ? record : { ...record, podNamespace: pod.namespace, podName: pod.name };
}

/** An alias without room for the UID has none. */
function podOf(podUid: string, pods: readonly KnownPod[]): KnownPod | undefined {
    if (podUid === "") return undefined;
    return pods.find(({ uid }) => uid === podUid) ?? pods.find(({ staticUid }) => staticUid === podUid);
}

/**
 * The record of an interface that OVSDB lacks, from the alias of its link; undefined if the link has no alias of ours
 * of this boot. Names are "" if the Pod is not in `pods`, `netns` is always "".
 */
export function fromLink(link: Link, input: FromLinkInput): PodRecord | undefined {
    const alias = fromAlias(link.alias);
    const first = alias?.addresses[0];
    if (alias === undefined || first === undefined || !input.bootId.startsWith(alias.bootId)) return undefined;
    const pod = podOf(alias.podUid, input.pods);
    return {
        containerId: alias.containerId,
        ifName: alias.ifName,
        podNamespace: pod?.namespace ?? "",
        podName: pod?.name ?? "",
        podUid: alias.podUid,
        netns: "",
        hostIfName: link.name,
        mac: macOf(first.ip),
        addresses: alias.addresses.map(({ ip, prefixLength, gateway }) =>
            gateway === undefined
                ? { ip, prefixLength, gateway: gatewayOf(ip, prefixLength) }
                : // Always marked as a pool address: a missing allocation is recreated in the pool that contains the address.
                  { ip, prefixLength, gateway, pool: input.poolOf(ip) ?? "" },
        ),
        vlan: alias.vlan,
        bootId: input.bootId,
        ...(alias.isolated ? { isolated: true } : {}),
        network: networkOfHash(alias.networkHash),
    };
}
