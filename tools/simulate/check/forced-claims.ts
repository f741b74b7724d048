import { type IpPool } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { readPool, type Pool } from "@antrea/ipam";
import { kindOf } from "../api/server.ts";
import { type Store } from "../api/store.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { HearingTime } from "./hearing-time.ts";
import { type Container, type Truth } from "./truth.ts";

const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
/** One pass of an agent that can hear, and a little: by then it knows, and has isolated or claimed again. */
const heardMs = 65_000;
/** Two: an interface that was isolated may be connected by one pass, and is claimed for by the next. */
const claimedMs = 2 * heardMs;
const lookMs = 1_000;

export interface ForcedClaimsComponents {
    readonly truth: Truth;
    readonly store: Store;
    readonly time: VirtualTime;
    /** The present start of this Node's agent, if nothing keeps it from hearing and from isolating. */
    readonly hearing: (node: string) => object | undefined;
    /** The other Node whose subnet has the address, if the Node itself has not. */
    readonly subnetHolder: (name: string, node: string) => string | undefined;
    /** Whether the record of the container says of which pool the address is. */
    readonly namesPool: (name: string, container: Pick<Container, "id" | "node">) => boolean;
}

interface Forced {
    readonly name: string;
    readonly container: Pick<Container, "id" | "node">;
    /** Since the address was another's to get. */
    hearing: HearingTime;
    isWanted: boolean;
}

/**
 * What is accepted of containers whose claim a person deleted by force: they may go on beside a new owner until their agent
 * was able to hear of that for one pass. An address that is in no pool, claimed by nobody and of no other Node's subnet
 * nobody can get: where nobody knows either of which pool it was, it may be without a claim for as long as that is so, and
 * once it is not, again for one pass. Where that is known it is claimed again, so that a pool that comes back meets the claim.
 */
export class ForcedClaims {
    readonly #components: ForcedClaimsComponents;
    readonly #forced = new Map<string, Forced>();
    /** Those of which nothing is excused any more, as they were isolated, have their claim again or ended. */
    readonly #over = new Map<string, Forced>();
    readonly #pools = new WeakMap<IpPool, Pool>();

    constructor(components: ForcedClaimsComponents) {
        this.#components = components;
    }

    /** A person deletes the claim that these containers use. */
    deleted(name: string, containers: readonly Pick<Container, "id" | "node">[]): void {
        const { truth } = this.#components;
        for (const container of containers) {
            truth.excuse(name, container.id, "unheard");
            const begun = { hearing: new HearingTime(), isWanted: true };
            this.#watch(`${container.id} ${name}`, { name, container, ...begun });
        }
    }

    /**
     * The container is connected. After OVS lost its database its agent isolates it until it knows more: where that turns out
     * to be that nobody can get the address, and nobody knows of which pool it was, it goes on as before.
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

    /** All had the time to hear of everything. */
    heard(): void {
        for (const forced of this.#forced.values()) this.#heard(forced);
    }

    #watch(key: string, forced: Forced): void {
        const isFirst = this.#forced.size === 0;
        this.#forced.set(key, forced);
        if (isFirst) this.#look();
    }

    #look(): void {
        this.#components.time.after(lookMs, () => {
            for (const [key, forced] of this.#forced) {
                if (this.#see(forced)) continue;
                this.#forced.delete(key);
                this.#over.set(key, forced);
            }
            if (this.#forced.size > 0) this.#look();
        });
    }

    /** False when nothing is excused any more. */
    #see(forced: Forced): boolean {
        const { truth, hearing } = this.#components;
        const { name, container } = forced;
        if (!truth.isExcused(name, container.id)) return false;
        const isWanted = this.#isWanted(name, container.node);
        if (isWanted !== forced.isWanted) forced.hearing = new HearingTime();
        forced.hearing.look(hearing(container.node), lookMs);
        // It may have heard that nobody can get the address; of whoever can now it has not.
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

    /** Whether anybody has the address, or can get it. */
    #isWanted(name: string, node: string): boolean {
        const { truth, store, subnetHolder } = this.#components;
        if (truth.claims.has(name) || subnetHolder(name, node) !== undefined) return true;
        const ip = parseIp(name.replaceAll("-", ":"));
        return [...store.all(poolKind)].some(({ object }) => this.#read(object as IpPool).subnetOf(ip) !== undefined);
    }

    #read(object: IpPool): Pool {
        const pool = this.#pools.get(object) ?? readPool(object);
        this.#pools.set(object, pool);
        return pool;
    }
}
