import { ApiClient, KubeError, type HttpRequest, type HttpResponse, type Send } from "@antrea/kube";
import { type Clock } from "@antrea/runtime";
import { type Counters } from "../check/counters.ts";
import { type Random } from "../time/random.ts";
import { cancel, type Timer, type VirtualTime } from "../time/virtual-time.ts";
import { Refusal, type Answer } from "./answer.ts";
import { requestFaults, type RequestFault, type RequestFaults, type WatchFaults } from "./faults.ts";
import { type User } from "./rules.ts";
import { type ApiServer } from "./server.ts";
import { lineOf, type Change } from "./store.ts";

export interface LineComponents {
    readonly time: VirtualTime;
    readonly random: Random;
    readonly server: ApiServer;
    readonly counters: Counters;
    /** What happens to requests and watches just now. */
    readonly faults: () => { readonly requests: RequestFaults; readonly watches: WatchFaults };
    /** Counts a step of the simulation and tells of it. */
    readonly step: (what: () => string) => void;
}

export interface LineOptions {
    /** Of the process, for the history. */
    readonly name: string;
    readonly user: User;
    readonly clock: Clock;
}

const encoder = new TextEncoder();
const bookmarkMs = 60_000;
const stallMs = 40_000;
const lateMs = 20_000;
/** Requests that a server under load answers at last, long after whoever asked gave up. */
const veryLateMs = { from: 60_000, to: 240_000 } as const;
const veryLateShare = 0.3;

/** The network between one process and the API server, with its accidents. */
export class Line {
    readonly api: ApiClient;
    readonly #components: LineComponents;
    readonly #options: LineOptions;
    readonly #watches = new Set<Watch>();
    #isDead = false;
    #isCut = false;
    #isRefused = false;

