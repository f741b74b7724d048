import { z } from "zod";
import { readable, type Leaf } from "./leaves/readable.ts";
import { valueTests, wordsTest } from "./value-tests.ts";

/** Schema of a boolean; texts such as "true" are invalid. */
export const flag = z.boolean({ error: "must be true or false" });

/** Schema of any text, "" included; numbers and booleans are invalid. */
export const anyText = z.string({ error: "must be text" });

/** Schema of an integer from `min` to `max`, both included; with its test for the chart. */
export function wholeNumber(min: number, max: number): z.ZodInt {
    const error = `must be a whole number from ${min} to ${max}`;
    return valueTests.keep(z.int({ error }).min(min, { error }).max(max, { error }), error, {
        kind: "number",
        ranges: [[min, max]],
    });
}

/** Schema of a TCP or UDP port, 1 to 65,535. */
export const port: z.ZodInt = wholeNumber(1, 65_535);

/** Schema of one of these words, case-sensitive; with its test for the chart. */
export function oneOf<const T extends readonly string[]>(...words: T): z.ZodEnum<z.core.util.ToEnum<T[number]>> {
    const rule = `must be one of ${words.join(", ")}`;
    return valueTests.keep(z.enum(words, { error: rule }), rule, wordsTest(words, false));
}

/** Schema of one of these words in any case; the result has the case given here. */
export function oneOfAnyCase<const T extends readonly [string, ...string[]]>(...words: T): Leaf<T[number]> {
    return readable(
        `must be one of ${words.join(", ")}`,
        (text) => words.find((word) => word.toLowerCase() === text.toLowerCase()),
        wordsTest(words, true),
    );
}

/** Schema of an absolute path without NUL. */
export const absolutePath: Leaf<string> = readable("must be an absolute path", (text) =>
    text.startsWith("/") && !text.includes("\0") ? text : undefined,
);

/** Schema of two ports in a text, `first-last`, first below last, each 1 to 65,535. */
export const portRange: Leaf<{ readonly first: number; readonly last: number }> = readable(
    "must be two ports, the first below the last, such as 61000-62000",
    (text) => {
        const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text)?.map(Number) ?? [];
        if (first === undefined || last === undefined || first < 1 || last > 65_535 || first >= last) return undefined;
        return { first, last };
    },
);

/** Schema of a list, which may be empty, whose members have this schema. */
export function listOf<T extends z.ZodType>(member: T): z.ZodArray<T> {
    return z.array(member, { error: "must be a list" });
}
