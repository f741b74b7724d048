import { quote } from "@antrea/ip";

/** A value that is not allowed: the path of its field (`spec.ipRanges[1].start`), its text, and the rule it breaks. */
export interface Refusal {
    readonly path: string;
    readonly value: string;
    readonly rule: string;
}

/** The refusal as one sentence: path, value, rule. */
export function refusalText({ path, value, rule }: Refusal): string {
    return value === "" ? `${path}: ${rule}` : `${path} ${quote(value)}: ${rule}`;
}

/** A value of JSON as the text of a refusal; of one that is absent, no text. */
export function valueText(value: unknown): string {
    return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

const shownRefusals = 8;

/** All refusals as one text, cut after the first few. */
export function refusalsText(refusals: readonly Refusal[]): string {
    const texts = refusals.slice(0, shownRefusals).map(refusalText);
    const more = refusals.length - texts.length;
    return more > 0 ? `${texts.join("; ")}; and ${more} more` : texts.join("; ");
}
