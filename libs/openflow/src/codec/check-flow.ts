import { checkConstant } from "./action/check.ts";
import { type Action, type LearnAction, type Nat } from "./action.ts";
import { callerError } from "./errors.ts";
import { CtState, fieldList, fieldSpec, type FieldName } from "./fields.ts";
import { type Flow, type FlowLike } from "./flow.ts";
import { type SubField } from "./match.ts";
import { canonicalMatch, ones, type MatchEntry } from "./match/canonical.ts";
import { checkedSubField } from "./match/sub-field.ts";

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

function checkWritable(field: FieldName): void {
    if (readOnly.has(field)) throw callerError("BAD_FIELD", `set_field ${field}: the field can only be read`);
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

/** The values that a match fixes for all its packets, for checks of prerequisites. */
class Known {
    /** VLAN tags of the frame, by the match and the actions so far. */
    tags: number;
    readonly #entries: Map<FieldName, MatchEntry>;

    constructor(entries: readonly MatchEntry[]) {
        this.#entries = new Map(entries.map((entry) => [entry.field.name, entry]));
        this.tags = ((this.#entries.get("vlan_vid")?.value ?? 0n) & 0x1000n) === 0n ? 0 : 1;
    }

    /** Adds a constant that a learned flow will match. */
    learn({ field, offset, bits }: SubField, value: bigint): void {
        const spec = fieldSpec(field);
        const mask = bits === spec.bits ? undefined : ones(bits) << BigInt(offset);
        this.#entries.set(field, { field: spec, value: value << BigInt(offset), mask });
    }

    names(): Iterable<FieldName> {
        return this.#entries.keys();
    }

    get ip(): boolean {
        return this.is("eth_type", 0x0800, 0x86dd);
    }

    /** The prerequisite of the field that the match lacks, as text for an error; undefined when it lacks none. */
    missing(field: FieldName): string | undefined {
        if (!this.#etherTypeFits(field)) return etherTypeWords(field);
        const protocol = protocolOf.get(field);
        if (protocol !== undefined && !this.is("ip_proto", protocol)) return `ip_proto ${protocol}`;
        if (field.startsWith("nd_")) return this.#missingNd(field);
        if (field === "vlan_pcp" && this.tags === 0) return "a vlan_vid that matches a tag";
        if (ctTuple.has(field) && !this.#ctValid()) return "a ct_state that only tracked packets have";
        return undefined;
    }

    #etherTypeFits(field: FieldName): boolean {
        const types = etherTypesOf.get(field);
        return types === undefined || this.is("eth_type", ...types);
    }

    #missingNd(field: FieldName): string | undefined {
        const types = field === "nd_sll" ? [135] : field === "nd_tll" ? [136] : [135, 136];
        const fits = this.is("icmpv6_type", ...types) && this.is("icmpv6_code", 0);
        return fits ? undefined : `icmpv6_type ${types.join(" or ")} and icmpv6_code 0`;
    }

    #ctValid(): boolean {
        const entry = this.#entries.get("ct_state");
        if (entry === undefined) return false;
        const { new: isNew, est, rel, rpl, snat, dnat, trk, inv } = CtState;
        const value = Number(entry.value);
        const mask = Number(entry.mask ?? entry.field.all);
        if ((value & (isNew | est | rel | rpl | snat | dnat)) !== 0) return true;
        return (value & trk) !== 0 && (mask & inv) !== 0 && (value & inv) === 0;
    }

    is(field: FieldName, ...values: readonly number[]): boolean {
        const entry = this.#entries.get(field);
        return entry !== undefined && entry.mask === undefined && values.includes(Number(entry.value));
    }
}

/** As many tags as Open vSwitch can match and change. */
const maxTags = 2;

/** Fields that set_field cannot write; ct_mark and ct_label are written inside ct only. */
const readOnly: ReadonlySet<FieldName> = new Set([
    "dp_hash",
    "recirc_id",
    "conj_id",
    "packet_type",
    "in_port",
    "actset_output",
    "eth_type",
    "ip_proto",
    "ip_frag",
    "tcp_flags",
    "mpls_bos",
    "ct_state",
    "ct_zone",
    "ct_mark",
    "ct_label",
    "ct_nw_src",
    "ct_nw_dst",
    "ct_ipv6_src",
    "ct_ipv6_dst",
    "ct_nw_proto",
    "ct_tp_src",
    "ct_tp_dst",
]);

/** In a match, addresses of connections need an eth_type of their family; as a source of `move` they do not. */
const ctFamilies: ReadonlyMap<FieldName, number> = new Map([
    ["ct_nw_src", 0x0800],
    ["ct_nw_dst", 0x0800],
    ["ct_ipv6_src", 0x86dd],
    ["ct_ipv6_dst", 0x86dd],
]);

const ctTuple: ReadonlySet<FieldName> = new Set([
    "ct_nw_src",
    "ct_nw_dst",
    "ct_ipv6_src",
    "ct_ipv6_dst",
    "ct_nw_proto",
    "ct_tp_src",
    "ct_tp_dst",
]);

const protocolOf = byField([
    ["tcp_", 6],
    ["udp_", 17],
    ["sctp_", 132],
    ["icmpv4_", 1],
    ["icmpv6_", 58],
    ["nd_", 58],
]);

const ipv4 = [0x0800];
const ipv6 = [0x86dd];
const anyIp = [0x0800, 0x86dd];
const etherTypesOf = byField<readonly number[]>([
    ["ipv4_", ipv4],
    ["icmpv4_", ipv4],
    ["ipv6_", ipv6],
    ["icmpv6_", ipv6],
    ["nd_", ipv6],
    ["ip_", anyIp],
    ["tcp_", anyIp],
    ["udp_", anyIp],
    ["sctp_", anyIp],
    ["arp_", [0x0806, 0x8035]],
    ["mpls_", [0x8847, 0x8848]],
]);

/** Maps each field to the value of the first prefix that its name starts with; fields without one are left out. */
function byField<T>(prefixes: readonly (readonly [prefix: string, value: T])[]): ReadonlyMap<FieldName, T> {
    return new Map(
        fieldList.flatMap(({ name }) => {
            const found = prefixes.find(([prefix]) => name.startsWith(prefix));
            return found === undefined ? [] : [[name, found[1]] as const];
        }),
    );
}

function etherTypeWords(field: FieldName): string {
    return `eth_type ${(etherTypesOf.get(field) ?? []).map((type) => `0x${type.toString(16).padStart(4, "0")}`).join(" or ")}`;
}
