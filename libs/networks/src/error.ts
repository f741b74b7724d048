import { AntreaError } from "@antrea/errors";
import { shown } from "@antrea/cni";

/** Details of a NetworkError, each present where it applies. */
export interface NetworkErrorDetails {
    /** `namespace/name` of the NetworkAttachmentDefinition. */
    readonly network: string;
}

/**
 * The error class of this library:
 *
 * - `INVALID_SELECTION`: the annotation of a Pod by which it requests networks breaks a rule.
 * - `INVALID_NETWORK`: a NetworkAttachmentDefinition, or an IPAM section, breaks a rule.
 * - `INVALID_REQUEST`: an address requested by CNI_ARGS, `args.cni.ips` or `runtimeConfig.ips` breaks a rule.
 *
 * The message names the field, its value, the rule and the next step.
 */
export class NetworkError extends AntreaError<
    "INVALID_SELECTION" | "INVALID_NETWORK" | "INVALID_REQUEST",
    NetworkErrorDetails
> {}

/** What a field of some document breaks: the text of an error's message. */
export function fault(field: string, value: unknown, rule: string, next: string): string {
    return `${field}: ${shown(value)} ${rule}; next: ${next}`;
}
