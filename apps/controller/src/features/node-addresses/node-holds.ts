import { allocationName, ipPools } from "@antrea/crd";
import { maxNodeAddresses, nodeAddressesIn, nodeAddressesOf } from "@antrea/ipam";
import { RangeIndex, RangeSet, formatIp, formatRangeSet, rangeOf, sameIp, type IpAddress } from "@antrea/ip";
import {
    nodes as nodeResource,
    referenceTo,
    type ApiClient,
    type ChangeType,
    type Informer,
    type Node,
    type ReconcileResult,
} from "@antrea/kube";
import { describeHolder, type Claim, type Fate } from "../../platform/allocations/index.ts";
import { furtherText } from "../../platform/pool-cache/index.ts";
import { HoldQueue, unseenMs, type HoldComponents } from "./hold-queue.ts";

/** What reserving Node addresses depends on. */
export interface NodeHoldsComponents extends HoldComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly nodes: Pick<Informer<Node>, "get" | "onChange">;
}

const shownPools = 5;

/**
 * Reserves the Nodes' own addresses in the ranges of pools, during one term of leadership, so that no Pod gets one,
 * even if an agent does not know the Node yet.
 */
export class NodeHolds {
    readonly #components: NodeHoldsComponents;
    readonly #queue: HoldQueue;
    /** The addresses of Nodes, to find those that a pool overlaps. */
    readonly #addresses = new RangeIndex<string>();
    /** Names of conflicting allocations that were reported. */
    readonly #blocked = new Set<string>();
    /** By Node name, the last report about addresses beyond the limit. */
    readonly #further = new Map<string, string>();

