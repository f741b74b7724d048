import { sleep, systemClock, type Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { type ApiClient } from "./api/client.ts";
import { leases } from "./api/resources.ts";
import { type Lease } from "./api/types.ts";
import { KubeError, isKubeError } from "./errors.ts";
import { type KubeLogger } from "./logger.ts";
import { microTime } from "./micro-time.ts";

export interface LeaderElectionComponents {
    readonly api: Pick<ApiClient, "find" | "create" | "update">;
    readonly logger: KubeLogger;
    readonly clock?: Clock;
}

export interface LeaderElectionOptions {
    readonly namespace: string;
    /** Of the Lease. */
    readonly name: string;
    /** Unique for each process; the same again only after its process has ended for sure. */
    readonly identity: string;
    /** Others take the lease when they have seen no renewal for this long. Default 15000. */
    readonly leaseDurationMs?: number;
    /** A leader that could not renew for this long stops; below the lease duration. Default 10000. */
    readonly renewDeadlineMs?: number;
    /** Between tries. Default 2000. */
    readonly retryPeriodMs?: number;
}

/** Work of a leader: runs until its signal aborts, and has ended when its promise settles. */
export type Lead = (signal: AbortSignal) => Promise<void>;

/**
 * Leader election on a Lease of coordination.k8s.io, with the rules of client-go. The leader's signal aborts before
 * anyone else can take the lease: the deadline counts from before the last successful renewal was sent, by a clock
 * that does not jump. A process that stood still longer learns of it late; writes that must not be made by two need a
 * fence of their own (a version that the new leader changes).
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

    get leading(): boolean {
        return this.#leading;
    }

    /** Who held the lease when it was last read; undefined if nobody did. */
    get holder(): string | undefined {
        return this.#observed?.spec?.holderIdentity || undefined;
    }

    /**
     * Campaigns and leads again and again until the signal aborts. `lead` is called once per term; when it ends, the
     * lease is released, unless it was lost.
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
        const work = lead(leaderSignal)
            .catch((error: unknown) => {
                if (!leaderSignal.aborted || !isAborted(error)) {
                    logger.error("the leader's work failed", { lease: this.#options.name, error });
                }
            })
            .finally(() => ended.abort());
        // Renewal goes on while the work drains, so that nobody else begins before it has ended.
        const kept = await this.#keepRenewing(ended.signal, acquiredAt);
        if (!kept) lost.abort();
        await work;
        this.#leading = false;
        if (kept) await this.#release();
        else logger.warn("leadership lost", { lease: this.#options.name, holder: this.holder });
    }

    /** False: the deadline passed or another holds the lease. True: the work ended while the lease was ours. */
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
            // Next time the lease is read afresh: whether this write took effect is not known.
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
        // A holder renews what it wrote last; everyone else looks first.
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
        // Only our own clock is trusted: what counts is when a renewal was seen, not what time it claims.
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
        // Not all candidates in the same moment.
        await sleep(this.#retryPeriodMs * (1 + 0.2 * Math.random()), signal, this.#clock).catch(() => undefined);
    }
}
