import { execFileSync } from "node:child_process";
import { describe, expect, it } from "@jest/globals";
import { arrivalsOf, longestGap } from "../fixture/bridging-streams.ts";
import { unanswered, answersPings } from "../fixture/pings.ts";

const reply = (number: number, more = ""): string =>
    `64 bytes from fd00::1: icmp_seq=${number} ttl=63 time=0.1 ms${more}`;

describe("answersPings", () => {
    /** Runs the script with a ping that answers the requests of these numbers. */
    const run = (script: string, answered: readonly number[]): string => {
        const cases = answered.map((number) => `${number}) return 0 ;;`).join(" ");
        const counted = 'echo "$*" >> "$asked"; case $(wc -l < "$asked") in';
        const setUp = `set -e; asked=$(mktemp); trap 'rm "$asked"' EXIT; ping() { ${counted} ${cases} *) echo nothing; return 1 ;; esac; }`;
        return execFileSync("sh", ["-c", `${setUp}\n${script}\ncat "$asked"`], { encoding: "utf8" });
    };

    it("asks one at a time", () => {
        expect(run(answersPings("10.0.0.1"), [1, 2, 3])).toBe("-c 1 -W 3 10.0.0.1\n".repeat(3));
        expect(run(answersPings("fd00::1", { count: 1, options: "-I eth0" }), [1])).toBe("-c 1 -W 3 -I eth0 fd00::1\n");
    });

    it("fails when one was not answered, unless fewer are enough", () => {
        expect(() => run(answersPings("10.0.0.1"), [1, 3])).toThrow();
        expect(run(answersPings("10.0.0.1", { count: 4, atLeast: 3 }), [1, 3, 4])).toContain("10.0.0.1");
        expect(() => run(answersPings("10.0.0.1", { count: 4, atLeast: 3 }), [2, 4])).toThrow();
        expect(() => run(answersPings("10.0.0.1", { count: 4, atLeast: 3 }), [])).toThrow();
    });
});

describe("unanswered", () => {
    const of = (lines: readonly string[]): Promise<readonly number[]> =>
        unanswered(() => Promise.resolve(["PING fd00::1", ...lines, "--- statistics ---"].join("\n")), "fd00::1", 3);

    it("names each request without a reply, and none after those asked for", async () => {
        await expect(of([reply(1), reply(2), reply(2, " (DUP!)"), reply(4), reply(23)])).resolves.toEqual([3]);
        await expect(of([reply(2), reply(1), reply(3)])).resolves.toEqual([]);
    });

    it("does not take errors of routers for replies", async () => {
        await expect(of(["From fd00::2 icmp_seq=1 Destination unreachable: No route"])).resolves.toEqual([1, 2, 3]);
    });
});

describe("arrivalsOf", () => {
    const at = (seconds: number, number: number): string => `[${seconds}.0] ${reply(number)}`;
    const output = (...lines: readonly string[]): string =>
        ["PING fd00::1", ...lines, "From fd00::2 icmp_seq=9 Destination unreachable: No route"].join("\n");

    it("ends with the reply to the last request, however long ping waits for others", () => {
        const arrivals = arrivalsOf(output(at(1, 1), at(3, 3), at(4, 4)), 4, 9_000);
        expect(arrivals).toEqual({ times: [1_000, 3_000, 4_000], end: 4_000 });
        expect(longestGap(arrivals).ms).toBe(2_000);
    });

    it("ends with ping if the last request has no reply", () => {
        const arrivals = arrivalsOf(output(at(1, 1), at(2, 2)), 4, 9_000);
        expect(longestGap(arrivals)).toEqual({ from: 2_000, to: 9_000, ms: 7_000 });
        expect(arrivalsOf(output(), 4, 9_000)).toEqual({ times: [], end: 9_000 });
    });
});
