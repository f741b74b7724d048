import { assertNever } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type Action, type ControllerAction, type CtAction, type Nat, type SetFieldAction } from "../action.ts";
import { checkedEntry } from "../match/canonical.ts";
import { Port } from "../port.ts";
import { formatLearn } from "./learn.ts";
import { formatSubField } from "./sub-field.ts";
import { formatPort, formatValue, hex } from "./value.ts";

/**
 * Actions in the syntax of ovs-actions(7), separated by commas; `drop` for an empty list. A `raw` action, which has no
 * such syntax, becomes `raw(<hexadecimal bytes>)`. Throws `OpenFlowError` `BAD_FIELD` or `BAD_VALUE` for a field or
 * value that does not exist.
 */
export function formatActions(actions: readonly Action[]): string {
    return actions.length === 0 ? "drop" : actions.map(formatAction).join(",");
}

function formatAction(action: Action): string {
    switch (action.type) {
        case "output":
            return formatOutput(action.port, action.maxLength);
        case "output_field": {
            const source = formatSubField(action.source);
            return action.maxLength === undefined
                ? `output:${source}`
                : `output(field=${source},max_len=${action.maxLength})`;
        }
        case "set_field":
            return formatSetField(action);
        case "move":
            return `move:${formatSubField(action.from)}->${formatSubField(action.to)}`;
        case "resubmit":
            return `resubmit(${action.port === undefined ? "" : formatPort(action.port)},${action.table ?? ""})`;
        case "group":
            return `group:${action.group}`;
        case "meter":
            return `meter:${action.meter}`;
        case "set_queue":
            return `set_queue:${action.queue}`;
        case "ct":
            return formatCt(action);
        case "clone":
            return `clone(${action.actions.map(formatAction).join(",")})`;
        case "ct_clear":
        case "dec_ttl":
        case "pop_vlan":
        case "exit":
            return action.type;
        case "push_vlan":
            return `push_vlan:${hex(action.etherType)}`;
        case "learn":
            return formatLearn(action);
        case "conjunction":
            return `conjunction(${action.id},${action.clause}/${action.clauses})`;
        case "controller":
            return formatController(action);
        case "note":
            return `note:${dotted(action.data)}`;
        case "raw":
            return `raw(${dotted(action.bytes)})`;
        default:
            return assertNever(action);
    }
}

function formatOutput(port: number, maxLength: number | undefined): string {
    if (port === Port.CONTROLLER) return `CONTROLLER:${maxLength ?? 65535}`;
    if (maxLength !== undefined) return `output(port=${formatPort(port)},max_len=${maxLength})`;
    const name = formatPort(port);
    return name === port.toString() || port === Port.LOCAL ? `output:${name}` : name;
}

function formatSetField({ field, value, mask }: SetFieldAction): string {
    const entry = checkedEntry(field, mask === undefined ? value : { value, mask });
    return `set_field:${formatValue(entry)}->${entry.field.ofctl}`;
}

function formatCt(action: CtAction): string {
    return `ct(${[
        ...(action.commit === true ? ["commit"] : []),
        ...(action.force === true ? ["force"] : []),
        ...(action.table === undefined ? [] : [`table=${action.table}`]),
        `zone=${typeof action.zone === "number" ? action.zone : formatSubField(action.zone)}`,
        ...(action.nat === undefined ? [] : [formatNat(action.nat)]),
        ...(action.exec === undefined || action.exec.length === 0 ? [] : [`exec(${formatActions(action.exec)})`]),
        ...(action.alg === undefined ? [] : [`alg=${algNames.get(action.alg) ?? action.alg}`]),
    ].join(",")})`;
}

const algNames: ReadonlyMap<number, string> = new Map([
    [21, "ftp"],
    [69, "tftp"],
]);

function formatNat(nat: Nat): string {
    if (nat.kind === "restore") return "nat";
    const range = [
        nat.min === undefined
            ? ""
            : `${natAddress(nat.min, nat)}${nat.max === undefined ? "" : `-${natAddress(nat.max, nat)}`}`,
        nat.portMin === undefined ? "" : `:${nat.portMin}${nat.portMax === undefined ? "" : `-${nat.portMax}`}`,
    ].join("");
    return `nat(${[
        range === "" ? nat.kind : `${nat.kind}=${range}`,
        ...(nat.persistent === true ? ["persistent"] : []),
        ...(nat.hash === true ? ["hash"] : []),
        ...(nat.random === true ? ["random"] : []),
    ].join(",")})`;
}

function natAddress(ip: IpAddress, nat: Exclude<Nat, { kind: "restore" }>): string {
    return ip.family === 6 && nat.portMin !== undefined ? `[${formatIp(ip)}]` : formatIp(ip);
}

function formatController(action: ControllerAction): string {
    const terms = [
        ...(action.maxLength === undefined ? [] : [`max_len=${action.maxLength}`]),
        ...(action.id === undefined ? [] : [`id=${action.id}`]),
        ...(action.reason === undefined ? [] : [`reason=${action.reason}`]),
        ...(action.userdata === undefined ? [] : [`userdata=${dotted(action.userdata)}`]),
        ...(action.pause === true ? ["pause"] : []),
        ...(action.meter === undefined ? [] : [`meter_id=${action.meter}`]),
    ];
    return terms.length === 0 ? "CONTROLLER:65535" : `controller(${terms.join(",")})`;
}

function dotted(bytes: Uint8Array): string {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(".");
}
