import { KubeError, type HttpRequest, type HttpResponse } from "@antrea/kube";
import { cancel, type Timer } from "../time/virtual-time.ts";
import { Refusal } from "./answer.ts";
import { type TransportComponents } from "./transport-components.ts";
import { type ApiServer } from "./server.ts";
import { lineOf, type Change } from "./store.ts";

const encoder = new TextEncoder();
const bookmarkMs = 60_000;
const stallMs = 40_000;

export type WatchComponents = TransportComponents & { readonly name: string };

/** The response to a watch: lines arrive delayed and in order, until it ends or breaks. */
export class Watch implements HttpResponse {
    readonly statusCode = 200;
    readonly headers = {};
    complete = false;
    readonly #components: WatchComponents;
    readonly #path: string;
    readonly #closed: () => void;
    readonly #start: ReturnType<ApiServer["watchOf"]>;
    readonly #onChange: (change: Change) => void;
    #listener: Disposable | undefined;
    #count: Disposable | undefined;
    readonly #timers = new Set<Timer>();
    readonly #lines: string[] = [];
    readonly #signal: AbortSignal | undefined;
    #wake: (() => void) | undefined;
    #end: "open" | "ended" | "failed" | "forgotten" = "open";
    #isPaused = false;
    /** Arrival time of the last line; later lines arrive after it. */
    #busyUntil = 0;

    constructor(components: WatchComponents, request: HttpRequest, closed: () => void) {
        this.#components = components;
        this.#path = request.path.split("?")[0] ?? "";
        this.#closed = closed;
        this.#signal = request.signal;
        this.#start = components.server.watchOf(request.path);
        const { kind, matches } = this.#start;
        this.#onChange = (change) => {
            const line = change.kind === kind ? lineOf(change, matches) : undefined;
            if (line !== undefined) this.#deliver(line);
        };
    }

    /** Delivers the changes after the start version, and then each change. */
    begin(): void {
        const { server, flows, counters, random, faults } = this.#components;
        const { kind, version, timeoutMs } = this.#start;
        this.#listener = server.store.onChange(this.#onChange);
        this.#count = flows.watching(kind);
        this.#signal?.addEventListener("abort", this.fail, { once: true });
        const expired = random.chance(faults().watches.expired);
        const missed = expired ? undefined : server.store.since(kind, version);
        if (missed === undefined) {
            counters.count("watch.expired");
            const status = new Refusal(410, "too old resource version", "Expired");
            this.#deliver(`{"type":"ERROR","object":${status.body}}\n`);
            return;
        }
        for (const change of missed) this.#onChange(change);
        this.#later(timeoutMs, () => this.#finish("ended"));
        this.#bookmark();
    }

    /** The process has ended. */
    forget(): void {
        this.#finish("forgotten");
    }

    readonly fail = (): void => {
        this.#finish("failed");
    };

    destroy(): void {
        this.fail();
    }

    /** Holds back all lines; they are delivered when the pause ends. */
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
        this.#count?.[Symbol.dispose]();
        this.#signal?.removeEventListener("abort", this.fail);
        for (const timer of this.#timers) cancel(timer);
        this.#timers.clear();
        this.#closed();
        if (end !== "forgotten") this.#wake?.();
    }
}
