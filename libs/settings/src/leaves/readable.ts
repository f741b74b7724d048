import { z } from "zod";
import { orEmpty, valueTests, type ValueTest } from "../value-tests.ts";

/** A leaf of the schema: text in the file, T as the parsed value, made by `readable` or `readableOrEmpty`. */
export type Leaf<T> = z.ZodPipe<z.ZodString, z.ZodTransform<T, string>>;

/**
 * A leaf whose text `read`, which must not throw, parses; undefined means that the text violates `rule`, a sentence
 * that continues "the value". `test` describes the valid texts as data, for the validation of chart values.
 */
export function readable<T extends {}>(rule: string, read: (text: string) => T | undefined, test?: ValueTest): Leaf<T> {
    const leaf = z.string({ error: rule }).transform((text, context) => {
        const value = read(text);
        if (value !== undefined) return value;
        context.issues.push({ code: "custom", message: rule, input: text });
        return z.NEVER;
    });
    return test === undefined ? leaf : valueTests.keep(leaf, rule, test);
}

/**
 * Like `readable`, but "" is valid too, is not passed to `read`, and gives undefined ("not set"). `rule` must say so. A
 * `test` of the kind `text` gets "" added; one of `words` must list it, and the other kinds cannot express it.
 */
export function readableOrEmpty<T extends {}>(
    rule: string,
    read: (text: string) => T | undefined,
    test?: ValueTest,
): Leaf<T | undefined> {
    const leaf = z.string({ error: rule }).transform((text, context) => {
        if (text === "") return undefined;
        const value = read(text);
        if (value !== undefined) return value;
        context.issues.push({ code: "custom", message: rule, input: text });
        return z.NEVER;
    });
    return test === undefined ? leaf : valueTests.keep(leaf, rule, orEmpty(test));
}

/** A reader of texts that match one pattern and not the other; others give undefined. */
export function readerOf({ match, except }: { readonly match: string; readonly except: string }) {
    const [wanted, refused] = [new RegExp(match), new RegExp(except)];
    return (text: string): string | undefined => (wanted.test(text) && !refused.test(text) ? text : undefined);
}
