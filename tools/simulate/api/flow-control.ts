import { type Counters } from "../check/counters.ts";
import { type Random } from "../time/random.ts";
import { cancel, type Timer, type VirtualTime } from "../time/virtual-time.ts";
import { type Kind } from "./kinds.ts";
import { type FlowShape, type PriorityLevel } from "./priority-levels.ts";
import { target, type ApiRequest } from "./server.ts";
import { type Store } from "./store.ts";

export interface FlowControlComponents {
    readonly time: VirtualTime;
    readonly random: Random;
    readonly counters: Counters;
    readonly store: Store;
}

/** The result of requesting seats. */
export type Admitted =
    | {
          readonly outcome: "seated";
          /** How long the API server executes it before it responds. */
          readonly workMs: number;
          /** Called with the response: the seats are free once the watches have been notified, too. */
          readonly leave: () => void;
      }
    /** 429 with Retry-After. */
    | { readonly outcome: "rejected" }
    /** The client gave up before the request was dispatched. */
    | { readonly outcome: "abandoned" };

interface Work {
    /** Seats during execution and after the response. */
    readonly width: number;
    readonly workMs: number;
    readonly afterMs: number;
}

interface Waiting {
    readonly work: Work;
    readonly isAwaited: () => boolean;
    readonly settle: (admitted: Admitted) => void;
    /** The queue timeout; undefined if it was never queued. */
    limit: Timer | undefined;
}

// As in kube-apiserver.
const maxWidth = 10;
const watchesPerSeat = 10;
const msPerEvent = 5;
const objectsPerSeat = 100;
const waitLimitMs = 15_000;

/**
 * API Priority and Fairness, for the users that the chart has levels for; all others have unlimited seats. A request
 * takes seats of its user's level, waits for them in the shortest queue of its user's hand, and is rejected if that
 * is full or after 15 s. A LIST takes a seat for each 100 objects of its kind; a write one for each ten watches of
 * its kind, for 5 ms after the response; no request more than ten.
 */
export class FlowControl {
    readonly #components: FlowControlComponents;
    readonly #scale: number;
    readonly #levels: readonly Level[];
    readonly #watches = new Map<Kind, number>();

    constructor(components: FlowControlComponents, shape: FlowShape) {
        this.#components = components;
        this.#scale = shape.scale;
        this.#levels = shape.levels.map((level) => new Level(components, level));
    }

    /** `isAwaited`: whether the client still waits for the response. Settles within 15 s. */
    admit(user: string, request: ApiRequest, isAwaited: () => boolean): Promise<Admitted> {
        const level = this.#levels.find(({ users }) => users.includes(user));
        const work = this.#workOf(request);
        if (level === undefined) {
            return Promise.resolve({ outcome: "seated", workMs: 0, leave: () => undefined });
        }
        return level.admit(user, work, isAwaited);
    }

