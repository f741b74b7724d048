import { quote } from "@antrea/ip";
import { loadBalancerModeAnnotation, type ServiceObject } from "./objects.ts";
import { type ProblemList } from "./problem.ts";
import { type LoadBalancerMode, type ServiceSettings } from "./settings.ts";

/** The mode that the Service's annotation asks for, else the default; one that cannot be had adds a problem. */
export function modeOf(
    { metadata }: ServiceObject,
    settings: ServiceSettings,
    problems: ProblemList,
): LoadBalancerMode {
    const fallback = settings.dsr ? settings.defaultLoadBalancerMode : "nat";
    const text = metadata?.annotations?.[loadBalancerModeAnnotation];
    if (text === undefined) return fallback;
    const field = `metadata.annotations[${loadBalancerModeAnnotation}]`;
    const mode = text.toLowerCase();
    if (mode !== "nat" && mode !== "dsr") {
        const rule = `must be nat or dsr; ${fallback} is used`;
        problems.add({
            reason: "UnknownLoadBalancerMode",
            field,
            value: quote(text),
            rule,
            next: "correct the annotation",
        });
        return fallback;
    }
    if (mode === "nat" || settings.dsr) return mode;
    problems.add({
        reason: "DsrNotAvailable",
        field,
        value: quote(text),
        rule: "is not available in this version; nat is used",
        next: "remove the annotation",
    });
    return "nat";
}
