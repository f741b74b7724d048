import { BenchError } from "../error.ts";
import { type IpamHarness, type Outcome, type Refusal } from "./harness.ts";
import { type IpamSubject } from "./subject.ts";

/** The part of a harness that scenarios use. */
export type Containers = Pick<IpamHarness, "add" | "delete" | "live"> & {
    readonly subject: Pick<IpamSubject, "id" | "capacity">;
};

/** One burst: the duration of each successful ADD, and of all together, in milliseconds. */
export interface Burst {
    readonly adds: readonly number[];
    readonly dels: readonly number[];
    readonly wallMs: number;
}

/** So many concurrent ADDs; when all are answered, their concurrent DELs. */
export async function burst(harness: Containers, count: number): Promise<Burst> {
    const begin = performance.now();
    const outcomes = await Promise.all(Array.from({ length: count }, () => harness.add()));
    const wallMs = performance.now() - begin;
    const given = outcomes.filter((outcome) => outcome.kind === "given");
    const dels = await Promise.all(given.map(({ container }) => harness.delete(container)));
    return { adds: given.map(({ ms }) => ms), dels, wallMs };
}

export interface ChurnOptions {
    /** Total of ADDs and DELs. */
    readonly calls: number;
    /** Concurrent calls. */
    readonly width: number;
    /** Maximum number of live containers. */
    readonly most: number;
    readonly random: () => number;
}

/** Random ADDs and DELs until no container is left. Returns the milliseconds of the successful ADDs. */
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

/** How far a pool can be used. */
export interface Exhaustion {
    /** Milliseconds of the ADDs before the first failure, one per assigned address. */
    readonly adds: readonly number[];
    /** The answer to the ADD after the last address. */
    readonly refusal: Refusal;
    readonly refusalMs: number;
}

/** ADDs until one fails; the containers stay. */
export async function exhaust(harness: Containers, width: number): Promise<Exhaustion> {
    const adds: number[] = [];
    let isRefused = false;
    const keep = (outcome: Outcome): boolean => {
        if (outcome.kind === "given") adds.push(outcome.ms);
        return outcome.kind === "refused";
    };
    const { capacity } = harness.subject;
    const loop = async (): Promise<void> => {
        // The last ones one at a time: the failure is then that of the ADD after the last address.
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
    throw new BenchError("WRONG_RESULT", "remote", what);
}

/** The DELs of all containers; returns the milliseconds of each. */
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
