import type { Possible } from "./difference.ts";

/** A doubt as it stood at one moment, with its owner. */
export type Doubt = readonly [owner: string, possible: Possible];

/**
 * What OVS may have of owners, desired or not, because a change of them is in progress or failed. A doubt is replaced,
 * never modified, so that identity shows whether the owner has changed since.
 */
export class Doubts {
    readonly #doubts = new Map<string, Possible>();
    /** By owner: number of calls waiting for OVS. */
    readonly #underWay = new Map<string, number>();

    /** Replays, repairs, what reverts refused changes, and bundles without an answer. */
    #begun = 0;
    #ended = 0;

    /** A moment, for `isUncertainSince`. */
    get moment(): number {
        return this.#ended;
    }

    /** Runs what sends the table's state: a replay, a repair, or what reverts a refused change. Settles as it does. */
    async restoring<T>(work: () => Promise<T>): Promise<T> {
        this.#begun += 1;
        try {
            return await work();
        } finally {
            this.#ended += 1;
        }
    }

    /** A bundle got no answer, and is sent again. */
    noAnswer(): void {
        this.#begun += 1;
        this.#ended += 1;
    }

    /**
     * Whether OVS may have a change that began at this moment although it refused it since: as sent by a replay or
     * repair, by what reverts another change, or by a bundle that got no answer.
     */
    isUncertainSince(moment: number): boolean {
        return this.#begun > moment;
    }

    /** Number of owners in doubt. */
    get size(): number {
        return this.#doubts.size;
    }

    /** What OVS may have of the owner; undefined if it has exactly what is desired. */
    get(owner: string): Possible | undefined {
        return this.#doubts.get(owner);
    }

    /** Sets what OVS may have of the owner; undefined ends the doubt. */
    set(owner: string, possible: Possible | undefined): void {
        if (possible === undefined) this.#doubts.delete(owner);
        else this.#doubts.set(owner, possible);
    }

    /** Runs `work` while these owners count as waiting for OVS. Settles as it does. */
    async during(owners: readonly string[], work: () => Promise<void>): Promise<void> {
        for (const owner of owners) this.#underWay.set(owner, (this.#underWay.get(owner) ?? 0) + 1);
        try {
            await work();
        } finally {
            for (const owner of owners) {
                const left = (this.#underWay.get(owner) ?? 1) - 1;
                if (left === 0) this.#underWay.delete(owner);
                else this.#underWay.set(owner, left);
            }
        }
    }

    /** Whether a call for the owner waits for OVS. */
    isUnderWay(owner: string): boolean {
        return this.#underWay.has(owner);
    }

    /** All doubts. */
    all(): readonly Doubt[] {
        return [...this.#doubts];
    }

    /** Doubts that no call in progress will settle: everything sent before has completed. */
    quiet(): readonly Doubt[] {
        return this.all().filter(([owner]) => !this.#underWay.has(owner));
    }

    /**
     * Ends doubts, unless their owners have changed since: OVS has exactly what is desired of them, and a later change
     * must not delete flows that another owner added since. Returns those that ended.
     */
    settle(doubts: readonly Doubt[]): readonly Doubt[] {
        const ended = doubts.filter(([owner, possible]) => this.#doubts.get(owner) === possible);
        for (const [owner] of ended) this.#doubts.delete(owner);
        return ended;
    }
}
