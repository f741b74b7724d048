import { formatIp, prefixContains, sameIp, type IpAddress, type Prefix } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import { gatewayOf } from "./node-subnet.ts";
import { macOf } from "./names.ts";
import {
    fromAlias,
    fromExternalIds,
    isPoolRecord,
    networkOfHash,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";

/** A port of the bridge with its record, as read from OVSDB. */
export interface StoredPort {
    readonly name: string;
    readonly externalIds: ReadonlyMap<string, string>;
    readonly ofPort: number | undefined;
}

/** A Pod of this Node as reported by the API server. */
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
    readonly podIps: readonly IpAddress[];
}

/** The state from which `rebuild` derives the interfaces. */
export interface RebuildInput {
    readonly ports: readonly StoredPort[];
    readonly links: readonly Link[];
    readonly pods: readonly KnownPod[];
    readonly bootId: string;
    readonly podPrefixes: readonly Prefix[];
    /** The pool that an address of this Node is allocated from. */
    readonly poolOf: (ip: IpAddress) => string | undefined;
}

/** An address in use by a Pod of which no wiring is found on this Node. */
export interface HeldAddress {
    readonly ip: IpAddress;
    readonly podUid: string;
}

/** A port of this agent without a valid interface. */
export interface DroppedPort {
    readonly port: StoredPort;
    readonly why: string;
    /** Log level: `info` if a restart of the Node explains it. */
    readonly level: "info" | "warn";
}

/** A wired interface. */
export interface KeptInterface {
    readonly record: PodRecord;
    readonly ofPort: number | undefined;
    /** It was connected, and is isolated until the allocations of its addresses are compared. */
    readonly isUndecided?: boolean;
}

/** The result of `rebuild`. */
export interface Rebuilt {
    /** The wired interfaces, from OVSDB or, if the database was lost, from the links. */
    readonly kept: readonly KeptInterface[];
    /** Ports of this agent without a valid interface: incomplete, from another boot, or second owner of an address. */
    readonly dropped: readonly DroppedPort[];
    /** Addresses that a Pod here has according to the API server although no wiring of it is left. */
    readonly held: readonly HeldAddress[];
}

/**
 * Determines the Pod interfaces of this Node from three sources: the records in OVSDB, the aliases of the links, and
 * the addresses in the API server. Together they ensure that no address is assigned twice after the database was lost.
 * Pure function.
 */
export function rebuild(input: RebuildInput): Rebuilt {
    const kept: KeptInterface[] = [];
    const dropped: DroppedPort[] = [];
    const drop = (port: StoredPort, why: string, level: DroppedPort["level"] = "warn"): void =>
        void dropped.push({ port, why, level });
    const owners = new Map<string, string>();
    const claim = (record: PodRecord): string | undefined => {
        // It does not use its addresses: another interface, also on this Node, may have them.
        if (record.isolated === true) return undefined;
        const texts = record.addresses.map((address) => formatIp(address.ip));
        const taken = texts.find((text) => owners.has(text));
        if (taken !== undefined) return `address ${taken} is recorded for container ${owners.get(taken)} too`;
        for (const text of texts) owners.set(text, record.containerId);
        return undefined;
    };
    /** Of two live interfaces with one pool address, the allocation decides: until it is known, both are isolated. */
    const isolateBoth = (record: PodRecord, ofPort: number | undefined): boolean => {
        const isRival = ({ record: other }: KeptInterface): boolean =>
            (isPoolRecord(other) || isPoolRecord(record)) &&
            links.has(other.hostIfName) &&
            other.addresses.some(({ ip }) => record.addresses.some((address) => sameIp(ip, address.ip)));
        if (!links.has(record.hostIfName) || !kept.some(isRival)) return false;
        for (const [at, one] of kept.entries()) if (isRival(one)) kept[at] = undecided(one);
        kept.push(undecided({ record, ofPort }));
        return true;
    };
    // A record whose link exists comes first: of two owners the running one is right.
    const links = new Map(input.links.map((link) => [link.name, link]));
    const alive = (port: StoredPort): number => (links.has(port.name) ? 0 : 1);
    for (const port of [...input.ports].sort((one, other) => alive(one) - alive(other))) {
        const stored = fromExternalIds(port.name, port.externalIds);
        if (stored === undefined) continue;
        const record =
            stored === "unfinished" ? stored : named(isolatedByAlias(stored, links.get(port.name)), input.pods);
        if (record === "unfinished") drop(port, "the record has no addresses: its ADD was never answered");
        else if (record.bootId !== "" && record.bootId !== input.bootId) drop(port, "it is from another boot", "info");
        else {
            const conflict = claim(record);
            if (conflict === undefined) kept.push({ record, ofPort: port.ofPort });
            else if (!isolateBoth(record, port.ofPort)) drop(port, conflict);
        }
    }
    const recorded = new Set(kept.map(({ record }) => record.hostIfName));
    for (const link of input.links) {
        if (recorded.has(link.name)) continue;
        const record = fromLink(link, input);
        if (record === undefined) continue;
        if (claim(record) === undefined) kept.push({ record, ofPort: undefined });
        else isolateBoth(record, undefined);
    }
    const held = heldAddresses(input.pods).filter(
        ({ ip }) => !owners.has(formatIp(ip)) && input.podPrefixes.some((prefix) => prefixContains(prefix, ip)),
    );
    return { kept, dropped, held };
}

/** Isolates an interface until its allocations are compared; one that is isolated by its record is unchanged. */
export function undecided(kept: KeptInterface): KeptInterface {
    if (kept.record.isolated === true) return kept;
    return { ...kept, record: { ...kept.record, isolated: true }, isUndecided: true };
}

/** The addresses that Pods have according to the API server. Pure function. */
export function heldAddresses(pods: readonly KnownPod[]): readonly HeldAddress[] {
    return pods
        .filter((pod) => !pod.hostNetwork && !pod.ended)
        .flatMap((pod) => pod.podIps.map((ip) => ({ ip, podUid: pod.uid })));
}

/** An agent that ended while isolating an interface may have written only one of the two: record or alias. */
function isolatedByAlias(record: PodRecord, link: Link | undefined): PodRecord {
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

function fromLink(link: Link, input: RebuildInput): PodRecord | undefined {
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
