import { type IpPool } from "@antrea/crd";
import { formatRange, parseIp, parsePrefix, prefixContains, prefixRange, rangesOverlap, type Prefix } from "@antrea/ip";
import { readPool } from "@antrea/ipam";
import { type Node } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Change, type Store } from "../api/store.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { type Container, type Truth } from "./truth.ts";

const nodeKind = kindOf("v1", "nodes");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
/** A working watch delivers a pool to the controller long before. */
const heardMs = 120_000;

export interface SubnetsComponents {
    readonly truth: Truth;
    readonly store: Store;
    readonly time: VirtualTime;
    /** The start times of the running controllers. */
    readonly startsOfControllers: () => readonly number[];
}

/**
 * Subnets of Nodes: each has one Node and no addresses of pools, and no address of a Node's subnet is assigned to a
 * Pod on another Node.
 */
export class Subnets {
    readonly #components: SubnetsComponents;
    /** By pool name, the time of the last change of its spec. */
    readonly #poolsSince = new Map<string, number>();

    constructor(components: SubnetsComponents) {
        this.#components = components;
    }

    changed(change: Change): void {
        if (change.kind === nodeKind) this.#nodeChanged(change);
        if (change.kind !== poolKind) return;
        const { key, before, after } = change;
        const spec = (object: unknown): string => JSON.stringify((object as IpPool | undefined)?.spec);
        if (after === undefined) this.#poolsSince.delete(key);
        else if (spec(before?.object) !== spec(after.object)) this.#poolsSince.set(key, this.#components.time.now);
    }

    /** An ADD returned an address that is from no pool. */
    answered({ id, node }: Container, address: string): void {
        const { store, truth } = this.#components;
        const ip = parseIp(address);
        for (const { object } of store.all(nodeKind)) {
            const { metadata, spec } = object as Node;
            if (metadata?.name === node) continue;
            if (!(spec?.podCIDRs ?? []).some((cidr) => prefixContains(parsePrefix(cidr), ip))) continue;
            truth.violated(
                "a Pod's address is of its own Node's subnet",
                `${address} of container ${id} on ${node} is in the subnet of ${metadata?.name}`,
            );
        }
    }

    /** Whether a Node can get this subnet: it belongs to no Node, and contains no address of a pool or allocation. */
    isFree(prefix: Prefix): boolean {
        const { store, truth } = this.#components;
        const range = prefixRange(prefix);
        const isGiven = [...store.all(nodeKind)].some(({ object }) =>
            ((object as Node).spec?.podCIDRs ?? []).some((cidr) =>
                rangesOverlap(prefixRange(parsePrefix(cidr)), range),
            ),
        );
        const isClaimed = [...truth.allocations.values()].some(({ spec }) =>
            prefixContains(prefix, parseIp(spec.address)),
        );
        return !isGiven && !isClaimed && this.#poolsIn(prefix).length === 0;
    }

    #nodeChanged({ key, before, after }: Change): void {
        const { truth, store, time, startsOfControllers } = this.#components;
        const own = (after?.object as Node | undefined)?.spec?.podCIDRs ?? [];
        const isNew = ((before?.object as Node | undefined)?.spec?.podCIDRs ?? []).length === 0;
        for (const { object } of own.length === 0 ? [] : store.all(nodeKind)) {
            const { metadata, spec } = object as Node;
            const common = metadata?.name === key ? [] : (spec?.podCIDRs ?? []).filter((cidr) => own.includes(cidr));
            for (const cidr of common)
                truth.violated("a subnet is one Node's", `${cidr} is given to ${key} and to ${metadata?.name}`);
        }
        if (!isNew) return;
        const latest = time.now - heardMs;
        const started = Math.min(...startsOfControllers());
        for (const cidr of own) {
            for (const { name, text } of this.#poolsIn(parsePrefix(cidr))) {
                const since = this.#poolsSince.get(name) ?? 0;
                if (since > latest && since > started) continue;
                truth.violated(
                    "no Node gets addresses of pools",
                    `${cidr} is given to ${key}, and IPPool ${name} has ${text}`,
                );
            }
        }
    }

    #poolsIn(prefix: Prefix): readonly { readonly name: string; readonly text: string }[] {
        return [...this.#components.store.all(poolKind)].flatMap(({ object }) => {
            const { name, subnets } = readPool(object as IpPool);
            const touching = subnets.filter(({ range }) => rangesOverlap(range, prefixRange(prefix)));
            return touching.map(({ range }) => ({ name, text: formatRange(range) }));
        });
    }
}
