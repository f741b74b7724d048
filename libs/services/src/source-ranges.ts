import { formatPrefix, IpError, parsePrefix, quote, type Family, type Prefix } from "@antrea/ip";
import { type ServiceObject } from "./objects.ts";
import { type ProblemList } from "./problem.ts";

/**
 * The permitted clients of a family; undefined without restriction. As with kube-proxy, ranges restrict only clients of their
 * own family. A range that cannot be read admits nobody: it may be of either.
 */
export function readSourceRanges(
    { spec }: ServiceObject,
    problems: ProblemList,
): (family: Family) => readonly Prefix[] | undefined {
    const texts = (spec?.type === "LoadBalancer" ? spec.loadBalancerSourceRanges : undefined) ?? [];
    const ranges = new Map<string, Prefix>();
    let areAllRead = true;
    texts.forEach((text, at) => {
        try {
            // the API server accepts spaces around a range
            const range = parsePrefix(text.trim(), { hostBits: "mask" });
            ranges.set(formatPrefix(range), range);
        } catch (error) {
            if (!(error instanceof IpError)) throw error;
            areAllRead = false;
            problems.add({
                reason: "InvalidSourceRange",
                field: `spec.loadBalancerSourceRanges[${at}]`,
                value: quote(text),
                rule: `is not a CIDR: ${error.details.rule ?? error.message}; it admits no client`,
                next: "correct or remove the range",
            });
        }
    });
    return (family) => {
        const ofFamily = [...ranges.values()].filter((range) => range.family === family);
        return ofFamily.length === 0 && areAllRead ? undefined : ofFamily;
    };
}
