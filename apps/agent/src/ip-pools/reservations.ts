import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { Informer, type ApiClient, type KubeLogger } from "@antrea/kube";
import { type Clock } from "@antrea/runtime";
import { type ClaimWriter } from "./claim-writer.ts";
import { claimIp, isForOrdinal, mayTake, type Holder } from "./claims.ts";
import { IpPoolError } from "./errors.ts";
import { type OwnClaims } from "./own-claims.ts";
import { type KnownPool } from "./pool-book.ts";
import { type ClaimedAddress, type SetPlace } from "./types.ts";

export interface ReservationsComponents {
    readonly api: Pick<ApiClient, "list" | "watch" | "pages">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
    readonly own: OwnClaims;
    readonly writer: ClaimWriter;
}

export interface ReservationsOptions {
    /** How long an ADD waits for its reservation. Default 20 s. */
    readonly waitMs?: number | undefined;
    /** How long the reservations of a pool are watched after the last use. Default 1 min. */
    readonly idleMs?: number | undefined;
}

/** What is looked for: the reservation of one ordinal in the pools of one family. */
export interface ReservationWanted {
    readonly place: SetPlace;
    /** All of one family. */
    readonly pools: readonly KnownPool[];
    /** The fixed address that the ordinal must have. */
    readonly fixed: IpAddress | undefined;
    /** What a claim gives the Pod; undefined for one that its pool does not have any more. */
    addressOf(claim: IpAllocation): ClaimedAddress | undefined;
}

const maxSeen = 256;
/** So long an ordinal whose claim nobody has is not asked for again. */
const missedMs = 60_000;

interface View {
    readonly informer: Informer<IpAllocation>;
    usedAt: number;
}

interface Search extends ReservationWanted {
    readonly views: readonly View[];
    taken: ClaimedAddress | undefined;
}

/**
 * The addresses that the controller reserved for the ordinals of StatefulSets. Only the controller makes and frees
 * reservations; an agent takes them for the Pods of its Node. The reservations of a pool are watched only while Pods of
 * StatefulSets start here.
 */
export class Reservations {
    readonly #components: ReservationsComponents;
    readonly #waitMs: number;
    readonly #idleMs: number;
    readonly #stop = new AbortController();
    readonly #views = new Map<string, View>();
    /** Where the claims of ordinals were found last, so that a Pod that waits for long does not list them each time. */
    readonly #seen = new Map<string, IpAddress>();
    /** Ordinals of which no claim is in use, and since when that is known. */
    readonly #missed = new Map<string, number>();

    constructor(components: ReservationsComponents, options: ReservationsOptions = {}) {
        this.#components = components;
        this.#waitMs = options.waitMs ?? 20_000;
        this.#idleMs = options.idleMs ?? 60_000;
    }

