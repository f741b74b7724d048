import { AntreaError } from "@antrea/errors";
import { shown } from "@antrea/cni";

/** Details of a NetworkError, set for `INVALID_NETWORK`. */
export interface NetworkErrorDetails {
    /** `namespace/name` of the NetworkAttachmentDefinition. */
    readonly network: string;
}

/**
 * The error class of this library:
 *
 * - `INVALID_SELECTION`: the annotation of a Pod by which it requests networks breaks a rule.
 * - `INVALID_NETWORK`: a NetworkAttachmentDefinition, or the IPAM section in it, breaks a rule.
 *
 * An invalid address in a call is a `CniCallError`, see `wantedAddresses`. The message names the field, its value, the
 * rule and the next step.
 */
export class NetworkError extends AntreaError<"INVALID_SELECTION" | "INVALID_NETWORK", NetworkErrorDetails> {}

/**
 * Returns `FIELD: VALUE RULE; next: NEXT`, the text of an error about a field of some document: the value as `shown`
 * writes it, `rule` continues it ("must be a list"), `next` is what the user can do.
 */
export function fault(field: string, value: unknown, rule: string, next: string): string {
    return `${field}: ${shown(value)} ${rule}; next: ${next}`;
}
