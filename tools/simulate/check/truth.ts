import { allocationName, type IpAllocation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { type Change } from "../api/store.ts";

/** A container with a network, wherever it runs. */
export interface Container {
    readonly id: string;
    readonly node: string;
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
}

/**
 * What is accepted of a container whose claim was deleted while it runs. "unheard": its agent cannot have heard of it, so
 * that the address may be free or another's. "in no pool": nobody can get the address, so that it may be without a claim;
 * another user is one too many.
 */
export type Excuse = "unheard" | "in no pool";

/** An invariant that does not hold. */
export interface Violation {
    readonly invariant: string;
    readonly text: string;
}

export interface TruthOptions {
    /** Whether the container's address is claimed; those of a Node's own subnet are not. */
    readonly isClaimed: (name: string, container: Container) => boolean;
    /** The Node was deleted, and its agent cannot hear of it. */
    readonly isUnheard: (node: string) => boolean;
    /** The address, of no pool, is of the subnet of another Node than this one; ForeignSubnets looks how long it is used. */
    readonly isForeign: (name: string, node: string) => boolean;
    /** The container, which was isolated, may have the address without a claim after all; ForcedClaims goes on looking. */
    readonly mayReturn?: (name: string, container: Container) => boolean;
}

/**
 * Who really has which address: containers that live and whose flows with that address are in their Node's OVS. Told of
 * each change there and of each write of a claim, it looks at the address that the change is about and at no other.
 */
export class Truth {
    readonly violations: Violation[] = [];
    /** By name of the claim. */
    readonly #users = new Map<string, Map<string, Container>>();
    readonly #claims = new Map<string, IpAllocation>();
    /** By name of the claim and container. */
    readonly #excused = new Map<string, Map<string, Excuse>>();

    readonly #isClaimed: TruthOptions["isClaimed"];
    readonly #isUnheard: TruthOptions["isUnheard"];
    readonly #isForeign: TruthOptions["isForeign"];
    readonly #mayReturn: NonNullable<TruthOptions["mayReturn"]>;

    constructor(options: TruthOptions) {
        this.#isClaimed = options.isClaimed;
        this.#isUnheard = options.isUnheard;
        this.#isForeign = options.isForeign;
        this.#mayReturn = options.mayReturn ?? (() => false);
    }

    /** The container can be reached at this address from now on. */
    connected(container: Container, ip: IpAddress): void {
        const name = allocationName(ip);
        if (!this.isExcused(name, container.id) && this.#mayReturn(name, container))
            this.excuse(name, container.id, "in no pool");
        const users = this.#users.get(name) ?? new Map<string, Container>();
        this.#users.set(name, users.set(container.id, container));
        this.#check(name);
    }

    /** It cannot any more. */
    disconnected(containerId: string, ip: IpAddress): void {
        const name = allocationName(ip);
        const users = this.#users.get(name);
        users?.delete(containerId);
        if (users?.size === 0) this.#users.delete(name);
    }

    /**
     * The container, whose claim is deleted, may break this much of what must hold, until its agent isolates it or the claim is its
     * Pod's again; not a second time.
     */
    excuse(name: string, containerId: string, excuse: Excuse): void {
        const excused = this.#excused.get(name) ?? new Map<string, Excuse>();
        this.#excused.set(name, excused.set(containerId, excuse));
        // Whoever may break less than before is looked at again; the claim that is to be deleted is still there.
        if (excuse !== "unheard") this.#check(name);
    }

    isExcused(name: string, containerId: string): boolean {
        return this.#excused.get(name)?.has(containerId) === true;
    }

    /** The agent took the container off this address. */
    isolated(containerId: string, ip: IpAddress): void {
        this.#excused.get(allocationName(ip))?.delete(containerId);
    }

    /** It had the time to hear of it. */
    endExcuse(name: string, containerId: string): void {
        if (this.#excused.get(name)?.delete(containerId) === true) this.#check(name);
    }

    /** All had the time to hear of everything. */
    endUnheard(): void {
        for (const [name, excused] of this.#excused) {
            const unheard = [...excused].filter(([, excuse]) => excuse === "unheard");
            for (const [containerId] of unheard) this.endExcuse(name, containerId);
        }
    }

    usersOf(name: string): readonly Container[] {
        return [...(this.#users.get(name)?.values() ?? [])];
    }

    /** Addresses in use, as names of claims. */
    get inUse(): Iterable<string> {
        return this.#users.keys();
    }

    get claims(): ReadonlyMap<string, IpAllocation> {
        return this.#claims;
    }

    /** A claim was written or deleted. */
    changed({ key, after }: Change): void {
        if (after === undefined) this.#claims.delete(key);
        else this.#claims.set(key, after.object as IpAllocation);
        this.#check(key);
    }

    violated(invariant: string, text: string): void {
        this.violations.push({ invariant, text });
    }

    #check(name: string): void {
        const claim = this.#claims.get(name);
        const excused = this.#excused.get(name);
        for (const { id, podUid } of this.usersOf(name)) if (claim?.spec.pod?.uid === podUid) excused?.delete(id);
        const users = this.usersOf(name).filter(
            (user) => !this.#isUnheardOf(name, user, excused?.get(user.id)) && !this.#isOverlooked(name, user),
        );
        if (users.length === 0) return;
        if (users.length > 1) {
            this.violated("no address has two owners", `${name} is used by ${users.map(textOf).join(" and by ")}`);
        }
        for (const user of users) {
            if (!this.#isClaimed(name, user) || claim?.spec.pod?.uid === user.podUid) continue;
            if (excused?.has(user.id) === true) continue;
            const claimed = claim === undefined ? "is free" : `is claimed for ${JSON.stringify(claim.spec)}`;
            this.violated("a running container's address is not free", `${name} of ${textOf(user)} ${claimed}`);
        }
    }

    /** Also of an address that nobody could get a moment ago: its agent cannot have heard of who has it now. */
    #isUnheardOf(name: string, { node }: Container, excuse: Excuse | undefined): boolean {
        return (
            excuse === "unheard" || (excuse !== undefined && (this.#claims.has(name) || this.#isForeign(name, node)))
        );
    }

    /**
     * A pool may have an address of a Node's subnet, if nobody had heard of the one or of the other: the container that has
     * it without a claim is to be isolated when its agent hears of the claim, which SubnetUsers looks at when all is at rest.
     * A Node that was deleted unheard keeps its subnet, when nobody sends to it any more; and one whose subnet is another's by
     * now goes on with it until its agent heard of that, and no longer.
     */
    #isOverlooked(name: string, user: Container): boolean {
        if (this.#isClaimed(name, user)) return false;
        return this.#claims.has(name) || this.#isUnheard(user.node) || this.#isForeign(name, user.node);
    }
}

function textOf({ id, node, podNamespace, podName, podUid }: Container): string {
    return `container ${id} of Pod ${podNamespace}/${podName} (${podUid}) on ${node}`;
}
