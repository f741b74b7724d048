import { describe, expect, test } from "@jest/globals";
import { aborted, orAborted } from "../src/index.ts";

describe("aborted", () => {
    test("resolves when the signal aborts, or at once", async () => {
        const end = new AbortController();
        let isOver = false;
        const waiting = aborted(end.signal).then(() => (isOver = true));
        await Promise.resolve();
        expect(isOver).toBe(false);
        end.abort();
        await waiting;
        await aborted(end.signal);
    });
});

describe("orAborted", () => {
    test("gives the outcome of the promise, with a signal or without", async () => {
        const { signal } = new AbortController();
        await expect(orAborted(Promise.resolve(1), undefined)).resolves.toBe(1);
        await expect(orAborted(Promise.resolve(2), signal)).resolves.toBe(2);
        await expect(orAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    });

    test("rejects when the signal aborts, with its reason or the error asked for; a late rejection is nobody's", async () => {
        const end = new AbortController();
        const late = Promise.withResolvers<never>();
        const waiting = [
            orAborted(late.promise, end.signal),
            orAborted(late.promise, end.signal, () => new Error("mine")),
        ];
        end.abort(new Error("the reason"));
        await expect(waiting[0]).rejects.toThrow("the reason");
        await expect(waiting[1]).rejects.toThrow("mine");
        await expect(orAborted(late.promise, end.signal)).rejects.toThrow("the reason");
        late.reject(new Error("late"));
    });
});
