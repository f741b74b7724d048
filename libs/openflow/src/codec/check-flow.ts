import { type Action, type Nat } from "./action.ts";
import { checkConstant } from "./action/check.ts";
import { type LearnAction } from "./action/learn-action.ts";
import { callerError } from "./errors.ts";
import { type FieldName } from "./fields.ts";
import { type Flow, type FlowLike } from "./flow.ts";
import { ctFamilies, Known, maxTags } from "./known-fields.ts";
import { type SubField } from "./match.ts";
import { canonicalMatch } from "./match/canonical.ts";
import { checkedSubField } from "./match/sub-field.ts";
import { checkWritable } from "./writable-fields.ts";

/**
 * Rejects a flow that Open vSwitch would reject when it reads the message: fields without their prerequisites in the
 * match, actions that do not fit the match, a `gotoTable` that is not above the flow's table, `conjunction` with other
 * actions. For flows to add or modify; writing checks the widths of numbers. Throws `OpenFlowError` `BAD_FIELD` or
 * `BAD_VALUE`.
 *
 * It matters for bundles: the switch does not add such a message to the bundle and commits the others without it. The
 * rules are those of ovs-fields(7) "Prerequisites" and ovs-actions(7).
 */
export function checkFlow(flow: FlowLike): void {
    const known = new Known(canonicalMatch(flow.match));
    for (const name of known.names()) {
        const missing = known.missing(name);
        const family = ctFamilies.get(name);
        const noFamily =
            family !== undefined && !known.is("eth_type", family) ? `eth_type 0x${family.toString(16)}` : undefined;
        const lacks = missing ?? noFamily;
        if (lacks !== undefined) throw callerError("BAD_FIELD", `match: ${name} needs ${lacks} in the same match`);
    }
    checkActions(flow.actions ?? [], known);
    // Run on the frame that the actions leave.
    checkActions(flow.writeActions ?? [], known);
    checkConjunction(flow);
    checkGoto(flow);
}

/**
 * The part of `checkFlow` that applies to actions without a match, as the buckets of a group have them. Throws
 * `OpenFlowError` `BAD_FIELD` or `BAD_VALUE`.
 */
export function checkUnmatchedActions(actions: readonly Action[]): void {
    for (const action of actions) {
        if (action.type === "set_field") checkWritable(action.field);
        else if (action.type === "ct") (action.exec ?? []).forEach(checkExecTarget);
        else if (action.type === "clone") checkUnmatchedActions(action.actions);
    }
    checkConjunction({ match: {}, actions });
}

function checkConjunction({
    actions = [],
    gotoTable,
    writeActions,
    clearActions = false,
    writeMetadata,
}: FlowLike): void {
    if (!actions.some(({ type }) => type === "conjunction")) return;
    const others = clearActions || [gotoTable, writeActions, writeMetadata].some((part) => part !== undefined);
    if (others || actions.some(({ type }) => type !== "conjunction" && type !== "note")) {
        throw callerError("BAD_VALUE", "conjunction stands with other actions; only note may stand beside it");
    }
}

function checkGoto({ table, gotoTable }: Partial<Flow>): void {
    if (table === undefined || gotoTable === undefined || gotoTable > table) return;
    throw callerError(
        "BAD_VALUE",
        `goto_table ${gotoTable} in table ${table}: the next table must have a higher number`,
    );
}

function checkActions(actions: readonly Action[], known: Known): void {
    for (const action of actions) checkAction(action, known);
}

function checkAction(action: Action, known: Known): void {
    switch (action.type) {
        case "set_field":
            return checkSetField(action.field, known);
        case "move":
            return [action.from, action.to].forEach((sub: SubField) => need(known, sub.field, "move"));
        case "dec_ttl":
            return needIp(known, "dec_ttl");
        case "ct":
            needIp(known, "ct");
            if (action.nat !== undefined) checkNat(action.nat, known);
            return checkExec(action.exec ?? [], known);
        case "clone":
            return checkClone(action.actions, known);
        case "output_field":
            return need(known, action.source.field, "output_field");
        case "learn":
            return checkLearn(action, known);
        case "push_vlan":
            if (known.tags === maxTags)
                throw callerError("BAD_VALUE", `push_vlan: a frame has at most ${maxTags} tags`);
            known.tags += 1;
            return;
        case "pop_vlan":
            if (known.tags === 0) throw inconsistent("pop_vlan", "a vlan_vid that matches a tag");
            known.tags -= 1;
            return;
        default:
            return;
    }
}

/** Tags of the copy are its own. */
function checkClone(actions: readonly Action[], known: Known): void {
    const { tags } = known;
    checkActions(actions, known);
    known.tags = tags;
}

function checkSetField(field: FieldName, known: Known): void {
    checkWritable(field);
    need(known, field, "set_field");
    if (field === "vlan_vid" && known.tags === 0) {
        throw inconsistent("set_field vlan_vid", "a tag in the match or push_vlan");
    }
    if (field === "vlan_tci") known.tags = Math.max(known.tags, 1);
}

/** The flow that is learned has a match of its own, in which earlier parts are prerequisites of later ones. */
function checkLearn(action: LearnAction, known: Known): void {
    const learned = new Known([]);
    for (const spec of action.specs) {
        if (!("value" in spec.source)) need(known, spec.source.field, "learn from");
        if (spec.kind === "load") need(learned, spec.to.field, "learn load to");
        if (spec.kind !== "match") continue;
        need(learned, spec.field.field, "learn match");
        if (!("value" in spec.source)) continue;
        checkedSubField(spec.field, "learn match");
        learned.learn(spec.field, checkConstant(spec.source.value, spec.field, "learn"));
    }
}

function checkNat(nat: Nat, known: Known): void {
    if (nat.kind === "restore" || nat.min === undefined) return;
    const type = nat.min.family === 4 ? 0x0800 : 0x86dd;
    if (!known.is("eth_type", type))
        throw inconsistent(`nat to IPv${nat.min.family}`, `eth_type 0x${type.toString(16)}`);
}

function checkExec(actions: readonly Action[], known: Known): void {
    for (const action of actions) {
        checkExecTarget(action);
        if (action.type === "move") need(known, action.from.field, "ct exec move");
    }
}

function checkExecTarget(action: Action): void {
    const target = action.type === "set_field" ? action.field : action.type === "move" ? action.to.field : undefined;
    if (target === "ct_mark" || target === "ct_label") return;
    throw callerError("BAD_VALUE", `ct exec: ${action.type} ${target ?? ""} is not allowed, only ct_mark and ct_label`);
}

function need(known: Known, field: FieldName, what: string): void {
    const missing = known.missing(field);
    if (missing !== undefined) throw inconsistent(`${what} ${field}`, missing);
}

function needIp(known: Known, what: string): void {
    if (!known.ip) throw inconsistent(what, "eth_type 0x0800 or 0x86dd");
}

function inconsistent(what: string, missing: string): ReturnType<typeof callerError> {
    return callerError("BAD_FIELD", `${what} needs ${missing} in the flow's match`);
}
