import { quote } from "@antrea/ip";

/** A value that is not allowed: the path of its field (`spec.ipRanges[1].start`), its text, and the violated rule. */
export interface Refusal {
    readonly path: string;
    readonly value: string;
    readonly rule: string;
}

/** Formats a refusal as one sentence: path, value (quoted and truncated, left out if ""), rule. */
export function refusalText({ path, value, rule }: Refusal): string {
    return value === "" ? `${path}: ${rule}` : `${path} ${quote(value)}: ${rule}`;
}

/** Formats a JSON value for `value` of a refusal; "" if it is absent. */
export function valueText(value: unknown): string {
    return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

const shownRefusals = 8;

/** Formats refusals as one text: the first eight, joined by "; ", and the number of the others; "" for none. */
export function refusalsText(refusals: readonly Refusal[]): string {
    const texts = refusals.slice(0, shownRefusals).map(refusalText);
    const more = refusals.length - texts.length;
    return more > 0 ? `${texts.join("; ")}; and ${more} more` : texts.join("; ");
}
