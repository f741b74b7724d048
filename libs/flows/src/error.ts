import { AntreaError } from "@antrea/errors";

/** What a flow builder was asked for breaks a rule; the message names the field, the value and the rule. */
export class FlowsError extends AntreaError<"INVALID_INPUT"> {}

/** An `INVALID_INPUT` about one field of a builder's input. */
export function invalidInput(field: string, value: string | number | bigint, rule: string): FlowsError {
    return new FlowsError("INVALID_INPUT", "caller", `${field} is ${value}: ${rule}`, { details: { field } });
}
