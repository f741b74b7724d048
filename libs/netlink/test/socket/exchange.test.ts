import { beforeEach, describe, expect, it } from "@jest/globals";
import { NetlinkError, type NetlinkErrorDetails } from "../../src/errors.ts";
import { decodeFrames, encodeFrames, type Frame } from "../../src/message/frame.ts";
import { type Query, type Request } from "../../src/message/request.ts";
import { type Channel } from "../../src/socket/channel.ts";
import { Exchange } from "../../src/socket/exchange.ts";

const INTERRUPTED = 0x10;

/** A kernel that answers each datagram with the datagrams that its script returns for the requests in it. */
class ScriptedChannel implements Channel {
    readonly sent: (readonly Frame[])[] = [];
    drained = 0;
    readonly #answer: (requests: readonly Frame[]) => readonly (readonly Frame[])[];
    #waiting: Uint8Array[] = [];

    constructor(answer: (requests: readonly Frame[]) => readonly (readonly Frame[])[]) {
        this.#answer = answer;
    }

    send(datagram: Uint8Array): void {
        const frames = decodeFrames(datagram);
        this.sent.push(frames);
        this.#waiting.push(...this.#answer(frames).map(encodeFrames));
    }

    async sendOnThread(datagram: Uint8Array): Promise<void> {
        await Promise.resolve();
        this.send(datagram);
    }

    receive(): Uint8Array {
        const datagram = this.#waiting.shift();
        if (datagram === undefined) throw new NetlinkError("NO_ANSWER", "timeout", "nothing there");
        return datagram;
    }

    drain(): void {
        this.#waiting = [];
        this.drained++;
    }
}

function ack(sequence: number, errno: number): Frame {
    const payload = new Uint8Array(20);
    new DataView(payload.buffer).setInt32(0, -errno, true);
    return { type: 2, flags: 0x100, sequence, payload };
}

function part(sequence: number, number: number, flags = 0): Frame {
    return { type: 16, flags: 2 | flags, sequence, payload: Uint8Array.of(number) };
}

function done(sequence: number, errno = 0, flags = 0): Frame {
    const payload = new Uint8Array(4);
    new DataView(payload.buffer).setInt32(0, -errno, true);
    return { type: 3, flags: 2 | flags, sequence, payload };
}

function request(number: number, absentCodes: readonly string[] = []): Request {
    return { type: 17, flags: 0, body: Uint8Array.of(number), label: `change ${number}`, absentCodes };
}

const query: Query = { type: 18, flags: 0x300, body: new Uint8Array(), label: "list things" };
const first = (payload: Uint8Array): number | undefined => payload[0];

describe("change", () => {
    // Rejects requests with an odd number, with ENODEV.
    let kernel: ScriptedChannel;
    beforeEach(() => {
        kernel = new ScriptedChannel((frames) => [
            [ack(4_000_000, 1)], // left over from another call
            ...frames.map((frame) => [ack(frame.sequence, (frame.payload[0] ?? 0) % 2 === 1 ? 19 : 0)]),
        ]);
    });

    it("reports the first refusal, its place and the number of refusals, and tries all", () => {
        const exchange = new Exchange(kernel);
        expect(() => exchange.change([0, 1, 2, 3].map((number) => request(number)))).toThrow(
            expect.objectContaining({
                code: "ENODEV",
                message: "change 1: ENODEV (no such device)",
                details: { index: 1, failures: 2, errno: 19 },
            }),
        );
        expect(kernel.sent.map((frames) => frames.length)).toEqual([4]);
    });

    it("reports which attribute a request lacks, if the kernel does", () => {
        const lacking = new ScriptedChannel(([frame]) => {
            const payload = new Uint8Array(28);
            const view = new DataView(payload.buffer);
            view.setInt32(0, -22, true);
            view.setUint16(20, 8, true);
            view.setUint16(22, 5, true);
            view.setUint32(24, 3, true);
            return [[{ type: 2, flags: 0x300, sequence: frame?.sequence ?? 0, payload }]];
        });
        const details: Partial<NetlinkErrorDetails> = { index: 0, failures: 1, errno: 22, missingAttribute: 3 };
        expect(() => new Exchange(lacking).change([request(1)])).toThrow(
            expect.objectContaining({ code: "EINVAL", details }),
        );
    });

    it("takes for done what reports that a thing to delete is not there", () => {
        const exchange = new Exchange(kernel);
        expect(exchange.change([request(0), request(1, ["ENODEV"])])).toEqual([true, false]);
    });

    it("sends 64 at a time and knows the place across them", () => {
        const exchange = new Exchange(kernel);
        const requests = Array.from({ length: 130 }, (_, at) => request(at === 100 ? 1 : 0));
        expect(() => exchange.change(requests)).toThrow(
            expect.objectContaining({ details: expect.objectContaining({ index: 100 }) }),
        );
        expect(kernel.sent.map((frames) => frames.length)).toEqual([64, 64, 2]);
    });

    it("on a thread does the same", async () => {
        const exchange = new Exchange(kernel);
        await expect(exchange.changeOnThread(request(2))).resolves.toBe(true);
        await expect(exchange.changeOnThread(request(1, ["ENODEV"]))).resolves.toBe(false);
        await expect(exchange.changeOnThread(request(1))).rejects.toMatchObject({ code: "ENODEV" });
    });

    it("of nothing asks nothing", () => {
        expect(new Exchange(kernel).change([])).toEqual([]);
        expect(kernel.sent).toEqual([]);
    });

    it("fails if an answer is missing", () => {
        const silent = new ScriptedChannel((frames) => frames.slice(1).map((frame) => [ack(frame.sequence, 0)]));
        expect(() => new Exchange(silent).change([request(0), request(2)])).toThrow(
            expect.objectContaining({ code: "NO_ANSWER" }),
        );
    });
});

