import { type Completions } from "./complete.ts";
import { directive } from "./scripts.ts";

/**
 * Formats completions for the completion scripts and kubectl: a line for each word, with a tab before its description,
 * then `:` and the sum of the flags of `directive`.
 */
export function printCompletions({ items, files }: Completions): string {
    const lines = items.map(({ value, description }) =>
        description === undefined || description === "" ? value : `${value}\t${description.replaceAll(/\s+/g, " ")}`,
    );
    const open = items.length > 0 && items.every((item) => item.open === true);
    const flags = (files ? 0 : directive.noFile) | (open ? directive.noSpace : 0);
    return [...lines, `:${flags}`, ""].join("\n");
}
