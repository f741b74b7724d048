/** What is wrong with a Service or its EndpointSlices; the reason of an event about it. */
export type ProblemReason =
    | "AddressTaken"
    | "AffinityTimeoutCapped"
    | "DsrNotAvailable"
    | "ExternalAddressInPodCidr"
    | "ExternalAddressIsClusterIp"
    | "InvalidClusterIp"
    | "InvalidEndpoint"
    | "InvalidEndpointPort"
    | "InvalidExternalIp"
    | "InvalidLoadBalancerIp"
    | "InvalidServicePort"
    | "InvalidSourceRange"
    | "PortUsedByNode"
    | "SctpNotSupported"
    | "StandInsUsedUp"
    | "TooManyAddresses"
    | "TooManyEndpoints"
    | "UnknownLoadBalancerMode";

/**
 * A part of a Service that is not served as it is written, or takes packets from a program of the Node. All else of the
 * Service is served.
 */
export interface Problem {
    readonly reason: ProblemReason;
    /** The path of the field: `spec.externalIPs[0]`; for endpoints with the EndpointSlice before it. */
    readonly field: string;
    /** What it has, shortened. */
    readonly value: string;
    /** The violated rule and the effect; continues the value: `must be …`. May name an object that is in the way. */
    readonly rule: string;
    /** What the user can do. */
    readonly next: string;
    /** How many there are of this reason and field kind; field and value are those of the first. */
    readonly count: number;
}

/** Returns the text of an event: `FIELD: VALUE RULE; next: NEXT`, with the number of others like it. */
export function problemText({ field, value, rule, next, count }: Problem): string {
    const others = count > 1 ? ` (and ${count - 1} more)` : "";
    return `${field}: ${value} ${rule}${others}; next: ${next}`;
}

/** Gathers problems: one for each reason, so that a Service with thousands of bad endpoints has few. */
export class ProblemList {
    readonly #byReason = new Map<ProblemReason, Problem>();

    /** Adds a problem; later ones of its reason are only counted. */
    add(problem: Omit<Problem, "count">): void {
        const known = this.#byReason.get(problem.reason);
        this.#byReason.set(
            problem.reason,
            known === undefined ? { ...problem, count: 1 } : { ...known, count: known.count + 1 },
        );
    }

    /** The problems, sorted by reason. */
    get all(): readonly Problem[] {
        return [...this.#byReason.values()].sort((a, b) => (a.reason < b.reason ? -1 : 1));
    }
}
