import { allocationAddress, allocationName, ipPools } from "@antrea/crd";
import { type Pool } from "@antrea/ipam";
import { RangeIndex, formatIp, rangeOf, type IpAddress } from "@antrea/ip";
import { referenceTo, type ReconcileResult } from "@antrea/kube";
import { describeHolder, type Claim, type Fate } from "../../platform/allocations/index.ts";
import { HoldQueue, unseenMs, type HoldComponents } from "./hold-queue.ts";

/**
 * Reserves the gateways of all pools, with owner kind Gateway, during one term of leadership: no Pod gets one, even
 * if an agent does not know the pool yet or the pool is created later. A gateway stays reserved as long as a pool
 * names it, except where a pool of another VLAN assigns the address.
 */
export class GatewayHolds {
    readonly #components: HoldComponents;
    readonly #queue: HoldQueue;
    /** Pools as of the last check. */
    readonly #known = new Map<string, Pool>();
    /** Pool names by the name of the gateway's IPAllocation. */
    readonly #pools = new Map<string, Set<string>>();
    /** The gateway addresses, to find those that a pool overlaps. */
    readonly #addresses = new RangeIndex<string>();
    /**
     * By the name of an allocation that conflicts with a gateway: its holder and the pools that have an event about
     * it.
     */
    readonly #blocked = new Map<string, { readonly holder: string; readonly told: Set<string> }>();

    /** `intervalMs`: how often all gateways are checked, in addition to changes. */
    constructor(components: HoldComponents, options: { readonly intervalMs: number }) {
        this.#components = components;
        this.#queue = new HoldQueue(components, { ...options, name: "gateways" }, (name, signal) =>
            this.#reconcile(name, signal),
        );
    }

    /** Works until the signal aborts; writes nothing after it resolved. */
    async run(signal: AbortSignal): Promise<void> {
        const { pools, claims } = this.#components;
        await Promise.all([pools.synced(signal), claims.synced(signal)]);
        using _pools = pools.onChange((name, change) => {
            if (change === "meaning") this.#poolChanged(name);
        });
        using _claims = claims.onChange((before, after) => {
            if (before !== undefined && after === undefined) this.#claimGone(before);
        });
        await this.#queue.run(signal, () => [...claims.gateways, ...this.#pools.keys()]);
    }

    #poolChanged(name: string): void {
        const before = this.#known.get(name);
        const after = this.#components.pools.get(name);
        for (const { ip } of before?.gateways ?? []) this.#forget(allocationName(ip), name);
        for (const { ip } of after?.gateways ?? []) this.#note(allocationName(ip), name, ip);
        if (after === undefined) this.#known.delete(name);
        else this.#known.set(name, after);
        for (const pool of [before, after]) {
            for (const { ip } of pool?.gateways ?? []) this.#queue.add(allocationName(ip));
            // In another VLAN, it may assign an address that is a gateway elsewhere.
            for (const { range } of pool?.subnets ?? []) {
                for (const { key } of this.#addresses.overlapping(range)) this.#queue.add(key);
            }
        }
    }

    #note(name: string, pool: string, ip: IpAddress): void {
        const named = this.#pools.get(name) ?? new Set();
        this.#pools.set(name, named.add(pool));
        this.#addresses.set(name, [rangeOf(ip)], name);
    }

    #forget(name: string, pool: string): void {
        const named = this.#pools.get(name);
        named?.delete(pool);
        if (named === undefined || named.size > 0) return;
        this.#pools.delete(name);
        this.#addresses.delete(name);
    }

    #claimGone({ metadata: { name } }: Claim): void {
        this.#blocked.delete(name);
        if (this.#pools.has(name)) this.#queue.add(name);
    }

    async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | void> {
        const { claims, writer, logger } = this.#components;
        const claim = claims.get(name);
        if (!this.#isWanted(name)) {
            if (claim?.owner.kind === "Gateway") await this.#release(claim, signal);
            if (!this.#pools.has(name)) this.#queue.forget(name);
            return;
        }
        if (claim !== undefined) return this.#report(claim);
        const ip = allocationAddress(name);
        const pool = [...(this.#pools.get(name) ?? [])].sort()[0] ?? "";
        const made = await writer.reserve({ ip, pool, owner: { kind: "Gateway", name: formatIp(ip) } }, signal);
        if (made === undefined) return { requeueAfterMs: unseenMs };
        logger.info("gateway of a pool reserved", { address: name, pool });
    }

    #isWanted(name: string): boolean {
        const { pools } = this.#components;
        if (!this.#pools.has(name)) return false;
        const ip = allocationAddress(name);
        return pools.covering(ip).every((pool) => !pools.usable(pool).has(ip));
    }

    async #release({ metadata: { name, uid } }: Claim, signal: AbortSignal): Promise<void> {
        const { writer, reclaims, logger } = this.#components;
        const judge = (live: Claim): Fate =>
            live.owner.kind === "Gateway" && !this.#isWanted(name) ? "delete" : undefined;
        if (!(await writer.change(name, uid, judge, signal))) return;
        reclaims.done("gateway-unwanted");
        logger.info("reservation of a gateway released", { address: name });
    }

    /** A Node may be a gateway; any other holder is reported on the pools whose traffic it receives. */
    #report(claim: Claim): void {
        const { name } = claim.metadata;
        if (claim.owner.kind === "Gateway" || claim.owner.kind === "Node") return;
        const holder = describeHolder(claim);
        const known = this.#blocked.get(name);
        const { told } = known?.holder === holder ? known : { told: new Set<string>() };
        this.#blocked.set(name, { holder, told });
        const remedy = claim.pod === undefined ? "Delete its owner" : "Delete that Pod";
        for (const pool of [...(this.#pools.get(name) ?? [])].sort()) {
            const object = this.#components.pools.object(pool);
            // A recreated pool of the same name is a different pool.
            const key = `${pool} ${object?.metadata?.uid}`;
            if (object === undefined || told.has(key)) continue;
            told.add(key);
            this.#components.recorder.record({
                regarding: referenceTo(ipPools, object),
                type: "Warning",
                reason: "AddressHeldElsewhere",
                action: "HoldGateway",
                note: `The gateway ${formatIp(claim.ip)} of the pool is allocated to ${holder}, which receives what Pods of this pool send to their gateway. ${remedy}, or create a pool with another gateway.`,
            });
        }
    }
}
