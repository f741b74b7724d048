import { type Clock } from "@antrea/async";
import type { Logger } from "@antrea/runtime";
import { Limit } from "./limit.ts";
import type { PodNetwork } from "./pod-network.ts";
import { PodNetworkError } from "./errors.ts";
import { podText } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of BusyContainers. */
export interface BusyContainersComponents {
    readonly network: Pick<PodNetwork, "exclusively" | "interfaces">;
    readonly clock: Clock;
    readonly logger: Logger;
}

/** How long a round waits for the lock of one container. */
const lockLimitMs = 5_000;
/** An ADD has a limit of 60 s: work that holds the lock longer is stuck. */
const stuckMs = 60_000;

/**
 * Runs rounds of work under the locks of containers, one round at a time. A container whose lock is not available
 * within 5 s is skipped, so that it does not delay the other containers of the Node; the round then rejects at its end,
 * so that it is retried soon.
 */
export class BusyContainers {
    readonly #components: BusyContainersComponents;
    /** Containers skipped in the last round, with the time since when their lock has been unavailable. */
    #before: ReadonlyMap<string, number> = new Map();
    #busy = new Map<string, number>();

    constructor(components: BusyContainersComponents) {
        this.#components = components;
    }

    /**
     * Runs the work under the lock of the container; skips it, which is logged, if the lock is not available within 5
     * s. Rejects as the work does, or if the signal aborts.
     */
    async run(containerId: string, work: () => Promise<unknown>, signal?: AbortSignal): Promise<void> {
        const { clock, logger, network } = this.#components;
        let hasBegun = false;
        const begin = async (): Promise<void> => {
            hasBegun = true;
            await work();
        };
        using limit = new Limit(clock, lockLimitMs, "other work on the container", signal);
        try {
            await network.exclusively(containerId, begin, limit.signal);
        } catch (error) {
            if (hasBegun) throw error;
            signal?.throwIfAborted();
            if (this.#busy.has(containerId)) return;
            this.#busy.set(containerId, this.#before.get(containerId) ?? clock.monotonic());
            const pod = this.#podOf(containerId);
            logger.warn("container skipped until the next reconcile: another operation on it is in progress", {
                container: containerId,
                waitedSeconds: lockLimitMs / 1000,
                ...(pod !== undefined && { pod }),
            });
        }
    }

    /**
     * Runs one round, in which `work` calls `run`; rejects as the work does, or at its end with PodNetworkError `BUSY`
     * if a container was skipped.
     */
    async round(work: () => Promise<void>): Promise<void> {
        this.#busy = new Map();
        try {
            await work();
        } finally {
            this.#before = this.#busy;
        }
        if (this.#before.size === 0) return;
        const containers = [...this.#before.keys()];
        const text = `other work on ${containers.map((one) => this.#textOf(one)).join(", ")} has not ended`;
        throw new PodNetworkError("BUSY", "timeout", text, { details: { containers } });
    }

    /** Why the agent is not ready: a container has been skipped for more than a minute; undefined otherwise. */
    get problem(): string | undefined {
        const now = this.#components.clock.monotonic();
        const stuck = [...this.#before].filter(([, since]) => now - since >= stuckMs);
        const [first] = stuck;
        if (first === undefined) return undefined;
        const seconds = Math.round((now - first[1]) / 1000);
        const more = stuck.length === 1 ? "" : ` and of ${stuck.length - 1} more`;
        return `the interface of ${this.#textOf(first[0])}${more} cannot be repaired: other work on it has not ended for ${seconds} s`;
    }

    #textOf(containerId: string): string {
        const pod = this.#podOf(containerId);
        return pod === undefined ? `container ${containerId}` : `container ${containerId} (Pod ${pod})`;
    }

    #podOf(containerId: string): string | undefined {
        const found = this.#components.network.interfaces().find(({ record }) => record.containerId === containerId);
        // A record rebuilt from its link may lack the Pod name.
        if (found === undefined || found.record.podName === "") return undefined;
        return podText(found.record);
    }
}
