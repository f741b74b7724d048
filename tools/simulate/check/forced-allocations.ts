import { type IpPool } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { readPool, type Pool } from "@antrea/ipam";
import { kindOf } from "../api/server.ts";
import { type Store } from "../api/store.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { HearingTime } from "./hearing-time.ts";
import { type Container, type Truth } from "./truth.ts";

const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
/** One pass of a connected agent and a margin: by then it has learned of the change, and has isolated or allocated. */
const heardMs = 65_000;
/** Two passes: an isolated interface may be connected by one pass, and is allocated for by the next. */
const claimedMs = 2 * heardMs;
const pollMs = 1_000;

export interface ForcedAllocationsComponents {
    readonly truth: Truth;
    readonly store: Store;
    readonly time: VirtualTime;
    /** The current start of this Node's agent, if nothing prevents it from receiving changes and isolating. */
    readonly hearing: (node: string) => object | undefined;
    /** The other Node whose subnet contains the address, unless the Node's own does. */
    readonly subnetHolder: (name: string, node: string) => string | undefined;
    /** Whether the record of the container names the pool of the address. */
    readonly namesPool: (name: string, container: Pick<Container, "id" | "node">) => boolean;
}

interface Forced {
    readonly name: string;
    readonly container: Pick<Container, "id" | "node">;
    /** Since the address became available to others. */
    hearing: HearingTime;
    isWanted: boolean;
}

/**
 * The exceptions for containers whose allocation a user force-deleted: they may continue beside a new owner until
 * their agent was able to learn of that for one pass. An address that is in no pool, without an allocation and in no
 * other Node's subnet is available to no one: if its pool is also unknown, it may stay without an allocation as long
 * as that is so, and for one pass afterwards. If its pool is known it is allocated again, so that a pool that is
 * recreated finds the allocation.
 */
export class ForcedAllocations {
    readonly #components: ForcedAllocationsComponents;
    readonly #forced = new Map<string, Forced>();
    /** Cases without remaining exceptions: isolated, allocated again, or ended. */
    readonly #over = new Map<string, Forced>();
    readonly #pools = new WeakMap<IpPool, Pool>();

    constructor(components: ForcedAllocationsComponents) {
        this.#components = components;
    }

    /** A user deletes the allocation that these containers use. */
    deleted(name: string, containers: readonly Pick<Container, "id" | "node">[]): void {
        const { truth } = this.#components;
        for (const container of containers) {
            truth.excuse(name, container.id, "unheard");
            const begun = { hearing: new HearingTime(), isWanted: true };
            this.#watch(`${container.id} ${name}`, { name, container, ...begun });
        }
    }

    /**
     * The container is connected again. After OVS lost its database the agent isolates it until the state is known:
     * if the address is then available to no one and its pool is unknown, the container continues as before.
     */
    mayReturn(name: string, container: Pick<Container, "id" | "node">): boolean {
        const { namesPool } = this.#components;
        const key = `${container.id} ${name}`;
        const forced = this.#over.get(key) ?? this.#forced.get(key);
        if (forced === undefined || this.#isWanted(name, container.node) || namesPool(name, container)) return false;
        this.#over.delete(key);
        this.#watch(key, { ...forced, hearing: new HearingTime(), isWanted: false });
        return true;
    }

    /** All agents had enough time to learn of every change. */
    heard(): void {
        for (const forced of this.#forced.values()) this.#heard(forced);
    }

    #watch(key: string, forced: Forced): void {
        const isFirst = this.#forced.size === 0;
        this.#forced.set(key, forced);
        if (isFirst) this.#poll();
    }

    #poll(): void {
        this.#components.time.after(pollMs, () => {
            for (const [key, forced] of this.#forced) {
                if (this.#see(forced)) continue;
                this.#forced.delete(key);
                this.#over.set(key, forced);
            }
            if (this.#forced.size > 0) this.#poll();
        });
    }

    /** False if no exception remains. */
    #see(forced: Forced): boolean {
        const { truth, hearing } = this.#components;
        const { name, container } = forced;
        if (!truth.isExcused(name, container.id)) return false;
        const isWanted = this.#isWanted(name, container.node);
        if (isWanted !== forced.isWanted) forced.hearing = new HearingTime();
        forced.hearing.update(hearing(container.node), pollMs);
        // It may have learned that the address was available to no one, but not yet who can get it now.
        if (isWanted && !forced.isWanted) truth.excuse(name, container.id, "unheard");
        forced.isWanted = isWanted;
        if (forced.hearing.ms >= claimedMs && this.#components.namesPool(name, container)) {
            truth.endExcuse(name, container.id);
            return false;
        }
        if (forced.hearing.ms >= heardMs) this.#heard(forced);
        return true;
    }

    #heard({ name, container }: Forced): void {
        const { truth } = this.#components;
        if (!truth.isExcused(name, container.id)) return;
        if (this.#isWanted(name, container.node)) truth.endExcuse(name, container.id);
        else truth.excuse(name, container.id, "in no pool");
    }

    /** Whether the address is allocated or available to anyone. */
    #isWanted(name: string, node: string): boolean {
        const { truth, store, subnetHolder } = this.#components;
        if (truth.allocations.has(name) || subnetHolder(name, node) !== undefined) return true;
        const ip = parseIp(name.replaceAll("-", ":"));
        return [...store.all(poolKind)].some(({ object }) => this.#read(object as IpPool).subnetOf(ip) !== undefined);
    }

    #read(object: IpPool): Pool {
        const pool = this.#pools.get(object) ?? readPool(object);
        this.#pools.set(object, pool);
        return pool;
    }
}
