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

/** An invariant that does not hold. */
export interface Violation {
    readonly invariant: string;
    readonly text: string;
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

    /** Whether addresses of this kind are claimed; those of a Node's own subnet are not. */
    readonly #isClaimed: (name: string) => boolean;

    constructor(options: { readonly isClaimed: (name: string) => boolean }) {
        this.#isClaimed = options.isClaimed;
    }

    /** The container can be reached at this address from now on. */
    connected(container: Container, ip: IpAddress): void {
        const name = allocationName(ip);
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
        const users = this.usersOf(name);
        if (users.length === 0) return;
        if (users.length > 1) {
            this.violated("no address has two owners", `${name} is used by ${users.map(textOf).join(" and by ")}`);
        }
        if (!this.#isClaimed(name)) return;
        const claim = this.#claims.get(name);
        for (const user of users) {
            if (claim?.spec.pod?.uid === user.podUid) continue;
            const claimed = claim === undefined ? "is free" : `is claimed for ${JSON.stringify(claim.spec)}`;
            this.violated("a running container's address is not free", `${name} of ${textOf(user)} ${claimed}`);
        }
    }
}

function textOf({ id, node, podNamespace, podName, podUid }: Container): string {
    return `container ${id} of Pod ${podNamespace}/${podName} (${podUid}) on ${node}`;
}
