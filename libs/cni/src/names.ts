import { CniCallError } from "./errors.ts";
import { invalid } from "./json-object.ts";
import { shown } from "./shown.ts";

const idPattern = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
const idRule = "must start with a letter or digit and consist of letters, digits, '_', '.' and '-'";
// An environment variable cannot contain a NUL, but a JSON string or a protobuf field can.
const forbiddenInIfname = /[/:\s\0]/;
const maxIfnameBytes = 15;

/**
 * The rule that a container id breaks (CNI specification, section "Parameters"); undefined for a valid one. It is the
 * end of a sentence: `must …`.
 */
export function containerIdFault(id: string): string | undefined {
    return idPattern.test(id) ? undefined : idRule;
}

/**
 * The rule that an interface name breaks (CNI specification, section "Parameters", and the kernel's IFNAMSIZ);
 * undefined for a valid one. It is the end of a sentence: `must …`.
 */
export function ifnameFault(name: string): string | undefined {
    if (name === "") return "must not be empty";
    if (name === "." || name === "..") return "must not be '.' or '..'";
    if (new TextEncoder().encode(name).length > maxIfnameBytes) return `must not exceed ${maxIfnameBytes} bytes`;
    if (forbiddenInIfname.test(name)) return "must not contain '/', ':' or white space";
    return undefined;
}

/**
 * Checks a network name against the CNI specification, section "Network configuration format": a letter or digit, then
 * letters, digits, '_', '.' and '-'. Throws `CniCallError` INVALID_NETWORK_CONFIG.
 */
export function checkNetworkName(name: string): void {
    if (!idPattern.test(name)) throw invalid("name", name, idRule);
}

/**
 * Returns, without throwing it, the error of one environment variable: `CniCallError` INVALID_ENVIRONMENT_VARIABLES
 * with variable, value and rule in its message.
 */
export function invalidVariable(variable: string, value: string, rule: string): CniCallError {
    return new CniCallError("INVALID_ENVIRONMENT_VARIABLES", "caller", `${variable}: ${shown(value)} ${rule}`);
}
