import { type LearnAction, type LearnSpec } from "../action/learn-action.ts";
import { fieldSpec } from "../fields.ts";
import { type SubField } from "../match.ts";
import { formatSubField } from "./sub-field.ts";
import { formatValue, hex } from "./value.ts";

/**
 * A `learn` action in the syntax of ovs-actions(7): `learn(table=1,...)`. Throws `OpenFlowError` `BAD_FIELD` for an
 * unknown field; widths are not checked.
 */
export function formatLearn(action: LearnAction): string {
    return `learn(${[
        `table=${action.table}`,
        ...number("idle_timeout", action.idleTimeout),
        ...number("hard_timeout", action.hardTimeout),
        ...number("fin_idle_timeout", action.finIdleTimeout),
        ...number("fin_hard_timeout", action.finHardTimeout),
        ...number("priority", action.priority),
        ...(action.sendFlowRemoved === true ? ["send_flow_rem"] : []),
        ...(action.deleteLearned === true ? ["delete_learned"] : []),
        ...(action.cookie === undefined ? [] : [`cookie=${hex(action.cookie)}`]),
        ...number("limit", action.limit),
        ...action.specs.map(formatSpec),
    ].join(",")})`;
}

function number(name: string, value: number | undefined): readonly string[] {
    return value === undefined ? [] : [`${name}=${value}`];
}

function formatSpec(spec: LearnSpec): string {
    if (spec.kind === "output") return `output:${formatSubField(spec.source)}`;
    if (spec.kind === "load") {
        const source = "value" in spec.source ? hex(spec.source.value) : formatSubField(spec.source);
        return `load:${source}->${formatSubField(spec.to)}`;
    }
    if ("value" in spec.source) return formatConstant(spec.field, BigInt(spec.source.value));
    const target = formatSubField(spec.field);
    const source = formatSubField(spec.source);
    return target === source ? target : `${target}=${source}`;
}

function formatConstant(target: SubField, value: bigint): string {
    const field = fieldSpec(target.field);
    if (target.offset !== 0 || target.bits !== field.bits) return `${formatSubField(target)}=${hex(value)}`;
    return `${field.ofctl}=${formatValue({ field, value, mask: undefined })}`;
}
