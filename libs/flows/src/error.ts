import { AntreaError } from "@antrea/errors";

/**
 * - `INVALID_INPUT`: what a flow builder was asked for breaks a rule; the message names the field, the value and the rule
 * - `PIPELINE`: the tables that features declare do not fit together
 */
export class FlowsError extends AntreaError<"INVALID_INPUT" | "PIPELINE", { readonly field: string }> {}

/** An `INVALID_INPUT` about one field of a builder's input. */
export function invalidInput(field: string, value: string | number | bigint, rule: string): FlowsError {
    return new FlowsError("INVALID_INPUT", "caller", `${field} is ${value}: ${rule}`, { details: { field } });
}
