import { CniCallError } from "./errors.ts";
import { invalid } from "./json-object.ts";
import { shown } from "./shown.ts";

const idPattern = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
const idRule = "must start with a letter or digit and consist of letters, digits, '_', '.' and '-'";
// A NUL cannot stand in an environment variable, but in a JSON string or a protobuf field it can.
const forbiddenInIfname = /[/:\s\0]/;
const maxIfnameBytes = 15;

/** The rule that a container id breaks (CNI specification, section "Parameters"), or undefined. */
export function containerIdFault(id: string): string | undefined {
    return idPattern.test(id) ? undefined : idRule;
}

/** The rule that an interface name breaks (the same section, and the kernel's IFNAMSIZ), or undefined. */
export function ifnameFault(name: string): string | undefined {
    if (name === "") return "must not be empty";
    if (name === "." || name === "..") return "must not be '.' or '..'";
    if (new TextEncoder().encode(name).length > maxIfnameBytes) return `must not exceed ${maxIfnameBytes} bytes`;
    if (forbiddenInIfname.test(name)) return "must not contain '/', ':' or white space";
    return undefined;
}

/** Refuses a network name that breaks the rule of the specification, section "Network configuration format". */
export function checkNetworkName(name: string): void {
    if (!idPattern.test(name)) throw invalid("name", name, idRule);
}

/** `CniCallError` INVALID_ENVIRONMENT_VARIABLES for one variable. */
export function invalidVariable(variable: string, value: string, rule: string): CniCallError {
    return new CniCallError("INVALID_ENVIRONMENT_VARIABLES", "caller", `${variable}: ${shown(value)} ${rule}`);
}
