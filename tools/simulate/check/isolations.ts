import { allocationName, type IpAllocation } from "@antrea/crd";
import { formatIp, parsePrefix, prefixContains, type IpAddress } from "@antrea/ip";
import { type EventInput, type Node } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Change } from "../api/store.ts";
import { type Container } from "./truth.ts";

const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const nodeKind = kindOf("v1", "nodes");

/**
 * Interfaces that were isolated because somebody else had their address, or may have had it. When no pool has the address
 * any more and nothing allocates it, its owner cannot be determined: they stay isolated, and an event reports it.
 */
export class Isolations {
    /** By allocation, then UID of the Pod, "" of a reservation: the store version until which it had the address. */
    readonly #holders = new Map<string, Map<string, number>>();
    /** By `Node subnet`, the store version until which the Node had it. */
    readonly #subnets = new Map<string, number>();
    /** By Node, the store version of its last deletion. */
    readonly #deletions = new Map<string, number>();
    /** By `namespace/name address` of events PodIsolated, the store version at the last one. */
    readonly #reported = new Map<string, number>();
    #version = 0;

    changed({ kind, key, version, before, after }: Change): void {
        this.#version = version;
        if (kind === allocationKind && before !== undefined) {
            const { pod } = (before.object as IpAllocation).spec;
            const holders = this.#holders.get(key) ?? new Map<string, number>();
            this.#holders.set(key, holders.set(pod?.uid ?? "", version));
        }
        if (kind !== nodeKind || before === undefined) return;
        for (const cidr of (before.object as Node).spec?.podCIDRs ?? []) this.#subnets.set(`${key} ${cidr}`, version);
        if (after === undefined) this.#deletions.set(key, version);
    }

    recorded({ reason, regarding, note }: EventInput): void {
        const address = /its address (\S+) was/.exec(note)?.[1];
        if (reason === "PodIsolated")
            this.#reported.set(`${regarding.namespace}/${regarding.name} ${address}`, this.#version);
    }

    /**
     * Whether the container, whose address is in no pool and has no allocation, may stay isolated: since it was made
     * somebody else had the address or may have had it, and an event since then reports that it stays so.
     */
    mayStay(container: Container, ip: IpAddress): boolean {
        const { node, podNamespace, podName, podUid, since } = container;
        // An earlier Pod of the name may have had the address too.
        const reportedAt = this.#reported.get(`${podNamespace}/${podName} ${formatIp(ip)}`);
        if (reportedAt === undefined || reportedAt < since) return false;
        const holders = [...(this.#holders.get(allocationName(ip)) ?? [])];
        const wasAllocated = holders.some(([uid, until]) => uid !== podUid && until > since);
        const wasInSubnet = [...this.#subnets].some(([key, until]) => {
            const [other, cidr = ""] = key.split(" ");
            return other !== node && until > since && prefixContains(parsePrefix(cidr), ip);
        });
        return wasAllocated || wasInSubnet || (this.#deletions.get(node) ?? 0) > since;
    }
}