    /** `intervalMs`: how often all reservations are checked, in addition to changes. */
    constructor(components: NodeHoldsComponents, options: { readonly intervalMs: number }) {
        this.#components = components;
        this.#queue = new HoldQueue(components, { ...options, name: "node-addresses" }, (name, signal) =>
            this.#reconcile(name, signal),
        );
    }

    /** Works until the signal aborts; writes nothing after it resolved. */
    async run(signal: AbortSignal): Promise<void> {
        const { nodes, pools, claims } = this.#components;
        await Promise.all([pools.synced(signal), claims.synced(signal)]);
        using _nodes = nodes.onChange((type, name, node, old) => this.#nodeChanged(type, name, node, old));
        using _pools = pools.onChange((name, change) => {
            if (change === "meaning") this.#poolChanged(name);
        });
        using _claims = claims.onChange((before, after) => this.#claimChanged(before, after));
        await this.#queue.run(signal, () => this.#all());
    }

    /** Nodes with reservations, and Nodes with addresses in pools. */
    *#all(): Iterable<string> {
        const { pools, claims } = this.#components;
        yield* claims.holders;
        for (const name of pools.names) yield* this.#nodesIn(name);
    }

    *#nodesIn(pool: string): Iterable<string> {
        for (const { range } of this.#components.pools.get(pool)?.subnets ?? []) {
            for (const { key } of this.#addresses.overlapping(range)) yield key;
        }
    }

    #nodeChanged(type: ChangeType, name: string, node: Node, old: Node | undefined): void {
        const addresses = type === "deleted" ? [] : nodeAddressesOf(node);
        const before = old === undefined ? [] : nodeAddressesOf(old);
        if (type === "updated" && addresses.map(formatIp).join() === before.map(formatIp).join()) return;
        const ranges = addresses.map((ip) => rangeOf(ip));
        if (ranges.length === 0) this.#addresses.delete(name);
        else this.#addresses.set(name, ranges, name);
        this.#queue.add(name);
    }

    #poolChanged(name: string): void {
        const { claims } = this.#components;
        for (const node of this.#nodesIn(name)) this.#queue.add(node);
        for (const holder of claims.holders) {
            if ([...claims.heldBy(holder)].some(({ pool }) => pool === name)) this.#queue.add(holder);
        }
    }

    #claimChanged(before: Claim | undefined, after: Claim | undefined): void {
        if (before === undefined || after !== undefined) return;
        this.#blocked.delete(before.metadata.name);
        if (before.owner.kind === "Node") this.#queue.add(before.owner.name ?? "");
        // Several Nodes may report the address, and a gateway may be a Node's: one reservation serves all.
        for (const { key } of this.#addresses.overlapping(rangeOf(before.ip))) this.#queue.add(key);
    }

    async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | void> {
        const { nodes, claims } = this.#components;
        const node = nodes.get(name);
        for (const claim of [...claims.heldBy(name)]) {
            if (!this.#isWanted(claim, node)) await this.#release(claim, signal);
            else if (claim.owner.uid !== node?.metadata?.uid) await this.#adopt(claim, node, signal);
        }
        let again = false;
        if (node !== undefined) {
            for (const { ip, pool } of this.#toHold(name, node)) {
                again = !(await this.#hold(node, ip, pool, signal)) || again;
            }
        }
        this.#reportFurther(name, node);
        if (again) return { requeueAfterMs: unseenMs };
    }

    /** Reports on the Node and on the pools, once per set of addresses. */
    #reportFurther(name: string, node: Node | undefined): void {
        const { pools, recorder } = this.#components;
        const named = new Set(node === undefined ? [] : nodeAddressesOf(node).flatMap((ip) => pools.covering(ip)));
        const found = [...named]
            .sort()
            .map((pool) => ({ pool, further: pools.further(pool).filter((each) => each.node === name) }))
            .filter(({ further }) => further.length > 0);
        const texts = found.map(({ pool, further }) => {
            return `${formatRangeSet(further[0]?.common ?? RangeSet.empty)} of IPPool ${pool}`;
        });
        const signature = JSON.stringify([node?.metadata?.uid, texts]);
        if (node === undefined || found.length === 0) return void this.#further.delete(name);
        if (this.#further.get(name) === signature) return;
        this.#further.set(name, signature);
        const event = { type: "Warning", reason: "NodeAddressesNotHeld", action: "HoldNodeAddress" } as const;
        const list = texts.slice(0, shownPools).join(", ");
        const more = texts.length > shownPools ? ` and those of ${texts.length - shownPools} more IPPools` : "";
        recorder.record({
            regarding: referenceTo(nodeResource, node),
            ...event,
            note: `The Node reports more than ${maxNodeAddresses} addresses of an IPPool. Pods can get further ones that are not reserved for the Node yet: ${list}${more}. Check what reports them: status.addresses is written by kubelet and cloud controller.`,
        });
        for (const { pool, further } of found) {
            const object = pools.object(pool);
            if (object === undefined) continue;
            recorder.record({ regarding: referenceTo(ipPools, object), ...event, note: furtherText(further) });
        }
    }

    /**
     * The addresses that a pool does not assign because of the Node, up to the limit of reservations, with the
     * address of the Node object.
     */
    *#toHold(name: string, node: Node): Iterable<{ readonly ip: IpAddress; readonly pool: string }> {
        const { pools, claims } = this.#components;
        const all = nodeAddressesOf(node);
        const first = new Map(all.map((ip) => [ip, pools.covering(ip)[0]]));
        for (const pool of new Set(first.values())) {
            const meaning = pool === undefined ? undefined : pools.get(pool);
            if (pool === undefined || meaning === undefined) continue;
            const held = new Set(
                [...claims.heldBy(name)].filter((one) => one.pool === pool).map(({ ip }) => formatIp(ip)),
            );
            for (const [at, ip] of nodeAddressesIn(meaning, all).kept.entries()) {
                if (first.get(ip) !== pool) continue;
                const isHeld = held.has(formatIp(ip));
                if (!isHeld && held.size >= maxNodeAddresses + (at === 0 ? 1 : 0)) continue;
                held.add(formatIp(ip));
                yield { ip, pool };
            }
        }
    }

    /** An existing reservation stays as long as the Node reports the address, regardless of the limit. */
    #isWanted(claim: Claim, node: Node | undefined): boolean {
        if (node === undefined || !nodeAddressesOf(node).some((ip) => sameIp(ip, claim.ip))) return false;
        return this.#components.pools.covering(claim.ip).includes(claim.pool);
    }

    async #release(
        { metadata: { name, uid }, owner: { name: holder = "" } }: Claim,
        signal: AbortSignal,
    ): Promise<void> {
        const { api, writer, reclaims, logger } = this.#components;
        const judge = async (live: Claim): Promise<Fate> => {
            if (live.owner.kind !== "Node" || live.owner.name !== holder) return undefined;
            const node = await api.find(nodeResource, { name: holder }, { signal });
            return this.#isWanted(live, node) ? undefined : "delete";
        };
        if (!(await writer.change(name, uid, judge, signal))) return;
        reclaims.done("node-address-unwanted");
        logger.info("reservation of a Node's address released", { address: name, node: holder });
    }

    async #adopt(claim: Claim, node: Node | undefined, signal: AbortSignal): Promise<void> {
        const adoptBy = node?.metadata?.uid ?? "";
        const judge = (live: Claim): Fate =>
            live.owner.kind === "Node" && live.owner.name === claim.owner.name && live.owner.uid !== adoptBy
                ? { adoptBy }
                : undefined;
        await this.#components.writer.change(claim.metadata.name, claim.metadata.uid, judge, signal);
    }

    /** False: the address has an allocation that the watch has not delivered yet. */
    async #hold(node: Node, ip: IpAddress, pool: string, signal: AbortSignal): Promise<boolean> {
        const { claims, writer, logger } = this.#components;
        const { name: holder = "", uid = "" } = node.metadata ?? {};
        const name = allocationName(ip);
        const known = claims.get(name);
        if (known !== undefined) {
            if (known.owner.kind !== "Node" && known.owner.kind !== "Gateway") this.#report(node, known);
            return true;
        }
        const made = await writer.reserve({ ip, pool, owner: { kind: "Node", name: holder, uid } }, signal);
        if (made !== undefined) logger.info("address of a Node reserved", { address: name, node: holder, pool });
        return made !== undefined;
    }

    #report(node: Node, claim: Claim): void {
        const { name } = claim.metadata;
        if (this.#blocked.has(name)) return;
        this.#blocked.add(name);
        const note = `The Node's address ${formatIp(claim.ip)} is in IPPool ${claim.pool} and allocated to ${describeHolder(claim)}. Remove that Pod, or give the Node another address.`;
        this.#components.recorder.record({
            regarding: referenceTo(nodeResource, node),
            type: "Warning",
            reason: "AddressHeldElsewhere",
            action: "HoldNodeAddress",
            note,
        });
    }
}
