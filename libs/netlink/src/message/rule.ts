import { type Rule } from "../types/rule.ts";
import { Attributes } from "./attributes.ts";
import { MessageFlag, MessageType, RuleAttribute, TO_TABLE } from "./constants.ts";
import { familyNumber, familyOf } from "./family.ts";
import { Reader } from "./reader.ts";
import { CREATE, type Query, type Request } from "./request.ts";
import { Writer } from "./writer.ts";

/**
 * Reads the payload of RTM_NEWRULE: struct fib_rule_hdr and FRA_*. Undefined for a family other than IPv4 and IPv6.
 * Throws `NetlinkError` `SHORT_MESSAGE`, `BAD_MESSAGE`.
 */
export function decodeRule(payload: Uint8Array): Rule | undefined {
    const reader = new Reader(payload, "rule");
    const family = familyOf(reader.u8());
    reader.skip(3); // lengths of source and destination, type of service
    const shortTable = reader.u8();
    reader.skip(2);
    const action = reader.u8();
    reader.skip(4); // flags
    if (family === undefined) return undefined;
    const attributes = new Attributes(reader.rest(), "rule");
    return {
        family,
        priority: attributes.u32(RuleAttribute.PRIORITY) ?? 0,
        table: action === TO_TABLE ? (attributes.u32(RuleAttribute.TABLE) ?? shortTable) : 0,
        mark: attributes.u32(RuleAttribute.MARK) ?? 0,
        mask: attributes.u32(RuleAttribute.MASK) ?? 0,
        protocol: attributes.bytes(RuleAttribute.PROTOCOL)?.[0] ?? 0,
    };
}

/**
 * The query for the rules of all families, whatever others there are; a list, for `Exchange.dump`. One for a family that the
 * kernel does not have, as IPv6 after `ipv6.disable=1`, would be refused with `EAFNOSUPPORT`.
 */
export function queryRules(): Query {
    const body = new Writer().bytes(new Uint8Array(12)).finish();
    return { type: MessageType.GETRULE, flags: MessageFlag.DUMP, body, label: "list rules" };
}

/**
 * The request that adds a rule; the kernel answers `EEXIST` for an identical one. Throws `NetlinkError` `BAD_ARGUMENT`
 * for a number that is not valid.
 */
export function addRule(rule: Rule): Request {
    return { type: MessageType.NEWRULE, flags: CREATE, body: bodyOf(rule), label: `add ${textOf(rule)}` };
}

/** The request that deletes a rule; its absence is no failure. Throws as `addRule`. */
export function deleteRule(rule: Rule): Request {
    return {
        type: MessageType.DELRULE,
        flags: 0,
        body: bodyOf(rule),
        label: `delete ${textOf(rule)}`,
        absentCodes: ["ENOENT"],
    };
}

function bodyOf(rule: Rule): Uint8Array {
    const { family, priority, table, mark, mask, protocol } = rule;
    return new Writer({ object: () => textOf(rule) })
        .u8(familyNumber(family))
        .u8(0)
        .u8(0)
        .u8(0)
        .u8(0) // the table is an attribute
        .u8(0)
        .u8(0)
        .u8(TO_TABLE)
        .u32(0)
        .attributeU32(RuleAttribute.PRIORITY, priority, "priority")
        .attributeU32(RuleAttribute.TABLE, table, "table")
        .attributeU32(RuleAttribute.MARK, mark, "mark")
        .attributeU32(RuleAttribute.MASK, mask, "mask")
        .attributeU8(RuleAttribute.PROTOCOL, protocol, "protocol")
        .finish();
}

function textOf({ family, priority, table, mark, mask }: Rule): string {
    return `IPv${family} rule ${priority}: mark 0x${mark.toString(16)}/0x${mask.toString(16)} to table ${table}`;
}
