import { BenchError } from "../error.ts";
import { type IpamHarness, type Outcome, type Refusal } from "./harness.ts";
import { type IpamSubject } from "./subject.ts";

/** What the scenarios do with a harness. */
export type Containers = Pick<IpamHarness, "add" | "delete" | "live"> & {
    readonly subject: Pick<IpamSubject, "id" | "capacity">;
};

/** One burst: how long each ADD that was not refused took, and all together, in milliseconds. */
export interface Burst {
    readonly adds: readonly number[];
    readonly dels: readonly number[];
    readonly wallMs: number;
}

/** So many ADDs at once; when all are answered their DELs, at once too. */
export async function burst(harness: Containers, count: number): Promise<Burst> {
    const begin = performance.now();
    const outcomes = await Promise.all(Array.from({ length: count }, () => harness.add()));
    const wallMs = performance.now() - begin;
    const given = outcomes.filter((outcome) => outcome.kind === "given");
    const dels = await Promise.all(given.map(({ container }) => harness.delete(container)));
    return { adds: given.map(({ ms }) => ms), dels, wallMs };
}

export interface ChurnOptions {
    /** ADDs and DELs together. */
    readonly calls: number;
    /** So many at once. */
    readonly width: number;
    /** Containers that live at the same time, at most. */
    readonly most: number;
    readonly random: () => number;
}

/** ADDs and DELs at random; at its end no container is left. The milliseconds of the ADDs that were not refused. */
export async function churn(harness: Containers, options: ChurnOptions): Promise<readonly number[]> {
    const { calls, width, most, random } = options;
    const adds: number[] = [];
    const idle: number[] = [];
    let [left, living] = [calls, 0];
    const loop = async (): Promise<void> => {
        while (left-- > 0) {
            const at = Math.floor(random() * idle.length);
            if (living < most && (idle.length === 0 || random() < 0.5)) {
                living += 1;
                const outcome = await harness.add();
                if (outcome.kind === "refused") {
                    living -= 1;
                    continue;
                }
                adds.push(outcome.ms);
                idle.push(outcome.container);
                continue;
            }
            const [container] = idle.splice(at, 1);
            if (container === undefined) continue;
            await harness.delete(container);
            living -= 1;
        }
    };
    await Promise.all(Array.from({ length: width }, loop));
    await deleteAll(harness, width);
    return adds;
}

/** How far a pool can be emptied. */
export interface Exhaustion {
    /** Addresses that were given before the first refusal, and how long each ADD took. */
    readonly adds: readonly number[];
    /** The answer to the ADD after the last address. */
    readonly refusal: Refusal;
    readonly refusalMs: number;
}

/** ADDs until one is refused; the containers live on. */
export async function exhaust(harness: Containers, width: number): Promise<Exhaustion> {
    const adds: number[] = [];
    let isRefused = false;
    const keep = (outcome: Outcome): boolean => {
        if (outcome.kind === "given") adds.push(outcome.ms);
        return outcome.kind === "refused";
    };
    const { capacity } = harness.subject;
    const loop = async (): Promise<void> => {
        // The last ones one at a time: what is refused then is what comes after the last address.
        while (!isRefused && harness.live.length + width < capacity) if (keep(await harness.add())) isRefused = true;
    };
    await Promise.all(Array.from({ length: width }, loop));
    while (adds.length <= capacity) {
        const outcome = await harness.add();
        if (keep(outcome) && outcome.kind === "refused") {
            return { adds, refusal: outcome.refusal, refusalMs: outcome.ms };
        }
    }
    const what = `${harness.subject.id} gave more than ${capacity} addresses`;
    throw new BenchError("WRONG_RESULT", "peer", what);
}

/** The DELs of all containers; the milliseconds of each. */
export async function deleteAll(harness: Containers, width: number): Promise<readonly number[]> {
    const containers = [...harness.live];
    const times: number[] = [];
    const loop = async (): Promise<void> => {
        for (let one = containers.pop(); one !== undefined; one = containers.pop())
            times.push(await harness.delete(one));
    };
    await Promise.all(Array.from({ length: width }, loop));
    return times;
}
