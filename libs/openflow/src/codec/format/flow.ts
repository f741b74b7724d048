import { type Flow, type FlowMod } from "../flow.ts";
import { formatActions } from "./action.ts";
import { matchTerms } from "./match.ts";
import { type Instructions } from "../message/instruction.ts";
import { hex } from "./value.ts";

/**
 * A flow as one line that `ovs-ofctl -O OpenFlow15 add-flow` reads: cookie (when not 0), table, timeouts, priority,
 * match, actions. It has no syntax for a `raw` action, and drops the ports of a `nat` without addresses. Equal flows give
 * equal lines, whatever the order of the keys of the match. Throws `OpenFlowError` `BAD_FIELD` or `BAD_VALUE` for a match
 * or action that cannot be written.
 */
export function formatFlow(flow: Flow): string {
    return [
        ...(flow.cookie === undefined || flow.cookie === 0n ? [] : [`cookie=${hex(flow.cookie)}`]),
        `table=${flow.table}`,
        ...nonZero("idle_timeout", flow.idleTimeout),
        ...nonZero("hard_timeout", flow.hardTimeout),
        ...nonZero("importance", flow.importance),
        ...(flow.sendFlowRemoved === true ? ["send_flow_rem"] : []),
        `priority=${flow.priority}`,
        ...matchTerms(flow.match),
        `actions=${formatInstructions(flow)}`,
    ].join(",");
}

function nonZero(name: string, value: number | undefined): readonly string[] {
    return value === undefined || value === 0 ? [] : [`${name}=${value}`];
}

function formatInstructions(flow: Instructions): string {
    const parts = [
        ...(flow.actions.length === 0 ? [] : [formatActions(flow.actions)]),
        ...(flow.clearActions === true ? ["clear_actions"] : []),
        ...(flow.writeActions === undefined ? [] : [`write_actions(${formatActions(flow.writeActions)})`]),
        ...(flow.writeMetadata === undefined
            ? []
            : [`write_metadata:${hex(flow.writeMetadata.value)}/${hex(flow.writeMetadata.mask)}`]),
        ...(flow.gotoTable === undefined ? [] : [`goto_table:${flow.gotoTable}`]),
    ];
    return parts.length === 0 ? "drop" : parts.join(",");
}

/**
 * A flow change as text for error messages: the command, then table, priority, match and actions as far as they are
 * given. Throws as `formatFlow` does.
 */
export function describeFlowMod({ command, flow }: FlowMod): string {
    return [
        command,
        [
            ...(flow.table === undefined ? [] : [`table=${flow.table}`]),
            ...(flow.priority === undefined ? [] : [`priority=${flow.priority}`]),
            ...matchTerms(flow.match),
            ...(flow.actions === undefined
                ? []
                : [`actions=${formatInstructions({ ...flow, actions: flow.actions })}`]),
        ].join(","),
    ].join(" ");
}
