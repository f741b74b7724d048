import { KeyedLock } from "@antrea/async";
import { sameIp, type IpAddress } from "@antrea/ip";
import { type ClaimedAddress, type PoolInterface, type Wiring } from "../../../../src/features/ip-pools/index.ts";
import { type Attachment } from "../../../../src/platform/pod-interfaces/index.ts";

/** Keys that were added more often than they were deleted. */
class Multiset {
    readonly #counts = new Map<string, number>();

    add(key: string): void {
        this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }

    delete(key: string): void {
        const count = this.#counts.get(key) ?? 0;
        if (count > 1) this.#counts.set(key, count - 1);
        else this.#counts.delete(key);
    }

    has(key: string): boolean {
        return this.#counts.has(key);
    }

    clear(): void {
        this.#counts.clear();
    }
}

/** The interfaces of a Node, as far as allocations are concerned: records that live as long as their links. */
export class FakeWiring implements Wiring {
    readonly #records = new Map<string, PoolInterface>();
    readonly #locks = new KeyedLock();
    readonly adding = new Multiset();
    /** By container: when `wire` made the record, or what a test sets instead. */
    readonly wiredAt = new Map<string, number>();
    readonly dead = new Set<string>();
    readonly cut = new Set<string>();
    /** Containers whose interfaces this start of the agent isolated. */
    readonly undecided = new Set<string>();
    /** Runs before an interface is isolated or reconnected. */
    before: (what: "isolate" | "reconnect") => Promise<void> = () => Promise.resolve();

    interfaces(): readonly PoolInterface[] {
        return [...this.#records.values()];
    }

    find({ containerId, ifName }: Attachment): PoolInterface | undefined {
        const found = this.#records.get(containerId);
        return found?.ifName === ifName ? found : undefined;
    }

    /** The record of an ADD that was answered. */
    wire(pod: string, addresses: readonly ClaimedAddress[], containerId = `c-${pod}`, podUid = `uid-${pod}`): void {
        this.wiredAt.set(containerId, performance.now());
        this.#records.set(containerId, {
            containerId,
            ifName: "eth0",
            podNamespace: "default",
            podName: pod,
            podUid,
            vlan: Math.max(0, ...addresses.map(({ vlan }) => vlan)),
            addresses: addresses.map(({ vlan: _, ...address }) => address),
        });
    }

    hasContainer(containerId: string): boolean {
        return this.#records.has(containerId);
    }

    otherContainerSince(podUid: string, containerId: string): number | undefined {
        const other = this.interfaces().find((one) => one.podUid === podUid && one.containerId !== containerId);
        return other && this.wiredAt.get(other.containerId);
    }

    isOwn({ ifName }: { readonly ifName: string }): boolean {
        return ifName === "eth0";
    }

    unwire(containerId: string): void {
        this.#records.delete(containerId);
    }

    linkExists({ containerId }: PoolInterface): Promise<boolean> {
        return Promise.resolve(!this.dead.has(containerId));
    }

    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
        return this.#locks.run(containerId, work, signal);
    }

    /** How many containers are worked on, or waited for. */
    get locked(): number {
        return this.#locks.size;
    }

    isWired(podUid: string, ifName: string): boolean {
        return this.interfaces().some((wired) => wired.podUid === podUid && wired.ifName === ifName);
    }

    isAdding(containerIdOrPodUid: string): boolean {
        return this.adding.has(containerIdOrPodUid);
    }

    isIsolated({ containerId }: PoolInterface): boolean {
        return this.cut.has(containerId);
    }

    isUndecided({ containerId }: PoolInterface): boolean {
        return this.undecided.has(containerId);
    }

    isConnected(ip: IpAddress): boolean {
        return this.interfaces().some(
            (wired) => !this.isIsolated(wired) && wired.addresses.some((one) => sameIp(one.ip, ip)),
        );
    }

    async isolate({ containerId }: PoolInterface): Promise<void> {
        this.cut.add(containerId);
        await this.before("isolate");
    }

    async reconnect({ containerId }: PoolInterface): Promise<void> {
        await this.before("reconnect");
        this.cut.delete(containerId);
    }
}
