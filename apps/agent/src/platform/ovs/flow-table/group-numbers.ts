import { AntreaError } from "@antrea/errors";

/** Rounds modulo this give ids up to 0xffefffff, below the largest that OpenFlow allows. */
const roundsWithIds = 4_095;
const numbersPerRound = 2 ** 20;
/** The upper half of the numbers is for groups that OVS cannot describe. */
const half = numbersPerRound / 2;
/**
 * Buckets above which a group counts as one that OVS cannot describe: its description of a group has at most 64 KiB, and
 * OVS ends the connection of who asks for a larger one. It holds 256 buckets of up to 250 bytes.
 */
const maxDescribedBuckets = 256;

/** - `NO_NUMBER`: 524,287 groups of one kind exist, so that no number is free for another one */
class GroupNumbersError extends AntreaError<"NO_NUMBER"> {}

/**
 * The id in OVS of the group with this number (1 to 2^20-1) in a round: (round modulo 4,095) × 2^20 + number, so that
 * groups of successive starts of the agent exist beside each other.
 */
export function groupIdOf(round: number, number: number): number {
    return (round % roundsWithIds) * numbersPerRound + number;
}

/** Whether a group with this id in OVS can be of this round. */
export function isOfRound(id: number, round: number): boolean {
    return Math.floor(id / numbersPerRound) === round % roundsWithIds;
}

/** Whether OVS can describe the group with this id; see `GroupNumbers.take`. */
export function canDescribe(id: number): boolean {
    return id % numbersPerRound < half;
}

/**
 * The numbers of the groups of one round, by object ID of their owner and their id in the owner. A number is taken until
 * it is freed, and then not reused before all others were.
 */
export class GroupNumbers {
    readonly #numbers = new Map<number, number>();
    readonly #keys = new Map<number, number>();
    #last = { described: 0, large: 0 };

    /**
     * The number (1 to 2^20-1) for a group with this id (0 to 2^20-1) of an owner, the same one at each call until it is
     * freed. A group of more than 256 buckets gets one of the upper half, and another one when it shrinks. Throws
     * GroupNumbersError `NO_NUMBER`.
     */
    take(objectId: number, { id, buckets }: { readonly id: number; readonly buckets: readonly unknown[] }): number {
        const isLarge = buckets.length > maxDescribedBuckets;
        // 32 bits of the object, 20 of the group and 1: as many as a number holds exactly.
        const key = (objectId * numbersPerRound + id) * 2 + (isLarge ? 1 : 0);
        const known = this.#numbers.get(key);
        if (known !== undefined) return known;
        const number = this.#next(isLarge);
        this.#numbers.set(key, number);
        this.#keys.set(number, key);
        return number;
    }

    /** Frees the number of an id of which OVS has no group; no effect if it is free already. */
    free(id: number): void {
        const number = id % numbersPerRound;
        const key = this.#keys.get(number);
        if (key === undefined) return;
        this.#keys.delete(number);
        this.#numbers.delete(key);
    }

    #next(isLarge: boolean): number {
        const kind = isLarge ? "large" : "described";
        const base = isLarge ? half : 0;
        for (let tries = 1; tries < half; tries += 1) {
            this.#last[kind] = (this.#last[kind] % (half - 1)) + 1;
            const number = base + this.#last[kind];
            if (!this.#keys.has(number)) return number;
        }
        throw new GroupNumbersError("NO_NUMBER", "internal", `all ${half - 1} numbers of groups in OVS are in use`);
    }
}