    constructor(components: LineComponents, options: LineOptions) {
        this.#components = components;
        this.#options = options;
        const credentials = { connection: () => Promise.resolve(nowhere), refused: () => undefined };
        this.api = new ApiClient(
            { credentials, clock: options.clock, send: this.#send },
            { userAgent: `${options.name}/0` },
        );
    }

    get isDead(): boolean {
        return this.#isDead;
    }

    /** The process is killed: nothing comes back any more. What is on its way still arrives. */
    kill(): void {
        this.#isDead = true;
        for (const watch of [...this.#watches]) watch.forget();
    }

    /** From here on nothing passes, as if a cable was pulled; or it passes again. */
    cut(isCut: boolean): void {
        this.#isCut = isCut;
        for (const watch of [...this.#watches]) watch.pause(isCut);
    }

    /** The token of the process is good for nothing: 401 to all that it asks from here on; or it is good again. */
    refuse(isRefused: boolean): void {
        this.#isRefused = isRefused;
    }

    get isRefused(): boolean {
        return this.#isRefused;
    }

    /** All watches break. */
    breakWatches(): void {
        for (const watch of [...this.#watches]) watch.fail();
    }

    readonly #send: Send = (_connection, request) =>
        new Promise((resolve, reject) => {
            if (this.#isDead) return;
            const { time } = this.#components;
            const what = `${request.method} ${request.path}`;
            const write = request.method !== "GET";
            let timer: Timer | undefined;
            const settle = (act: () => void): void => {
                if (this.#isDead || timer === undefined) return;
                cancel(timer);
                timer = undefined;
                request.signal?.removeEventListener("abort", abort);
                act();
            };
            const abort = (): void => settle(() => reject(new KubeError("ABORTED", `${what} was aborted`)));
            timer = time.after(request.timeoutMs, () =>
                settle(() => {
                    const message = `${what}: no answer within ${request.timeoutMs} ms`;
                    reject(new KubeError("TIMEOUT", message, { outcomeUnknown: write }));
                }),
            );
            if (request.signal?.aborted === true) return abort();
            request.signal?.addEventListener("abort", abort, { once: true });
            const fail = (known: boolean): void =>
                settle(() =>
                    reject(
                        new KubeError("CONNECTION_FAILED", `${what}: the connection broke`, {
                            outcomeUnknown: write && !known,
                        }),
                    ),
                );
            if (request.stream === true) this.#open(request, (answer) => settle(() => resolve(answer)), fail);
            else this.#exchange(request, (answer) => settle(() => resolve(answer)), fail);
        });

    #exchange(request: HttpRequest, answer: (response: HttpResponse) => void, fail: (known: boolean) => void): void {
        const { time, random, server, counters } = this.#components;
        const { name, user } = this.#options;
        const fault = this.#isCut ? "partitioned" : this.#faultOf();
        if (fault !== undefined) counters.count(`request.${fault}`);
        const there = random.latency(0.5, 40);
        const back = random.latency(0.5, 40);
        if (fault === "partitioned") return;
        if (fault === "refused") return void time.after(there, () => fail(true));
        if (fault === "lostRequest") return void time.after(there + back, () => fail(false));
        const serves = async (): Promise<void> => {
            const busy = fault === "throttled" || (fault === "serverError" && random.chance(0.5));
            if (this.#isRefused) counters.count("request.unauthorized");
            const unserved = this.#isRefused ? unauthorized : busy ? refused(fault, random) : undefined;
            const given = unserved ?? (await server.handle(request, user));
            const said = fault === "serverError" && !busy ? refused(fault, random) : given;
            this.#components.step(
                () =>
                    `${name}: ${request.method} ${request.path} ${request.body ?? ""} -> ${told(given)}${fault === undefined ? "" : ` (${fault})`}`,
            );
            if (fault === "lateEffect") return;
            time.after(back, () => {
                this.#components.step(() => `${name}: answer of ${request.method} ${request.path}`);
                if (this.#isCut) return;
                if (fault === "lostReply") fail(false);
                else answer(responseOf(said, fault === "cutBody"));
            });
        };
        time.after(fault === "lateEffect" ? this.#lateness() : there, () => void serves());
    }

    #lateness(): number {
        const { random, counters } = this.#components;
        if (!random.chance(veryLateShare)) return random.between(0, lateMs);
        counters.count("request.lateByMinutes");
        return random.between(veryLateMs.from, veryLateMs.to);
    }

    #open(request: HttpRequest, answer: (response: HttpResponse) => void, fail: (known: boolean) => void): void {
        const { time, random } = this.#components;
        if (this.#isCut) return;
        time.after(random.latency(0.5, 40), () => {
            if (this.#isDead || request.signal?.aborted === true) return;
            if (this.#isCut) return fail(false);
            if (this.#isRefused) return answer(responseOf(unauthorized, false));
            try {
                answer(this.#watch(request));
            } catch (error) {
                if (!(error instanceof Refusal)) throw error;
                answer(responseOf({ status: error.status, body: error.body }, false));
            }
        });
    }

    #watch(request: HttpRequest): HttpResponse {
        const watch = new Watch({ ...this.#components, name: this.#options.name }, request, () =>
            this.#watches.delete(watch),
        );
        this.#watches.add(watch);
        watch.begin();
        return watch;
    }

    #faultOf(): RequestFault | undefined {
        const { requests } = this.#components.faults();
        let drawn = this.#components.random.next();
        for (const fault of requestFaults) {
            drawn -= requests[fault];
            if (drawn < 0) return fault;
        }
        return undefined;
    }
}

// Nothing is connected to.
const nowhere = { server: new URL("https://simulated:6443"), headers: {} } as Awaited<
    ReturnType<ConstructorParameters<typeof ApiClient>[0]["credentials"]["connection"]>
>;

type WatchComponents = LineComponents & { readonly name: string };

/** The answer to a watch: lines come late and in order, until it ends or breaks. */
class Watch implements HttpResponse {
    readonly statusCode = 200;
    readonly headers = {};
    complete = false;
    readonly #components: WatchComponents;
    readonly #path: string;
    readonly #closed: () => void;
    readonly #start: ReturnType<ApiServer["watchOf"]>;
    readonly #tell: (change: Change) => void;
    #listener: Disposable | undefined;
    readonly #timers = new Set<Timer>();
    readonly #lines: string[] = [];
    readonly #signal: AbortSignal | undefined;
    #wake: (() => void) | undefined;
    #end: "open" | "ended" | "failed" | "forgotten" = "open";
    #isPaused = false;
    /** When the last line is to be there; none overtakes it. */
    #busyUntil = 0;

    constructor(components: WatchComponents, request: HttpRequest, closed: () => void) {
        this.#components = components;
        this.#path = request.path.split("?")[0] ?? "";
        this.#closed = closed;
        this.#signal = request.signal;
        this.#start = components.server.watchOf(request.path);
        const { kind, matches } = this.#start;
        this.#tell = (change) => {
            const line = change.kind === kind ? lineOf(change, matches) : undefined;
            if (line !== undefined) this.#deliver(line);
        };
    }

    /** Tells what came after the version that the watch begins with, and from then on each change. */
    begin(): void {
        const { server, counters, random, faults } = this.#components;
        const { kind, version, timeoutMs } = this.#start;
        this.#listener = server.store.onChange(this.#tell);
        this.#signal?.addEventListener("abort", this.fail, { once: true });
        const expired = random.chance(faults().watches.expired);
        const missed = expired ? undefined : server.store.since(kind, version);
        if (missed === undefined) {
            counters.count("watch.expired");
            const status = new Refusal(410, "too old resource version", "Expired");
            this.#deliver(`{"type":"ERROR","object":${status.body}}\n`);
            return;
        }
        for (const change of missed) this.#tell(change);
        this.#later(timeoutMs, () => this.#finish("ended"));
        this.#bookmark();
    }

    /** The process is gone. */
    forget(): void {
        this.#finish("forgotten");
    }

    readonly fail = (): void => {
        this.#finish("failed");
    };

    destroy(): void {
        this.fail();
    }

    /** Nothing comes through; what was on its way comes after. */
    pause(isPaused: boolean): void {
        this.#isPaused = isPaused;
        if (!isPaused) this.#wake?.();
    }

    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
        try {
            for (;;) {
                const line = this.#isPaused ? undefined : this.#lines.shift();
                if (line !== undefined) {
                    yield encoder.encode(line);
                    continue;
                }
                if (this.#end === "ended") {
                    this.complete = true;
                    return;
                }
                if (this.#end === "failed") {
                    throw new KubeError(
                        this.#signal?.aborted === true ? "ABORTED" : "CONNECTION_FAILED",
                        "the watch broke",
                    );
                }
                await new Promise<void>((resolve) => (this.#wake = resolve));
            }
        } finally {
            this.#finish("failed");
        }
    }

    #deliver(line: string): void {
        const { time, random, counters, faults, step, name } = this.#components;
        if (this.#end !== "open") return;
        const { watches } = faults();
        if (random.chance(watches.broken)) {
            counters.count("watch.broken");
            return this.fail();
        }
        let delay = random.latency(0.5, 60);
        if (random.chance(watches.stalled)) {
            counters.count("watch.stalled");
            delay += random.between(1_000, stallMs);
        }
        this.#busyUntil = Math.max(this.#busyUntil, time.now + delay);
        this.#at(this.#busyUntil, () => {
            step(() => `${name}: watch ${this.#path}: ${line.trimEnd()}`);
            this.#lines.push(line);
            this.#wake?.();
        });
    }

    #bookmark(): void {
        this.#later(bookmarkMs, () => {
            const { server } = this.#components;
            const metadata = `{"resourceVersion":"${server.store.version}"}`;
            const head = `"kind":"${this.#start.kind.resource.kind}","apiVersion":"${this.#start.kind.apiVersion}"`;
            this.#deliver(`{"type":"BOOKMARK","object":{${head},"metadata":${metadata}}}\n`);
            this.#bookmark();
        });
    }

    #later(ms: number, callback: () => void): void {
        this.#at(this.#components.time.now + ms, callback);
    }

    #at(at: number, callback: () => void): void {
        const timer = this.#components.time.at(at, () => {
            this.#timers.delete(timer);
            callback();
        });
        this.#timers.add(timer);
    }

    #finish(end: "ended" | "failed" | "forgotten"): void {
        if (this.#end !== "open") return;
        this.#end = end;
        this.#listener?.[Symbol.dispose]();
        this.#signal?.removeEventListener("abort", this.fail);
        for (const timer of this.#timers) cancel(timer);
        this.#timers.clear();
        this.#closed();
        if (end !== "forgotten") this.#wake?.();
    }
}

function responseOf({ status, body, retryAfterSeconds }: Answer, isCut: boolean): HttpResponse {
    const response = {
        statusCode: status,
        headers: retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) },
        complete: false,
        destroy: () => undefined,
        async *[Symbol.asyncIterator]() {
            if (isCut) return;
            yield await Promise.resolve(encoder.encode(body));
            response.complete = true;
        },
    };
    return response;
}

const unauthorized: Answer = { status: 401, body: new Refusal(401, "Unauthorized").body };

function refused(fault: "throttled" | "serverError", random: Random): Answer {
    const status = fault === "throttled" ? 429 : (random.pick([500, 503, 504]) ?? 500);
    const answer = { status, body: new Refusal(status, "simulated").body };
    return fault === "throttled" ? { ...answer, retryAfterSeconds: 1 } : answer;
}

function told({ status, body }: Answer): string {
    return status >= 300 ? `${status} ${(JSON.parse(body) as { readonly message: string }).message}` : String(status);
}