    /** Counts an open watch of the kind until disposed of. */
    watching(kind: Kind): Disposable {
        this.#watches.set(kind, (this.#watches.get(kind) ?? 0) + 1);
        return { [Symbol.dispose]: () => void this.#watches.set(kind, (this.#watches.get(kind) ?? 1) - 1) };
    }

    /** A client with the token of an Antrea program sends so many slow requests at once. */
    flood(count: number): void {
        const { random } = this.#components;
        const level = random.pick(this.#levels);
        const user = random.pick(level?.users ?? []) ?? "";
        for (let left = count; left > 0; left -= 1) {
            const work = { width: 1 + random.below(maxWidth), workMs: random.between(50, 1_500), afterMs: 0 };
            void level
                ?.admit(user, work, () => true)
                .then((admitted) => {
                    if (admitted.outcome === "seated")
                        this.#components.time.after(admitted.workMs, () => admitted.leave());
                });
        }
    }

    #workOf({ method, path }: ApiRequest): Work {
        const { random, store } = this.#components;
        const { kind, name } = target(path);
        const workMs = random.latency(1, 30);
        if (method === "GET") {
            const objects = name === "" && !path.includes("watch=") ? [...store.all(kind)].length * this.#scale : 0;
            const width = Math.min(Math.max(Math.ceil(objects / objectsPerSeat), 1), maxWidth);
            return { width, workMs: workMs * width, afterMs: 0 };
        }
        const watches = (this.#watches.get(kind) ?? 0) * this.#scale;
        if (watches < watchesPerSeat) return { width: 1, workMs, afterMs: 0 };
        const seats = Math.ceil(watches / watchesPerSeat);
        const width = Math.min(seats, maxWidth);
        return { width, workMs, afterMs: (msPerEvent * seats) / width };
    }
}

/** The seats and queues of one priority level. */
class Level {
    readonly #components: FlowControlComponents;
    readonly #level: PriorityLevel;
    readonly #queues: readonly Waiting[][];
    #inUse = 0;
    /** The queue to dispatch from next. */
    #turn = 0;

    constructor(components: FlowControlComponents, level: PriorityLevel) {
        this.#components = components;
        this.#level = level;
        this.#queues = Array.from({ length: level.queues }, () => []);
    }

    get users(): readonly string[] {
        return this.#level.users;
    }

    admit(user: string, work: Work, isAwaited: () => boolean): Promise<Admitted> {
        const { time, counters } = this.#components;
        return new Promise((settle) => {
            const [queue = []] = this.#handOf(user).toSorted((one, other) => one.length - other.length);
            if (queue.length >= this.#level.queueLengthLimit) {
                counters.count("flow.rejected");
                return settle({ outcome: "rejected" });
            }
            const waiting: Waiting = { work, isAwaited, settle, limit: undefined };
            queue.push(waiting);
            this.#dispatch();
            if (!queue.includes(waiting)) return;
            counters.count("flow.waited");
            if (work.width > 1) counters.count("flow.waitedWide");
            waiting.limit = time.after(waitLimitMs, () => {
                queue.splice(queue.indexOf(waiting), 1);
                counters.count("flow.waitedTooLong");
                settle({ outcome: "rejected" });
            });
        });
    }

    /** The queues of a user, always the same ones. */
    #handOf(user: string): readonly Waiting[][] {
        const { handSize } = this.#level;
        const first = this.users.indexOf(user) * handSize;
        return Array.from({ length: handSize }, (_, at) => this.#queues[(first + at) % this.#queues.length] ?? []);
    }

    /** Dispatches round robin while the next request gets its seats. */
    #dispatch(): void {
        for (;;) {
            const order = this.#queues.map((_, at) => (this.#turn + at) % this.#queues.length);
            const at = order.find((index) => (this.#queues[index] ?? []).length > 0);
            const next = at === undefined ? undefined : this.#queues[at]?.[0];
            if (at === undefined || next === undefined) return;
            // A request that was never queued is executed even if its client gives up.
            const isOver = next.limit !== undefined && !next.isAwaited();
            if (!isOver && !this.#hasSeats(next.work.width)) return;
            this.#queues[at]?.shift();
            if (next.limit !== undefined) cancel(next.limit);
            this.#turn = (at + 1) % this.#queues.length;
            if (isOver) {
                this.#components.counters.count("flow.abandoned");
                next.settle({ outcome: "abandoned" });
                continue;
            }
            this.#seat(next);
        }
    }

    /** A request wider than the level takes the whole level. */
    #hasSeats(width: number): boolean {
        return this.#inUse === 0 || this.#inUse + width <= this.#level.seats;
    }

    #seat({ work, settle }: Waiting): void {
        const { width, workMs, afterMs } = work;
        this.#inUse += width;
        const leave = (): void => {
            this.#components.time.after(afterMs, () => {
                this.#inUse -= width;
                this.#dispatch();
            });
        };
        settle({ outcome: "seated", workMs, leave });
    }
}
