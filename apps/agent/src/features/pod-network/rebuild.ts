import { formatIp, prefixContains, sameIp, type IpAddress, type Prefix } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import {
    type FromLinkInput,
    fromLink,
    isolatedByAlias,
    named,
    type KnownPod,
    type StoredPort,
} from "./found-records.ts";
import { fromExternalIds, isPoolRecord, type PodRecord } from "../../platform/pod-interfaces/index.ts";

/** The state from which `rebuild` derives the interfaces. */
export interface RebuildInput extends FromLinkInput {
    readonly ports: readonly StoredPort[];
    readonly links: readonly Link[];
    /** The Node's podCIDRs. */
    readonly podPrefixes: readonly Prefix[];
}

/** An address in use by a Pod of which no wiring is found on this Node. */
export interface HeldAddress {
    readonly ip: IpAddress;
    readonly podUid: string;
}

/** A port of this agent without a valid interface. */
export interface DroppedPort {
    readonly port: StoredPort;
    /** As part of a log message. */
    readonly why: string;
    /** Log level: `info` if a restart of the Node explains it. */
    readonly level: "info" | "warn";
}

/** A wired interface. */
export interface KeptInterface {
    readonly record: PodRecord;
    /** As in StoredPort; undefined also if OVSDB has no such port. */
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
    /** Addresses of the podCIDRs that a Pod here has according to the API server although no wiring of it is left. */
    readonly held: readonly HeldAddress[];
}

/**
 * Determines the Pod interfaces of this Node from three sources: the records in OVSDB, the aliases of the links, and
 * the addresses in the API server. Together they ensure that no address is assigned twice after the database was lost.
 * Of two interfaces with one address the one whose link exists is kept; two live ones with a pool address are both
 * isolated (`isUndecided`). Pure function.
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

/**
 * A copy that is isolated until its allocations are compared; one that is isolated by its record is returned unchanged.
 */
export function undecided(kept: KeptInterface): KeptInterface {
    if (kept.record.isolated === true) return kept;
    return { ...kept, record: { ...kept.record, isolated: true }, isUndecided: true };
}

/**
 * The addresses that Pods have according to the API server, without Pods of the host network and ended ones. Pure
 * function.
 */
export function heldAddresses(pods: readonly KnownPod[]): readonly HeldAddress[] {
    return pods
        .filter((pod) => !pod.hostNetwork && !pod.ended)
        .flatMap((pod) => pod.podIps.map((ip) => ({ ip, podUid: pod.uid })));
}
