// One end of the load between two Pods, in the network namespace of its Pod: one-byte requests and their answers.
import { BenchError } from "../error.ts";
import { serveBench } from "../helper.ts";
import { socketAddress, tcp } from "./sockets.ts";

const warmUpMs = 100;
/** Marks the last request. */
const last = 0xff;
let listener: number | undefined;

function listen({ port }: { readonly port: number }): void {
    listener = tcp.listen(port);
}

/** Answers on one connection after the other until the last request; returns the number of answers. */
function answer(): number {
    const bytes = new Uint8Array(1);
    for (let answered = 0; ;) {
        const fd = tcp.accept(listener ?? -1);
        let isLast = false;
        while (tcp.receive(fd, bytes) > 0) {
            isLast = bytes[0] === last;
            tcp.send(fd, bytes);
            answered++;
        }
        tcp.close(fd);
        if (isLast) return answered;
    }
}

interface Run {
    readonly ip: string;
    readonly port: number;
    readonly ms: number;
}

/** Requests per second on one connection, one at a time. */
function requests({ ip, port, ms }: Run): number {
    const fd = tcp.connect(socketAddress(ip, port));
    const rate = perSecond(ms, () => ask(fd, 0));
    ask(fd, last);
    tcp.close(fd);
    return rate;
}

/** Connections per second, one at a time, with one request each. */
function connections({ ip, port, ms }: Run): number {
    const address = socketAddress(ip, port);
    const one = (request: number): void => {
        const fd = tcp.connect(address);
        ask(fd, request);
        tcp.close(fd);
    };
    const rate = perSecond(ms, () => one(0));
    one(last);
    return rate;
}

const request = new Uint8Array(1);
const reply = new Uint8Array(1);

function ask(fd: number, value: number): void {
    request[0] = value;
    tcp.send(fd, request);
    if (tcp.receive(fd, reply) === 0)
        throw new BenchError("WRONG_RESULT", "environment", "a connection was closed without an answer");
}

function perSecond(ms: number, work: () => void): number {
    const warm = performance.now() + warmUpMs;
    while (performance.now() < warm) work();
    const begin = performance.now();
    let [count, now] = [0, begin];
    for (; now < begin + ms; now = performance.now()) {
        work();
        count++;
    }
    return (count * 1000) / (now - begin);
}

serveBench({ listen, answer, requests, connections });