describe("ask", () => {
    it.each([
        ["the object", (sequence: number) => [part(sequence - 1, 8), part(sequence, 9)], 9],
        ["nothing for ENODEV", (sequence: number) => [ack(sequence, 19)], undefined],
    ])("gives %s", (_, answer, expected) => {
        const kernel = new ScriptedChannel(([frame]) => [answer(frame?.sequence ?? 0)]);
        expect(new Exchange(kernel).ask(query, first)).toBe(expected);
    });

    it("throws any other refusal", () => {
        const kernel = new ScriptedChannel(([frame]) => [[ack(frame?.sequence ?? 0, 1)]]);
        expect(() => new Exchange(kernel).ask(query, first)).toThrow(
            expect.objectContaining({ code: "EPERM", message: expect.stringContaining("CAP_NET_ADMIN") }),
        );
    });
});

describe("dump", () => {
    function dumping(...attempts: ((sequence: number) => readonly (readonly Frame[])[])[]): ScriptedChannel {
        let attempt = 0;
        return new ScriptedChannel(([frame]) => (attempts[attempt++] ?? attempts.at(-1))?.(frame?.sequence ?? 0) ?? []);
    }

    it("gathers parts over datagrams, without those of other calls and those not wanted", async () => {
        const kernel = dumping((at) => [
            [part(at, 1), part(at - 1, 7)],
            [part(at, 2), part(at, 0), done(at)],
        ]);
        const found = await new Exchange(kernel).dump(query, (payload) => first(payload) || undefined);
        expect(found).toEqual([1, 2]);
    });

    it.each([
        ["a part reports it", (at: number) => [[part(at, 1, INTERRUPTED), done(at)]]],
        ["its end reports it", (at: number) => [[part(at, 1), done(at, 0, INTERRUPTED)]]],
        ["it ends with EINTR", (at: number) => [[part(at, 1), done(at, 4)]]],
    ])("begins anew if %s", async (_, interrupted) => {
        const kernel = dumping(interrupted, (at) => [[part(at, 2), done(at)]]);
        await expect(new Exchange(kernel).dump(query, first)).resolves.toEqual([2]);
    });

    it("gives up when it never gets through", async () => {
        const kernel = dumping((at) => [[part(at, 1, INTERRUPTED), done(at)]]);
        await expect(new Exchange(kernel, { maxDumpAttempts: 3 }).dump(query, first)).rejects.toMatchObject({
            code: "DUMP_INTERRUPTED",
        });
        expect(kernel.sent).toHaveLength(3);
    });

    it.each([
        ["it is refused", (at: number) => [[ack(at, 22)]], "EINVAL"],
        ["it ends with an error", (at: number) => [[part(at, 1), done(at, 19)]], "ENODEV"],
        ["it is larger than allowed", (at: number) => [[part(at, 1), part(at, 2), part(at, 3)]], "DUMP_TOO_LARGE"],
        ["it does not end", (at: number) => [[part(at, 1)]], "NO_ANSWER"],
    ])("reads off what is left and fails if %s", async (_, answer, code) => {
        const kernel = dumping(answer);
        await expect(new Exchange(kernel, { maxDumpObjects: 2 }).dump(query, first)).rejects.toMatchObject({ code });
        expect(kernel.drained).toBe(1);
    });
});
