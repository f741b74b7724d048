import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks again until the answer satisfies, for what the kernel does in its own time: the links of a namespace go some
 * while after the namespace. Resolves with the last answer, right or wrong, for an `expect` to look at.
 */
export async function eventually<T>(
    ask: () => T | Promise<T>,
    satisfies: (answer: T) => boolean,
    limitMs = 60_000,
): Promise<T> {
    const end = performance.now() + limitMs;
    for (;;) {
        const answer = await ask();
        if (satisfies(answer) || performance.now() > end) return answer;
        await sleep(20);
    }
}
