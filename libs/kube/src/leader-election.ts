import { sleep, systemClock, type Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { type ApiClient } from "./api/client.ts";
import { leases } from "./api/resources.ts";
import { type Lease } from "./api/types.ts";
import { KubeError, isKubeError } from "./errors.ts";
import { type KubeLogger } from "./logger.ts";
import { microTime } from "./micro-time.ts";

/** Dependencies of LeaderElection; `api` needs permission to get, create and update the Lease. */
export interface LeaderElectionComponents {
    readonly api: Pick<ApiClient, "find" | "create" | "update">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/**
 * Options of LeaderElection: the Lease, the identity of this process, and its times, all in milliseconds. Not every
 * combination is valid, see LeaderElection.
 */
export interface LeaderElectionOptions {
    readonly namespace: string;
    /** Name of the Lease. */
    readonly name: string;
    /** Unique for each process; reused only after its process has certainly ended. */
    readonly identity: string;
    /** Other candidates take the lease if they have seen no renewal for this long. Default 15,000. */
    readonly leaseDurationMs?: number;
    /** A leader that could not renew for this long stops; less than the lease duration. Default 10,000. */
    readonly renewDeadlineMs?: number;
    /** Interval between tries; less than the renew deadline. Default 2000. */
    readonly retryPeriodMs?: number;
}

/**
 * Work of a leader: runs until its signal aborts (lease lost, or the signal of `run`); its promise settles when the
 * work has ended. While the lease is not lost, it is renewed until then, so that no other candidate leads meanwhile. If
 * the work ends earlier, the lease is released and the process campaigns again; an error other than an abort by the
 * signal is logged.
 */
export type Lead = (signal: AbortSignal) => Promise<void>;

/**
 * Leader election on a Lease (coordination.k8s.io), with the rules of client-go. The leader's signal aborts before
 * another candidate can take the lease: the deadline counts from before the last successful renewal was sent, by the
 * monotonic clock. A process that was suspended longer notices late, so writes that must not come from two leaders need
 * a fence of their own, such as a version that the new leader changes. The constructor throws KubeError BAD_CONFIG
 * unless retryPeriodMs < renewDeadlineMs < leaseDurationMs.
 */
export class LeaderElection {
    readonly #components: LeaderElectionComponents;
    readonly #clock: Clock;
    readonly #options: LeaderElectionOptions;
    readonly #leaseDurationMs: number;
    readonly #renewDeadlineMs: number;
    readonly #retryPeriodMs: number;
    #observed: Lease | undefined;
    #observedAt = 0;
    #leading = false;

    constructor(components: LeaderElectionComponents, options: LeaderElectionOptions) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
        this.#leaseDurationMs = options.leaseDurationMs ?? 15_000;
        this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
        this.#retryPeriodMs = options.retryPeriodMs ?? 2_000;
        if (this.#renewDeadlineMs >= this.#leaseDurationMs || this.#retryPeriodMs >= this.#renewDeadlineMs) {
            throw new KubeError(
                "BAD_CONFIG",
                "leader election needs retryPeriodMs < renewDeadlineMs < leaseDurationMs, the two can otherwise lead at once",
            );
        }
    }

    /** True while this process leads. */
    get leading(): boolean {
        return this.#leading;
    }

    /** Identity of the holder when the lease was last read or written; undefined if it had none. */
    get holder(): string | undefined {
        return this.#observed?.spec?.holderIdentity || undefined;
    }

    /**
     * Campaigns and leads repeatedly until the signal aborts; then resolves when the work has ended. Never rejects:
     * errors of the API server are logged and retried. `lead` is called once per term; after it has ended, the lease is
     * released unless it was lost.
     */
    async run(signal: AbortSignal, lead: Lead): Promise<void> {
        while (!signal.aborted) {
            const renewedAt = await this.#campaign(signal);
            if (renewedAt === undefined) return;
            await this.#term(signal, lead, renewedAt);
            await this.#pause(signal);
        }
    }

    async #campaign(signal: AbortSignal): Promise<number | undefined> {
        while (!signal.aborted) {
            const began = this.#clock.monotonic();
            if (await this.#tryAcquireOrRenew(signal)) return began;
            await this.#pause(signal);
        }
        return undefined;
    }

    async #term(signal: AbortSignal, lead: Lead, acquiredAt: number): Promise<void> {
        const { logger } = this.#components;
        const lost = new AbortController();
        const leaderSignal = AbortSignal.any([signal, lost.signal]);
        this.#leading = true;
        logger.info("leading", { lease: this.#options.name, identity: this.#options.identity });
        const ended = new AbortController();
        // Async, so that what `lead` throws at once is a rejection, too.
        const begin = async (): Promise<void> => lead(leaderSignal);
        const work = begin()
            .catch((error: unknown) => {
                if (!leaderSignal.aborted || !isAborted(error)) {
                    logger.error("the leader's work failed", { lease: this.#options.name, error });
                }
            })
            .finally(() => ended.abort());
        // Renewal continues while the work drains, so that no other candidate begins before it has ended.
        const kept = await this.#keepRenewing(ended.signal, acquiredAt);
        if (!kept) lost.abort();
        await work;
        this.#leading = false;
        if (kept) await this.#release();
        else logger.warn("leadership lost", { lease: this.#options.name, holder: this.holder });
    }

    /**
     * Returns false if the deadline passed or another candidate holds the lease, true if the work ended while it was
     * held.
     */
    async #keepRenewing(ended: AbortSignal, acquiredAt: number): Promise<boolean> {
        let renewedAt = acquiredAt;
        while (!ended.aborted) {
            if (this.#clock.monotonic() - renewedAt >= this.#renewDeadlineMs) return false;
            const left = renewedAt + this.#renewDeadlineMs - this.#clock.monotonic();
            await sleep(Math.min(this.#retryPeriodMs, left), ended, this.#clock).catch(() => undefined);
            if (ended.aborted) return true;
            const began = this.#clock.monotonic();
            const deadline = new AbortController();
            const leftMs = renewedAt + this.#renewDeadlineMs - began;
            if (leftMs <= 0) return false;
            const watchdog = sleep(leftMs, deadline.signal, this.#clock).then(
                () => "late" as const,
                () => "stopped" as const,
            );
            const renewal = this.#tryAcquireOrRenew(deadline.signal).then((ok) => (ok ? "renewed" : "failed"));
            const outcome = await Promise.race([renewal, watchdog]);
            deadline.abort();
            if (outcome === "late") return false;
            if (outcome === "renewed") renewedAt = began;
            else if (this.holder !== undefined && this.holder !== this.#options.identity) return false;
        }
        return true;
    }

    async #tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
        try {
            return await this.#attempt(signal);
        } catch (error) {
            // The lease is read again next time: it is unknown whether this write took effect.
            if (this.#observed?.metadata !== undefined) this.#observed = { ...this.#observed, metadata: {} };
            if (signal.aborted || isAborted(error)) return false;
            const quiet = isKubeError(error, "CONFLICT", "ALREADY_EXISTS");
            this.#components.logger[quiet ? "debug" : "warn"]("cannot take or renew the lease", {
                lease: this.#options.name,
                error,
            });
            return false;
        }
    }

    async #attempt(signal: AbortSignal): Promise<boolean> {
        const { api } = this.#components;
        const { namespace, name, identity } = this.#options;
        const o = { signal, timeoutMs: this.#renewDeadlineMs / 2 };
        let lease = this.#observed;
        // A holder renews what it wrote last; every other candidate reads the lease first.
        if (lease?.spec?.holderIdentity !== identity || lease.metadata?.resourceVersion === undefined) {
            lease = await api.find(leases, { namespace, name }, o);
            if (lease === undefined) {
                const created = await api.create(
                    leases,
                    { metadata: { namespace, name }, spec: this.#spec(undefined) },
                    o,
                );
                this.#observe(created);
                return true;
            }
            this.#observe(lease);
        }
        const holder = lease.spec?.holderIdentity ?? "";
        if (holder !== "" && holder !== identity) {
            const durationMs = (lease.spec?.leaseDurationSeconds ?? this.#leaseDurationMs / 1000) * 1000;
            if (this.#clock.monotonic() - this.#observedAt < durationMs) return false;
        }
        this.#observe(await api.update(leases, { ...lease, spec: this.#spec(lease) }, o));
        return true;
    }

    #observe(lease: Lease): void {
        const { spec } = lease;
        const before = this.#observed?.spec;
        const same =
            before !== undefined &&
            before.holderIdentity === spec?.holderIdentity &&
            before.renewTime === spec?.renewTime &&
            before.leaseTransitions === spec?.leaseTransitions;
        // Only the own clock is trusted: what counts is when a renewal was seen, not its timestamp.
        if (!same) this.#observedAt = this.#clock.monotonic();
        this.#observed = lease;
    }

    #spec(lease: Lease | undefined): NonNullable<Lease["spec"]> {
        const now = microTime(this.#clock.now());
        const mine = lease?.spec?.holderIdentity === this.#options.identity;
        const transitions = lease?.spec?.leaseTransitions ?? 0;
        return {
            holderIdentity: this.#options.identity,
            leaseDurationSeconds: Math.max(1, Math.round(this.#leaseDurationMs / 1000)),
            acquireTime: mine ? (lease.spec?.acquireTime ?? now) : now,
            renewTime: now,
            leaseTransitions: lease === undefined || mine ? transitions : transitions + 1,
        };
    }

    async #release(): Promise<void> {
        const lease = this.#observed;
        if (lease?.spec?.holderIdentity !== this.#options.identity) return;
        const now = microTime(this.#clock.now());
        const { leaseTransitions = 0 } = lease.spec;
        const spec = {
            holderIdentity: "",
            leaseDurationSeconds: 1,
            acquireTime: now,
            renewTime: now,
            leaseTransitions,
        };
        try {
            this.#observe(await this.#components.api.update(leases, { ...lease, spec }, { timeoutMs: 3_000 }));
            this.#components.logger.info("leadership released", { lease: this.#options.name });
        } catch (error) {
            this.#components.logger.warn("cannot release the lease; it will expire", {
                lease: this.#options.name,
                error,
            });
        }
    }

    async #pause(signal: AbortSignal): Promise<void> {
        // Jitter, so that the candidates do not try at the same moment.
        await sleep(this.#retryPeriodMs * (1 + 0.2 * Math.random()), signal, this.#clock).catch(() => undefined);
    }
}
