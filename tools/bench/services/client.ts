// A client of Services in a network namespace: tries again until it is answered, and reports when that was.
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { BenchError } from "../error.ts";
import { serveBench } from "../helper.ts";

/** A connection without an answer after this time is given up for another one: the kernel would wait a second. */
const answerMs = 100;
const pauseMs = 1;
/** The kernel has sent a lost packet again by then. */
const failedMs = 5_000;

export interface AnswersInput {
    readonly addresses: readonly string[];
    readonly port: number;
    readonly limitMs: number;
}

/** Connects to one address after the other until each has answered; the time of the last answer in ms since 1970. */
async function answers({ addresses, port, limitMs }: AnswersInput): Promise<number> {
    const end = performance.now() + limitMs;
    for (const address of addresses) {
        while ((await answerOf(address, port)) === undefined) {
            if (performance.now() > end) {
                throw new BenchError("NOT_READY", "environment", `nobody answered at ${address}:${port}`);
            }
            await sleep(pauseMs);
        }
    }
    return now();
}

export interface AnswerInput {
    readonly address: string;
    readonly port: number;
    /** The endpoint that is to answer. */
    readonly from: string;
    readonly limitMs: number;
}

/** Connects to an address until this endpoint answers; the time of its answer in milliseconds since 1970. */
async function answerFrom({ address, port, from, limitMs }: AnswerInput): Promise<number> {
    const end = performance.now() + limitMs;
    while ((await answerOf(address, port)) !== from) {
        if (performance.now() > end) {
            throw new BenchError("NOT_READY", "environment", `${from} did not answer at ${address}:${port}`);
        }
        await sleep(pauseMs);
    }
    return now();
}

/** What a client has met that connects all the time. */
export interface Connections {
    readonly answered: number;
    readonly failed: number;
    /** Milliseconds that the slowest answer took. */
    readonly slowestMs: number;
}

interface Connecting {
    readonly abort: AbortController;
    readonly done: Promise<Connections>;
}

let connecting: Connecting | undefined;

/** Begins to connect to the addresses in turn, one connection at a time, until `stopConnecting`. */
function startConnecting(input: Pick<AnswersInput, "addresses" | "port">): void {
    const abort = new AbortController();
    connecting = { abort, done: connectAllTheTime(input, abort.signal) };
}

async function stopConnecting(): Promise<Connections> {
    const { abort, done } = connecting as Connecting; // "startConnecting" comes first
    abort.abort();
    return done;
}

async function connectAllTheTime(
    { addresses, port }: Pick<AnswersInput, "addresses" | "port">,
    signal: AbortSignal,
): Promise<Connections> {
    let [answered, failed, slowestMs] = [0, 0, 0];
    for (let at = 0; !signal.aborted; at++) {
        const begin = performance.now();
        const text = await answerOf(addresses[at % addresses.length] ?? "", port, failedMs);
        if (text === undefined) failed += 1;
        else answered += 1;
        slowestMs = Math.max(slowestMs, performance.now() - begin);
        await sleep(pauseMs);
    }
    return { answered, failed, slowestMs };
}

function now(): number {
    return performance.timeOrigin + performance.now();
}

/** What one connection hears until it is closed; undefined: that was not in time, or it was refused or reset. */
async function answerOf(host: string, port: number, limitMs = answerMs): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const socket = connect({ host, port });
    let [text, isComplete] = ["", false];
    const timer = setTimeout(() => socket.destroy(), limitMs);
    socket.setEncoding("utf8");
    socket.on("data", (part: string) => (text += part));
    socket.on("end", () => (isComplete = true));
    socket.on("error", () => undefined); // "close" follows
    socket.on("close", () => {
        clearTimeout(timer);
        resolve(isComplete && text !== "" ? text : undefined);
    });
    return promise;
}

serveBench({ answers, answerFrom, startConnecting, stopConnecting });
