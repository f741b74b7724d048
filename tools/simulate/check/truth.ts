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
    /** The version of the store when it was created. */
    readonly since: number;
}

/** A container that uses an address, on this interface. */
export interface User extends Container {
    readonly ifName: string;
}

/**
 * The exceptions for a container whose allocation was deleted while it runs. "unheard": its agent cannot have learned
 * of it, so that the address may be free or allocated to another. "in no pool": the address is available to no one,
 * so that it may lack an allocation; a second user is a violation. "cannot be isolated": another plugin made
 * the interface; until its end.
 */
export type Excuse = "unheard" | "in no pool" | "cannot be isolated";

/** A violated invariant. */
export interface Violation {
    readonly invariant: string;
    readonly text: string;
}

export interface TruthOptions {
    /** Whether the container's address is allocated; addresses of a Node's own subnet are not. */
    readonly isClaimed: (name: string, user: User) => boolean;
    /** The Node was deleted, and its agent cannot have learned of it. */
    readonly isUnheard: (node: string) => boolean;
    /** The address, of no pool, is in the subnet of another Node; ForeignSubnets checks how long it is used. */
    readonly isForeign: (name: string, node: string) => boolean;
    /**
     * The container, which was isolated, may use the address without an allocation after all; ForcedAllocations continues
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
    /** By name of the allocation, then container and interface. */
    readonly #users = new Map<string, Map<string, User>>();
    readonly #allocations = new Map<string, IpAllocation>();
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

    /** The container becomes reachable at this address, by this interface. */
    connected(container: Container, ip: IpAddress, ifName = "eth0"): void {
        const name = allocationName(ip);
        if (!this.isExcused(name, container.id) && this.#mayReturn(name, container))
            this.excuse(name, container.id, "in no pool");
        const users = this.#users.get(name) ?? new Map<string, User>();
        this.#users.set(name, users.set(`${container.id}/${ifName}`, { ...container, ifName }));
        this.#check(name);
    }

    /** It becomes unreachable. */
    disconnected(containerId: string, ip: IpAddress, ifName = "eth0"): void {
        const name = allocationName(ip);
        const users = this.#users.get(name);
        users?.delete(`${containerId}/${ifName}`);
        if (users?.size === 0) this.#users.delete(name);
    }

    /**
     * Grants the container, whose allocation is deleted, an exception, until its agent isolates it or the allocation
     * is its Pod's again; only once.
     */
    excuse(name: string, containerId: string, excuse: Excuse): void {
        const excused = this.#excused.get(name) ?? new Map<string, Excuse>();
        if (excused.get(containerId) === "cannot be isolated") return;
        this.#excused.set(name, excused.set(containerId, excuse));
        // A reduced exception requires a new check; the allocation that is to be deleted still exists.
        if (excuse === "in no pool") this.#check(name);
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
        const excused = this.#excused.get(name);
        const excuse = excused?.get(containerId);
        if (excuse === undefined || excuse === "cannot be isolated") return;
        if (excused?.delete(containerId) === true) this.#check(name);
    }

    /** All agents had enough time to learn of every change. */
    endUnheard(): void {
        for (const [name, excused] of this.#excused) {
            const unheard = [...excused].filter(([, excuse]) => excuse === "unheard");
            for (const [containerId] of unheard) this.endExcuse(name, containerId);
        }
    }

    usersOf(name: string): readonly User[] {
        return [...(this.#users.get(name)?.values() ?? [])];
    }

    /** Addresses in use, as allocation names. */
    get inUse(): Iterable<string> {
        return this.#users.keys();
    }

    get allocations(): ReadonlyMap<string, IpAllocation> {
        return this.#allocations;
    }

    /** An allocation was written or deleted. */
    changed({ key, after }: Change): void {
        if (after === undefined) this.#allocations.delete(key);
        else this.#allocations.set(key, after.object as IpAllocation);
        this.#check(key);
    }

    violated(invariant: string, text: string): void {
        this.violations.push({ invariant, text });
    }

    #check(name: string): void {
        const allocation = this.#allocations.get(name);
        const excused = this.#excused.get(name);
        const all = this.usersOf(name);
        // Another interface of the container may be the one whose allocation was deleted.
        const isOnly = ({ id }: User): boolean => all.filter((other) => other.id === id).length === 1;
        for (const user of all) if (isFor(allocation, user) && isOnly(user)) excused?.delete(user.id);
        const users = all.filter(
            (user) => !this.#isUnheardOf(name, user, excused?.get(user.id)) && !this.#isOverlooked(name, user),
        );
        if (users.length === 0) return;
        if (users.length > 1) {
            this.violated("no address has two owners", `${name} is used by ${users.map(textOf).join(" and by ")}`);
        }
        for (const user of users) {
            if (!this.#isClaimed(name, user) || isFor(allocation, user)) continue;
            if (excused?.has(user.id) === true) continue;
            const claimed = allocation === undefined ? "is free" : `is allocated: ${JSON.stringify(allocation.spec)}`;
            this.violated("a running container's address is not free", `${name} of ${textOf(user)} ${claimed}`);
        }
    }

    /**
     * Includes an address that was available to no one a moment ago: its agent cannot have learned of the new owner.
     */
    #isUnheardOf(name: string, { node }: Container, excuse: Excuse | undefined): boolean {
        return (
            excuse === "unheard" ||
            excuse === "cannot be isolated" ||
            (excuse !== undefined && (this.#allocations.has(name) || this.#isForeign(name, node)))
        );
    }

    /**
     * A pool may contain an address of a Node's subnet if neither writer knew of the other: the container that uses
     * it without an allocation is isolated when its agent learns of the allocation, which SubnetUsers checks at rest.
     * A Node whose deletion its agent has not learned of keeps its subnet, to which no traffic is sent; one whose
     * subnet now belongs to another Node uses it until its agent learned of that.
     */
    #isOverlooked(name: string, user: User): boolean {
        if (this.#isClaimed(name, user)) return false;
        return this.#allocations.has(name) || this.#isUnheard(user.node) || this.#isForeign(name, user.node);
    }
}

/** Whether another plugin makes the interface of the allocation. */
export function isOfAnotherPlugin(allocation: IpAllocation | undefined): boolean {
    return allocation?.spec.pod?.network?.includes("/") === false;
}

/** Whether the allocation is for this interface of the user's Pod. */
function isFor(allocation: IpAllocation | undefined, { podUid, ifName }: User): boolean {
    return allocation?.spec.pod?.uid === podUid && allocation.spec.pod.interface === ifName;
}

function textOf({ id, node, podNamespace, podName, podUid, ifName }: User): string {
    return `${ifName} of container ${id} of Pod ${podNamespace}/${podName} (${podUid}) on ${node}`;
}
