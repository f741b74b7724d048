import { type Clock } from "@antrea/async";
import { ApiClient, KubeError, type HttpRequest, type HttpResponse, type Send } from "@antrea/kube";
import { type Random } from "../time/random.ts";
import { cancel, type Timer } from "../time/virtual-time.ts";
import { Refusal, type Answer } from "./answer.ts";
import { requestFaults, type RequestFault } from "./faults.ts";
import { type TransportComponents } from "./transport-components.ts";
import { type User } from "./rules.ts";
import { Watch } from "./watch.ts";

export interface TransportOptions {
    /** Of the process, for the history. */
    readonly name: string;
    readonly user: User;
    readonly clock: Clock;
}

/** The client that waits for the response to a request. */
interface Sender {
    readonly answer: (response: HttpResponse) => void;
    /** The connection breaks; `known`: the request certainly did not take effect. */
    readonly fail: (known: boolean) => void;
    /** Whether it still waits, as far as the API server can know. */
    readonly isThere: () => boolean;
}

const encoder = new TextEncoder();
const lateMs = 20_000;
/** Requests that an overloaded server executes long after the client gave up. */
const veryLateMs = { from: 60_000, to: 240_000 } as const;
const veryLateShare = 0.3;

/** The transport between one process and the API server, with its faults. */
export class Transport {
    readonly api: ApiClient;
    readonly #components: TransportComponents;
    readonly #options: TransportOptions;
    readonly #watches = new Set<Watch>();
    #isDead = false;
    #isCut = false;
    #isRefused = false;

    constructor(components: TransportComponents, options: TransportOptions) {
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

    /** The process is killed: it receives nothing more. Requests in transit still arrive. */
    kill(): void {
        this.#isDead = true;
        for (const watch of [...this.#watches]) watch.forget();
    }

    /** Partitions the process, or ends the partition. */
    cut(isCut: boolean): void {
        this.#isCut = isCut;
        for (const watch of [...this.#watches]) watch.pause(isCut);
    }

    /** Makes the token of the process invalid, so that all requests get 401, or valid again. */
    refuse(isRefused: boolean): void {
        this.#isRefused = isRefused;
    }

    get isRefused(): boolean {
        return this.#isRefused;
    }

    /** Breaks all watches. */
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
            const sender: Sender = {
                answer: (answer) => settle(() => resolve(answer)),
                fail,
                // The API server does not detect a partition.
                isThere: () => this.#isCut || (!this.#isDead && timer !== undefined),
            };
            if (request.stream === true) this.#open(request, sender);
            else this.#exchange(request, sender);
        });

    #exchange(request: HttpRequest, { answer, fail, isThere }: Sender): void {
        const { time, random, counters } = this.#components;
        const { name } = this.#options;
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
            const given = unserved ?? (await this.#serve(request, () => fault === "lateEffect" || isThere()));
            if (given === undefined) return;
            const sent = fault === "serverError" && !busy ? refused(fault, random) : given;
            this.#components.step(
                () =>
                    `${name}: ${request.method} ${request.path} ${request.body ?? ""} -> ${statusText(given)}${fault === undefined ? "" : ` (${fault})`}`,
            );
            if (fault === "lateEffect") return;
            time.after(back, () => {
                this.#components.step(() => `${name}: answer of ${request.method} ${request.path}`);
                if (this.#isCut) return;
                if (fault === "lostReply") fail(false);
                else answer(responseOf(sent, fault === "cutBody"));
            });
        };
        time.after(fault === "lateEffect" ? this.#lateness() : there, () => void serves());
    }

    /** Undefined: the client gave up before the request was executed. */
    async #serve(request: HttpRequest, isThere: () => boolean): Promise<Answer | undefined> {
        const { time, server, flows } = this.#components;
        const { user } = this.#options;
        const admitted = await flows.admit(user.name, request, isThere);
        if (admitted.outcome === "abandoned") return undefined;
        if (admitted.outcome === "rejected") return tooManyRequests;
        const given = await server.handle(request, user);
        await time.sleep(admitted.workMs);
        admitted.leave();
        return given;
    }

    #lateness(): number {
        const { random, counters } = this.#components;
        if (!random.chance(veryLateShare)) return random.between(0, lateMs);
        counters.count("request.lateByMinutes");
        return random.between(veryLateMs.from, veryLateMs.to);
    }

    #open(request: HttpRequest, { answer, fail, isThere }: Sender): void {
        const { time, random, flows } = this.#components;
        if (this.#isCut) return;
        const opens = async (): Promise<void> => {
            if (this.#isDead || request.signal?.aborted === true) return;
            if (this.#isCut) return fail(false);
            if (this.#isRefused) return answer(responseOf(unauthorized, false));
            const admitted = await flows.admit(this.#options.user.name, request, isThere);
            if (admitted.outcome === "rejected") return answer(responseOf(tooManyRequests, false));
            if (admitted.outcome === "abandoned") return;
            // It holds its seat until the watch has started.
            time.after(admitted.workMs, () => admitted.leave());
            if (!isThere()) return;
            if (this.#isCut) return fail(false);
            try {
                answer(this.#watch(request));
            } catch (error) {
                if (!(error instanceof Refusal)) throw error;
                answer(responseOf({ status: error.status, body: error.body }, false));
            }
        };
        time.after(random.latency(0.5, 40), () => void opens());
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

// No connection is made.
const nowhere = { server: new URL("https://simulated:6443"), headers: {} } as Awaited<
    ReturnType<ConstructorParameters<typeof ApiClient>[0]["credentials"]["connection"]>
>;

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

const tooManyRequests: Answer = {
    status: 429,
    body: new Refusal(429, "too many requests, please try again later").body,
    retryAfterSeconds: 1,
};
const unauthorized: Answer = { status: 401, body: new Refusal(401, "Unauthorized").body };

function refused(fault: "throttled" | "serverError", random: Random): Answer {
    const status = fault === "throttled" ? 429 : (random.pick([500, 503, 504]) ?? 500);
    const answer = { status, body: new Refusal(status, "simulated").body };
    return fault === "throttled" ? { ...answer, retryAfterSeconds: 1 } : answer;
}

function statusText({ status, body }: Answer): string {
    return status >= 300 ? `${status} ${(JSON.parse(body) as { readonly message: string }).message}` : String(status);
}
