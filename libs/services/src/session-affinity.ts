import { type ServiceObject } from "./objects.ts";
import { type ProblemList } from "./problem.ts";

/** The highest idle timeout of a flow (OpenFlow 1.5, ofp_flow_mod), in seconds. */
const maxAffinitySeconds = 0xffff;
/** Default of `spec.sessionAffinityConfig.clientIP.timeoutSeconds`. */
const defaultAffinitySeconds = 10_800;

/** The timeout of session affinity in seconds, undefined without affinity; one above 65535 is reduced with a problem. */
export function affinitySeconds({ spec }: ServiceObject, problems: ProblemList): number | undefined {
    if (spec?.sessionAffinity !== "ClientIP") return undefined;
    const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds;
    if (seconds <= maxAffinitySeconds) return Math.max(1, seconds);
    problems.add({
        reason: "AffinityTimeoutCapped",
        field: "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        value: String(seconds),
        rule: `is more than ${maxAffinitySeconds}, the longest idle timeout of a flow; ${maxAffinitySeconds} is used`,
        next: `set at most ${maxAffinitySeconds}`,
    });
    return maxAffinitySeconds;
}
