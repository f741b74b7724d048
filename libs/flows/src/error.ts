import { AntreaError } from "@antrea/errors";

/**
 * The error class of this library:
 *
 * - `INVALID_INPUT`: invalid input to a flow builder; the message has field, value and rule, `details.field` the field.
 *   Fault `caller`.
 * - `PIPELINE`: the tables that features declare do not fit together. Fault `internal`.
 */
export class FlowsError extends AntreaError<"INVALID_INPUT" | "PIPELINE", { readonly field: string }> {}

/**
 * Returns, without throwing it, FlowsError `INVALID_INPUT`, fault `caller`, with the message "`field` is `value`:
 * `rule`" and `details.field`.
 */
export function invalidInput(field: string, value: string | number | bigint, rule: string): FlowsError {
    return new FlowsError("INVALID_INPUT", "caller", `${field} is ${value}: ${rule}`, { details: { field } });
}
