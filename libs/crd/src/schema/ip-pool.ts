import { z } from "zod";
import { described, inOrder, nextBit, quoted, slash, type Rule } from "./cel.ts";

const addressForm = "no leading zeros, no zone, no IPv4-mapped form";

/** An address as text. The longest is an IPv6 address with all its zeros. */
const address = (description: string): z.ZodString =>
    z
        .string()
        .max(39)
        .meta(
            described(description, {
                rule: "isIP(self)",
                message: `must be an address such as 10.2.0.12 or 3ffe:ffff::100: ${addressForm}`,
            }),
        );

const cidr = z
    .string()
    .max(43)
    .meta(
        described(
            "The range as a CIDR. Its first address, and for IPv4 its last, are not handed out, except of /31, /32, /127 and /128.",
            {
                rule: "isCIDR(self)",
                message: `must be a CIDR such as 10.2.0.0/24 or 3ffe:ffff::/64: ${addressForm}`,
            },
        ),
    );

// A stored pool may lack any field and violate any rule, and remains open to other changes only as long as every rule
// can be evaluated. So each rule first tests that the fields it reads exist.
const family = "ip(self.gateway).family()";
const hasGateway = "has(self.gateway) && isIP(self.gateway) && has(self.prefixLength)";
const hasSubnet = `${hasGateway} && self.prefixLength >= 1 && self.prefixLength <= (${family} == 4 ? 31 : 127)`;
const subnetText = `self.gateway + ${slash("self.prefixLength")}`;
const subnet = `cidr(${subnetText})`;
const hasEnds = "has(self.start) && has(self.end) && isIP(self.start) && isIP(self.end)";
const hasCidr = "has(self.cidr) && isCIDR(self.cidr)";

const inSubnet = (field: "start" | "end" | "cidr"): Rule => {
    const [known, contained] =
        field === "cidr"
            ? [hasCidr, `${subnet}.containsCIDR(self.cidr)`]
            : [`has(self.${field}) && isIP(self.${field})`, `${subnet}.containsIP(self.${field})`];
    return {
        rule: `!(${hasSubnet} && ${known}) || ${contained}`,
        messageExpression: `self.${field} + ' is not within the subnet of gateway and prefixLength, ' + ${subnetText}`,
        fieldPath: `.${field}`,
    };
};

// Loopback, multicast, unspecified, limited broadcast: RFC 6890, RFC 5771, RFC 4291.
const special = ["0.0.0.0/32", "127.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/127", "ff00::/8"];

const forHosts = (field: "start" | "end" | "gateway" | "cidr"): Rule => {
    const [known, bad] =
        field === "cidr"
            ? [hasCidr, (one: string) => `cidr(${one}).containsCIDR(self.cidr) || cidr(self.cidr).containsCIDR(${one})`]
            : [`has(self.${field}) && isIP(self.${field})`, (one: string) => `cidr(${one}).containsIP(self.${field})`];
    return {
        rule: `!(${known}) || !(${special.map((one) => bad(quoted(one))).join(" || ")})`,
        messageExpression:
            `self.${field} + ' ${field === "cidr" ? "has" : "is"} a loopback, multicast, broadcast or unspecified ` +
            "address, which no Pod can have'",
        fieldPath: `.${field}`,
    };
};

const isNetwork = `${subnet}.masked().ip() == ip(self.gateway)`;
const isBroadcast = `[${Array.from({ length: 32 }, (_, n) => n).join()}].all(n, n < self.prefixLength || ${nextBit("self.gateway", "n")})`;

const rangeRules: readonly Rule[] = [
    {
        rule: "has(self.cidr) ? !has(self.start) && !has(self.end) : has(self.start) && has(self.end)",
        message: "must have either cidr, or both start and end",
    },
    {
        rule: `!(${hasGateway}) || ${family} != 4 || self.prefixLength < 32 || self.prefixLength > 127`,
        messageExpression: `${subnetText} + ' is not a subnet: prefixLength must be 1 to 31 for IPv4'`,
        fieldPath: ".prefixLength",
    },
    // Both addresses of a /31 and of a /127 are hosts' (RFC 3021, RFC 6164).
    {
        rule:
            `!(${hasSubnet}) || (${family} == 4 ? ` +
            `self.prefixLength == 31 || (!(${isNetwork}) && !${isBroadcast}) : ` +
            `self.prefixLength == 127 || !(${isNetwork}))`,
        messageExpression:
            `self.gateway + ' is the network or broadcast address of ' + ${subnetText} + ` +
            "'; must be the address of the subnet\\'s router'",
        fieldPath: ".gateway",
    },
    inSubnet("start"),
    inSubnet("end"),
    inSubnet("cidr"),
    {
        rule: `!(${hasEnds}) || ip(self.start).family() != ip(self.end).family() || ${inOrder("self.start", "self.end")}`,
        messageExpression: "self.start + ' is after end, ' + self.end",
        fieldPath: ".start",
    },
    forHosts("start"),
    forHosts("end"),
    forHosts("gateway"),
    forHosts("cidr"),
];

/**
 * Schema of one range of an IPPool: `cidr`, or `start` and `end` (both included), and the subnet in which it lies. Its
 * rules are CEL, as those of `ipPoolSpec`.
 */
export const ipRange = z
    .object({
        cidr: cidr.optional(),
        start: address("First address of the range, with end.").optional(),
        end: address("Last address of the range, with start.").optional(),
        gateway: address("Address of the subnet's router; never handed out."),
        prefixLength: z
            .int()
            .min(1)
            .max(127)
            .meta(described("Length of the subnet's prefix: 1 to 31 for IPv4, 1 to 127 for IPv6.")),
        vlan: z
            .int()
            .optional()
            .meta(
                described("VLAN ID of the subnet; 0 or absent is untagged.", {
                    rule: "self >= 0 && self <= 4094",
                    message: "must be 0 (untagged) or a VLAN ID from 1 to 4094; 802.1Q reserves 4095",
                }),
            ),
    })
    .meta(described("A range of addresses, and the subnet that it lies in.", ...rangeRules));

// The CEL cost budget grows with the maximum number of ranges; twice as many would still be within it.
const maxRanges = 500;

const familyRule: Rule = {
    rule:
        "!has(self.ipVersion) || !has(self.ipRanges) || self.ipRanges.all(range, " +
        "!has(range.gateway) || !isIP(range.gateway) || ip(range.gateway).family() == self.ipVersion)",
    messageExpression:
        "'must all be IPv' + (self.ipVersion == 4 ? '4' : '6') + ' as ipVersion specifies; create a pool for each IP version'",
    fieldPath: ".ipRanges",
};

/**
 * Schema of `spec` of an IPPool. Its rules are CEL in the metadata (`x-kubernetes-validations`): the API server checks
 * them, zod does not. Overlaps of ranges are rejected by the webhook only.
 */
export const ipPoolSpec = z
    .object({
        ipVersion: z.literal([4, 6]).meta(
            described("IP version of all ranges: 4 or 6. It cannot be changed.", {
                rule: "self == oldSelf",
                message: "cannot be changed; create another pool",
            }),
        ),
        ipRanges: z
            .array(ipRange)
            .min(1)
            .max(maxRanges)
            .meta(described("The ranges, which may lie in several subnets and must not overlap.")),
    })
    .meta(described("The addresses of the pool.", familyRule));
