import { type IpRangeSpec } from "@antrea/crd";
import {
    addressInPrefix,
    familyBits,
    formatIp,
    formatPrefix,
    IpError,
    parseIp,
    prefixContains,
    prefixRange,
    rangeOf,
    type Family,
    type IpAddress,
    type IpRange,
    type Prefix,
} from "@antrea/ip";

/** A CIDR with host bits: as written, and the prefix it means. */
export interface MaskedCidr {
    readonly written: string;
    readonly prefix: Prefix;
}

interface Written {
    readonly form: "cidr" | "start";
    readonly range: IpRange;
    readonly inner: IpRange;
    readonly masked?: MaskedCidr;
}

/** Notes that a field of a range breaks a rule; "" as the field: the range itself. */
export type Refuse = (field: string, value: unknown, rule: string) => undefined;

/** Reads a range in either form, without its subnet; undefined after a refusal. */
export function readWritten(spec: IpRangeSpec, family: Family, refuse: Refuse): Written | undefined {
    const { cidr, start, end } = spec;
    if (cidr !== undefined) {
        if (start !== undefined || end !== undefined) {
            return refuse("", "", "it must have either cidr or start and end, not both");
        }
        return readCidr(cidr, family, refuse);
    }
    if (start === undefined && end === undefined) return refuse("", "", "it must have either cidr or start and end");
    if (start === undefined) return refuse("start", "", "is missing: end alone is no range");
    if (end === undefined) return refuse("end", "", "is missing: start alone is no range");
    const first = readIp("start", start, family, refuse);
    const last = readIp("end", end, family, refuse);
    if (first === undefined || last === undefined) return undefined;
    if (first.value > last.value) return refuse("start", start, `must not be after end ${formatIp(last)}`);
    const range = rangeOf(first, last);
    return { form: "start", range, inner: range };
}

function readCidr(cidr: string, family: Family, refuse: Refuse): Written | undefined {
    let ip: IpAddress;
    let prefix: Prefix;
    try {
        ({ ip, prefix } = addressInPrefix(cidr));
    } catch (error) {
        return refuse("cidr", cidr, ruleOf(error));
    }
    if (prefix.family !== family) return refuse("cidr", cidr, otherFamily(family));
    const range = prefixRange(prefix);
    // RFC 3021 and RFC 6164: in a subnet of two addresses, both are for hosts.
    const masked = ip.value === prefix.base ? {} : { masked: { written: cidr, prefix } };
    if (prefix.length >= familyBits(family) - 1) return { form: "cidr", range, inner: range, ...masked };
    const inner = { family, first: range.first + 1n, last: family === 4 ? range.last - 1n : range.last };
    return { form: "cidr", range, inner, ...masked };
}

/** Reads an address of the family; undefined after a refusal. */
export function readIp(field: string, text: string, family: Family, refuse: Refuse): IpAddress | undefined {
    let ip: IpAddress;
    try {
        ip = parseIp(text);
    } catch (error) {
        return refuse(field, text, ruleOf(error));
    }
    return ip.family === family ? ip : refuse(field, text, otherFamily(family));
}

/** Refuses what lies outside of the subnet. */
export function checkInside({ form, range }: Written, prefix: Prefix, spec: IpRangeSpec, refuse: Refuse): void {
    const rule = `must lie in ${formatPrefix(prefix)}, the subnet of gateway and prefixLength`;
    const inside = (value: bigint): boolean => prefixContains(prefix, { family: range.family, value });
    if (form === "cidr") {
        if (!inside(range.first) || !inside(range.last)) refuse("cidr", spec.cidr, rule);
        return;
    }
    if (!inside(range.first)) refuse("start", spec.start, rule);
    if (!inside(range.last)) refuse("end", spec.end, rule);
}

function otherFamily(family: Family): string {
    return `must be of IPv${family}, as spec.ipVersion specifies`;
}

function ruleOf(error: unknown): string {
    if (error instanceof IpError && error.details.rule !== undefined) return error.details.rule;
    throw error;
}
