import { allocationName, type IpAllocation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { type Change } from "../api/store.ts";

/** A container with a network, on any Node. */
export interface Container {
    readonly id: string;
    readonly node: string;
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
}

/**
 * The exceptions for a container whose allocation was deleted while it runs. "unheard": its agent cannot have learned
 * of it, so that the address may be free or allocated to another. "in no pool": the address is available to no one,
 * so that it may lack an allocation; a second user is a violation.
 */
export type Excuse = "unheard" | "in no pool";

/** A violated invariant. */
export interface Violation {
    readonly invariant: string;
    readonly text: string;
}

export interface TruthOptions {
    /** Whether the container's address is allocated; addresses of a Node's own subnet are not. */
    readonly isClaimed: (name: string, container: Container) => boolean;
    /** The Node was deleted, and its agent cannot have learned of it. */
    readonly isUnheard: (node: string) => boolean;
    /** The address, of no pool, is in the subnet of another Node; ForeignSubnets checks how long it is used. */
    readonly isForeign: (name: string, node: string) => boolean;
    /**
     * The container, which was isolated, may use the address without an allocation after all; ForcedClaims continues
     * the check.
     */
    readonly mayReturn?: (name: string, container: Container) => boolean;
}

/**
 * The actual user of each address: running containers whose flows with that address are in their Node's OVS. Notified
 * of each change there and of each write of an allocation, it checks only the address concerned.
 */
export class Truth {
    readonly violations: Violation[] = [];
    /** By name of the allocation. */
    readonly #users = new Map<string, Map<string, Container>>();
    readonly #claims = new Map<string, IpAllocation>();
    /** By name of the allocation and container. */
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

    /** The container becomes reachable at this address. */
    connected(container: Container, ip: IpAddress): void {
        const name = allocationName(ip);
        if (!this.isExcused(name, container.id) && this.#mayReturn(name, container))
            this.excuse(name, container.id, "in no pool");
        const users = this.#users.get(name) ?? new Map<string, Container>();
        this.#users.set(name, users.set(container.id, container));
        this.#check(name);
    }

    /** It becomes unreachable. */
    disconnected(containerId: string, ip: IpAddress): void {
        const name = allocationName(ip);
        const users = this.#users.get(name);
        users?.delete(containerId);
        if (users?.size === 0) this.#users.delete(name);
    }

    /**
     * Grants the container, whose allocation is deleted, an exception, until its agent isolates it or the allocation
     * is its Pod's again; only once.
     */
    excuse(name: string, containerId: string, excuse: Excuse): void {
        const excused = this.#excused.get(name) ?? new Map<string, Excuse>();
        this.#excused.set(name, excused.set(containerId, excuse));
        // A reduced exception requires a new check; the allocation that is to be deleted still exists.
        if (excuse !== "unheard") this.#check(name);
    }

    isExcused(name: string, containerId: string): boolean {
        return this.#excused.get(name)?.has(containerId) === true;
    }

    /** The agent isolated the container from this address. */
    isolated(containerId: string, ip: IpAddress): void {
        this.#excused.get(allocationName(ip))?.delete(containerId);
    }

    /** Its agent had enough time to learn of the change. */
    endExcuse(name: string, containerId: string): void {
        if (this.#excused.get(name)?.delete(containerId) === true) this.#check(name);
    }

    /** All agents had enough time to learn of every change. */
    endUnheard(): void {
        for (const [name, excused] of this.#excused) {
            const unheard = [...excused].filter(([, excuse]) => excuse === "unheard");
            for (const [containerId] of unheard) this.endExcuse(name, containerId);
        }
    }

    usersOf(name: string): readonly Container[] {
        return [...(this.#users.get(name)?.values() ?? [])];
    }

    /** Addresses in use, as allocation names. */
    get inUse(): Iterable<string> {
        return this.#users.keys();
    }

    get claims(): ReadonlyMap<string, IpAllocation> {
        return this.#claims;
    }

    /** An allocation was written or deleted. */
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
            const claimed = claim === undefined ? "is free" : `is allocated: ${JSON.stringify(claim.spec)}`;
            this.violated("a running container's address is not free", `${name} of ${textOf(user)} ${claimed}`);
        }
    }

    /**
     * Includes an address that was available to no one a moment ago: its agent cannot have learned of the new owner.
     */
    #isUnheardOf(name: string, { node }: Container, excuse: Excuse | undefined): boolean {
        return (
            excuse === "unheard" || (excuse !== undefined && (this.#claims.has(name) || this.#isForeign(name, node)))
        );
    }

    /**
     * A pool may contain an address of a Node's subnet if neither writer knew of the other: the container that uses
     * it without an allocation is isolated when its agent learns of the allocation, which SubnetUsers checks at rest.
     * A Node whose deletion its agent has not learned of keeps its subnet, to which no traffic is sent; one whose
     * subnet now belongs to another Node uses it until its agent learned of that.
     */
    #isOverlooked(name: string, user: Container): boolean {
        if (this.#isClaimed(name, user)) return false;
        return this.#claims.has(name) || this.#isUnheard(user.node) || this.#isForeign(name, user.node);
    }
}

function textOf({ id, node, podNamespace, podName, podUid }: Container): string {
    return `container ${id} of Pod ${podNamespace}/${podName} (${podUid}) on ${node}`;
}
