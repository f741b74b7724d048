import { type Clock } from "@antrea/async";
import { isOfPods, type IpAllocation } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { type AllocationWriter } from "./allocation-writer.ts";
import { allocationIp, isDelegated, objectName } from "./allocations.ts";
import { logged } from "./logged.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type NodePods } from "./node-pods.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { lockLimitMs, within } from "./requests.ts";
import { type PoolInterface, type Wiring } from "./wiring.ts";

/**
 * All interfaces of a container are made within this time after the one on the Pod network, also where a meta plugin calls for
 * each: container runtimes end an ADD, of all plugins together, before.
 */
const wholeAddLimitMs = 300_000;

/** Dependencies of UnusedAllocations. */
export interface UnusedAllocationsComponents {
    readonly own: OwnAllocations;
    readonly writer: AllocationWriter;
    readonly pods: NodePods;
    readonly wiring: Wiring;
    readonly clock: Clock;
    readonly metrics: IpamMetrics;
    readonly logger: Logger;
}

/** Settings of UnusedAllocations. */
export interface UnusedAllocationsOptions {
    /** Milliseconds between the two checks that must both find an allocation unused. Default 10 s. */
    readonly confirmMs?: number | undefined;
}

/**
 * Frees the IPAllocations of this Node that have no interface record and will get none, since their Pod has ended or is
 * wired with other addresses. Two checks must find it so, and of an ended Pod the API server is asked again before.
 * Checks must not overlap.
 */
export class UnusedAllocations {
    readonly #components: UnusedAllocationsComponents;
    readonly #confirmMs: number;
    /** Allocations that appear unused, by UID and resourceVersion, with the time since when. */
    #suspects = new Map<string, number>();

    constructor(components: UnusedAllocationsComponents, { confirmMs = 10_000 }: UnusedAllocationsOptions) {
        this.#components = components;
        this.#confirmMs = confirmMs;
    }

    /** Number of allocations that are checked again before they are freed. */
    get suspects(): number {
        return this.#suspects.size;
    }

    /**
     * Runs one check, and frees the allocations that also a check at least `confirmMs` before found unused. Failures
     * are logged and left to the next check; it never rejects. False if the signal aborted before all were checked.
     */
    async free(signal: AbortSignal): Promise<boolean> {
        const { clock, own } = this.#components;
        const now = clock.monotonic();
        const before = this.#suspects;
        this.#suspects = new Map();
        for (const allocation of own.list()) {
            if (signal.aborted) return false;
            if (!this.#mayBeUnused(allocation)) continue;
            const key = `${allocation.metadata?.uid} ${allocation.metadata?.resourceVersion}`;
            const since = before.get(key);
            this.#suspects.set(key, since ?? now);
            if (since === undefined || now - since < this.#confirmMs) continue;
            await logged(this.#components.logger, "an unused allocation is left to the next pass", () =>
                this.#freeIfUnused(allocation, signal),
            );
        }
        return true;
    }

    /** Whether the allocation is unused according to the caches, which may be stale. */
    #mayBeUnused(allocation: IpAllocation): boolean {
        const { pod } = allocation.spec;
        if (pod === undefined || !isOfPods(allocation.spec.owner) || this.#recordOf(allocation) !== undefined)
            return false;
        // Interfaces on networks end with their container. Those of other plugins have no record, and one that was rebuilt
        // while an IPPool was not known lacks addresses.
        if (pod.network !== undefined && this.#components.wiring.hasContainer(pod.containerID)) return false;
        if (isAdding(this.#components.wiring, { containerId: pod.containerID, podUid: pod.uid })) return false;
        return this.#isSurplus(allocation) || !this.#components.pods.isKnownAlive(pod);
    }

    async #freeIfUnused(allocation: IpAllocation, signal: AbortSignal): Promise<void> {
        const { logger, metrics, own, pods, wiring, writer } = this.#components;
        const { pod } = allocation.spec;
        if (pod === undefined) return;
        const unused = this.#isSurplus(allocation) || (await pods.isOver(pod, signal));
        if (!unused) return;
        metrics.leakFound();
        const free = async (): Promise<void> => {
            // An ADD may have started during the request; from here on it would change the resourceVersion.
            if (!this.#mayBeUnused(allocation) || own.get(objectName(allocation)) !== allocation) return;
            const version = allocation.metadata?.resourceVersion;
            const isSame = (current: IpAllocation): boolean => current.metadata?.resourceVersion === version;
            await writer.free(allocation, isSame, within(signal, lockLimitMs), lockLimitMs);
            if (own.get(objectName(allocation)) !== undefined) return;
            metrics.reclaimed();
            logger.info("unused allocation released", {
                address: objectName(allocation),
                pod: `${pod.namespace}/${pod.name}`,
                container: pod.containerID,
            });
        };
        await wiring.exclusively(pod.containerID, free, within(signal, lockLimitMs));
    }

    /**
     * Whether an allocation without a record is superfluous: the Pod's interface is wired with other addresses of this
     * family, or of another family since the Pod requests other pools now; or, on a network, came with a container that has
     * ended, and the next one has run for long without such an interface, or has other addresses of another plugin's.
     */
    #isSurplus(allocation: IpAllocation): boolean {
        const { own, wiring } = this.#components;
        const { uid = "", interface: ifName = "", containerID = "", network } = allocation.spec.pod ?? {};
        if (wiring.isWired(uid, ifName)) return true;
        if (network !== undefined && this.#isPastNextAdd(uid, containerID)) return true;
        if (isDelegated(allocation)) {
            const containers = own.ofPod(uid, ifName).map(({ spec }) => spec.pod?.containerID ?? "");
            return containers.some((other) => other !== containerID && wiring.hasContainer(other));
        }
        // A record rebuilt from incomplete data has no UID.
        const { family } = allocationIp(allocation);
        return own
            .ofPod(uid, ifName)
            .filter((other) => allocationIp(other).family === family)
            .some((other) => objectName(other) !== objectName(allocation) && this.#recordOf(other) !== undefined);
    }

    /** Whether another container of the Pod has had its interface on the Pod network for so long that its ADD has ended. */
    #isPastNextAdd(podUid: string, containerId: string): boolean {
        const { clock, wiring } = this.#components;
        const since = wiring.otherContainerSince(podUid, containerId);
        return since !== undefined && clock.monotonic() - since >= wholeAddLimitMs;
    }

    /** The interface of the allocation's Pod that has the allocated address, in any of its sandboxes. */
    #recordOf({ spec: { address, pod } }: IpAllocation): PoolInterface | undefined {
        const { wiring } = this.#components;
        if (pod === undefined) return undefined;
        const hasAddress = ({ addresses }: PoolInterface): boolean =>
            addresses.some(({ ip }) => formatIp(ip) === address);
        // Nearly always: a Node has thousands.
        const named = wiring.find({ containerId: pod.containerID, ifName: pod.interface });
        if (named !== undefined && hasAddress(named)) return named;
        return wiring.interfaces().find(
            (wired) =>
                wired.ifName === pod.interface &&
                // A record rebuilt from incomplete data has no UID: it may belong to this Pod.
                (wired.containerId === pod.containerID || wired.podUid === pod.uid || wired.podUid === "") &&
                hasAddress(wired),
        );
    }
}

/** Whether an ADD of the container, or for the Pod with this UID if it is not "", is in progress. */
export function isAdding(
    wiring: Pick<Wiring, "isAdding">,
    { containerId, podUid }: Pick<PoolInterface, "containerId" | "podUid">,
): boolean {
    return wiring.isAdding(containerId) || (podUid !== "" && wiring.isAdding(podUid));
}