    /**
     * Takes the reservations of an ordinal, one of each family, waiting until all of them are there: what was taken counts
     * as used, and the controller frees half of a reservation only if it never was. Rejects with NOT_RESERVED or
     * HELD_ON_OTHER_NODE when one does not come.
     */
    async take(
        wanted: readonly ReservationWanted[],
        holder: Holder,
        signal: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        const { clock } = this.#components;
        const searches = wanted.map((one): Search => {
            return { ...one, views: one.pools.map(({ pool }) => this.#view(pool.name)), taken: undefined };
        });
        const views = searches.flatMap((search) => search.views);
        const late = Promise.withResolvers<void>();
        const onAbort = (): void => late.resolve();
        signal.addEventListener("abort", onAbort, { once: true });
        using _ = clock.after(this.#waitMs, late.resolve);
        let changed = Promise.withResolvers<void>();
        const listeners = views.map(({ informer }) => informer.onChange(() => changed.resolve()));
        try {
            for (let waiting = true; waiting && !signal.aborted;) {
                changed = Promise.withResolvers();
                await this.#takeFound(searches, holder, signal);
                const taken = searches.flatMap((search) => search.taken ?? []);
                if (taken.length === searches.length) return taken;
                waiting = await Promise.race([changed.promise.then(() => true), late.promise.then(() => false)]);
            }
        } finally {
            signal.removeEventListener("abort", onAbort);
            for (const listener of listeners) listener[Symbol.dispose]();
            for (const view of views) view.usedAt = clock.monotonic();
        }
        signal.throwIfAborted();
        const open = searches.filter(({ taken }) => taken === undefined);
        const missing = open.find((search) => found(search, holder) === undefined) ?? open[0]!;
        throw await this.#whyNot(missing, holder, signal);
    }

    /** Takes what is not taken yet, if all of it is there. */
    async #takeFound(searches: readonly Search[], holder: Holder, signal: AbortSignal): Promise<void> {
        const { writer } = this.#components;
        const open = searches.filter(({ taken }) => taken === undefined);
        const claims = open.flatMap((search) => found(search, holder) ?? []);
        if (claims.length < open.length) return;
        // A watch may be late: the first is taken when the others are seen to be there still.
        const [first, ...others] = claims;
        const seen = await Promise.all(others.map((claim) => writer.find(claimIp(claim), signal)));
        const live = seen.flatMap((claim, at) =>
            claim !== undefined && isSame(claim, others[at]) && mayTake(claim, holder) ? [claim] : [],
        );
        if (first === undefined || live.length < others.length) return;
        for (const [at, claim] of [first, ...live].entries()) {
            const search = open[at];
            const pool = search?.pools.find(({ pool: { name } }) => name === claim.spec.pool);
            const taken = await writer.take(claim, holder, signal, pool?.version);
            if (search === undefined || taken === undefined) return;
            search.taken = search.addressOf(taken);
        }
    }

    /** Ends the watches that nobody used for a while. */
    async closeIdle(): Promise<void> {
        const now = this.#components.clock.monotonic();
        const idle = [...this.#views].filter(([, { usedAt }]) => now - usedAt > this.#idleMs);
        for (const [pool] of idle) this.#views.delete(pool);
        await Promise.all(idle.map(([, { informer }]) => informer.close()));
    }

    async close(): Promise<void> {
        this.#stop.abort();
        await Promise.all([...this.#views.values()].map(({ informer }) => informer.close()));
    }

    #view(pool: string): View {
        const known = this.#views.get(pool);
        // While somebody waits the view must not be closed under it.
        if (known !== undefined) return Object.assign(known, { usedAt: Infinity });
        const informer = new Informer(this.#components, {
            resource: ipAllocations,
            fieldSelector: `spec.pool=${pool},spec.state=Reserved`,
        });
        informer.start(this.#stop.signal);
        const view = { informer, usedAt: Infinity };
        this.#views.set(pool, view);
        return view;
    }

    async #whyNot(wanted: ReservationWanted, holder: Holder, signal: AbortSignal): Promise<IpPoolError> {
        const { place, pools } = wanted;
        const { namespace } = holder.pod;
        const set = `StatefulSet ${namespace}/${place.name}`;
        const held = (await this.#held(wanted, holder, signal))?.spec;
        if (held?.pod === undefined) {
            const names = pools.map(({ pool }) => pool.name).join(", ");
            const kind = pools.length === 1 ? "IPPool" : "IPPools";
            const address =
                wanted.fixed === undefined ? "no address" : `address ${formatIp(wanted.fixed)} is not and no other`;
            return new IpPoolError(
                "NOT_RESERVED",
                `${address} of ${kind} ${names} is reserved yet for ordinal ${place.ordinal} of ${set}; see the events of the StatefulSet, and whether antrea-controller is up`,
            );
        }
        const { address, pool, pod } = held;
        const where = `address ${address} of IPPool ${pool}, kept for ordinal ${place.ordinal} of ${set},`;
        const who = `Pod ${pod.namespace}/${pod.name} with UID ${pod.uid}`;
        if (pod.nodeName === holder.nodeName) {
            return new IpPoolError("NOT_RESERVED", `${where} is still held by the earlier ${who} on this Node`);
        }
        return new IpPoolError(
            "HELD_ON_OTHER_NODE",
            `${where} is still held by the earlier ${who} on Node ${pod.nodeName}; it comes free when that Node has removed the container. ` +
                `If the Node is gone for good, delete the Node object, or taint it node.kubernetes.io/out-of-service`,
        );
    }

    /** The ordinal's claim in the hands of another Pod. */
    async #held(wanted: ReservationWanted, holder: Holder, signal: AbortSignal): Promise<IpAllocation | undefined> {
        const { own, writer } = this.#components;
        const { place, pools } = wanted;
        const { namespace } = holder.pod;
        const family = pools[0]?.pool.family;
        const here = own.ofOrdinal(namespace, place).find((claim) => claimIp(claim).family === family);
        if (here !== undefined) return here;
        const key = `${namespace}/${place.name}/${place.ordinal}/${family}`;
        const seen = this.#seen.get(key);
        const again = seen && (await writer.find(seen, signal));
        if (again?.spec.pod !== undefined && isForOrdinal(again, namespace, place)) return again;
        this.#seen.delete(key);
        const { clock } = this.#components;
        if (clock.monotonic() - (this.#missed.get(key) ?? -Infinity) < missedMs) return undefined;
        const found = await this.#listed(wanted, namespace, signal);
        if (found !== undefined) remember(this.#seen, key, claimIp(found));
        else remember(this.#missed, key, clock.monotonic());
        return found;
    }

    /** Asks for the claims of StatefulSets of that name only: a pool may have many thousand others. */
    async #listed(
        { place, pools }: ReservationWanted,
        namespace: string,
        signal: AbortSignal,
    ): Promise<IpAllocation | undefined> {
        const names = new Set(pools.map(({ pool }) => pool.name));
        const query = { fieldSelector: `spec.owner.name=${place.name},spec.state=Allocated`, signal };
        for await (const { items } of this.#components.api.pages(ipAllocations, query)) {
            const found = items.find((claim) => names.has(claim.spec.pool) && isForOrdinal(claim, namespace, place));
            if (found !== undefined) return found;
        }
        return undefined;
    }
}

/** The newest last, and not more than `maxSeen`. */
function remember<T>(memory: Map<string, T>, key: string, value: T): void {
    memory.delete(key);
    memory.set(key, value);
    if (memory.size > maxSeen) memory.delete(memory.keys().next().value ?? "");
}

/** The claim that the views of a search know. */
function found({ views, place, fixed, addressOf }: Search, { pod }: Holder): IpAllocation | undefined {
    const fits = (claim: IpAllocation): boolean =>
        isForOrdinal(claim, pod.namespace, place) &&
        (fixed === undefined || claim.spec.address === formatIp(fixed)) &&
        addressOf(claim) !== undefined;
    for (const { informer } of views) {
        const claim = informer.list().find(fits);
        if (claim !== undefined) return claim;
    }
    return undefined;
}

function isSame({ metadata }: IpAllocation, other: IpAllocation | undefined): boolean {
    return metadata?.uid === other?.metadata?.uid;
}
