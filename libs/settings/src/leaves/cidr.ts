import { parsePrefix, type Family, type Prefix } from "@antrea/ip";
import { cidrTest } from "../value-tests.ts";
import { readable, readableOrEmpty, type Leaf } from "./readable.ts";

const kindOf = (family: Family | undefined): string =>
    family === undefined ? "a" : family === 4 ? "an IPv4" : "an IPv6";

/** Schema of a CIDR, by default of either IP family; host bits are masked, as in Antrea and Kubernetes. */
export function cidr(family?: Family): Leaf<Prefix> {
    return readable(`must be ${kindOf(family)} CIDR`, (text) => readPrefix(text, family), cidrTest(family));
}

/** Schema of a CIDR, or "" for undefined; by default of either IP family, host bits are masked. */
export function cidrOrEmpty(family?: Family): Leaf<Prefix | undefined> {
    return readableOrEmpty(
        `must be ${kindOf(family)} CIDR or empty`,
        (text) => readPrefix(text, family),
        cidrTest(family),
    );
}

/**
 * Schema of CIDRs of either family in one text, separated by commas; host bits are masked, empty parts skipped, so that
 * "" gives none.
 */
export const cidrsInText: Leaf<readonly Prefix[]> = readable("must be CIDRs separated by commas", (text) => {
    const parts = text.split(",").map((part) => part.trim());
    const prefixes = parts.filter((part) => part !== "").map((part) => readPrefix(part, undefined));
    return prefixes.every((prefix) => prefix !== undefined) ? prefixes : undefined;
});

function readPrefix(text: string, family: Family | undefined): Prefix | undefined {
    try {
        const prefix = parsePrefix(text, { hostBits: "mask" });
        return family === undefined || prefix.family === family ? prefix : undefined;
    } catch {
        return undefined;
    }
}
