import type { Clock } from "@antrea/async";

/** Whether changes of Services get into OVS. */
export interface SyncState {
    /** Milliseconds for which the oldest change has been waiting; undefined: none is. */
    readonly waitingMs: number | undefined;
    /** When OVS got a change last, in milliseconds since 1970; undefined: not yet. */
    readonly syncedAt: number | undefined;
}

/** Measures how long changes of Services wait to get into OVS. */
export class SyncHealth {
    readonly #clock: Clock;
    /** By Service: since when, in monotonic milliseconds. */
    readonly #waiting = new Map<string, number>();
    readonly #underWay = new Map<string, number>();
    #syncedAt: number | undefined;

    constructor({ clock }: { readonly clock: Clock }) {
        this.#clock = clock;
    }

    /** The state now; takes as long as there are changes. */
    get state(): SyncState {
        let oldest: number | undefined;
        for (const since of [...this.#waiting.values(), ...this.#underWay.values()])
            if (oldest === undefined || since < oldest) oldest = since;
        const waitingMs = oldest === undefined ? undefined : this.#clock.monotonic() - oldest;
        return { waitingMs, syncedAt: this.#syncedAt };
    }

    /** A Service has changed. */
    changed(key: string): void {
        if (!this.#waiting.has(key)) this.#waiting.set(key, this.#clock.monotonic());
    }

    /** The change of a Service is being sent. */
    begin(key: string): void {
        this.#underWay.set(key, this.#waiting.get(key) ?? this.#clock.monotonic());
        this.#waiting.delete(key);
    }

    /** OVS has the change, unless the Service changed meanwhile. */
    done(key: string): void {
        this.#underWay.delete(key);
        this.#syncedAt = this.#clock.now();
    }

    /** OVS does not have the change, which will be sent again. */
    failed(key: string): void {
        const since = this.#underWay.get(key);
        this.#underWay.delete(key);
        if (since !== undefined) this.#waiting.set(key, since);
    }
}
