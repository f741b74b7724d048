import { uplinkCondition } from "@antrea/crd";
import { assertNever } from "@antrea/errors";
import type { UplinkState } from "../../platform/host/uplink/index.ts";

/**
 * A condition of the Node without its timestamps; `reason` in CamelCase as Kubernetes requires, `message` for users.
 */
export interface UplinkCondition {
    readonly type: typeof uplinkCondition;
    readonly status: "True" | "False";
    readonly reason: string;
    readonly message: string;
}

/** An event of the Node: type, reason and note of a Kubernetes event. */
export interface UplinkEvent {
    readonly type: "Normal" | "Warning";
    readonly reason: string;
    readonly message: string;
}

const next =
    "see that the bridge lets the traffic of the Node through (gateway, VLAN, port security), then restart the agent to try again";

/** Maps the uplink state to what users see: condition, event and readiness problem. Pure functions. */
export class UplinkReport {
    /** The condition of the Node; undefined while a move or its resumption is in progress. */
    static condition(state: UplinkState): UplinkCondition | undefined {
        const [status, reason, message] = UplinkReport.#words(state);
        return status === undefined ? undefined : { type: uplinkCondition, status, reason, message };
    }

    /** The condition if the NIC cannot be moved: nothing was changed. */
    static refusal(error: { readonly code: string; readonly message: string }): UplinkCondition {
        return { type: uplinkCondition, status: "False", reason: camelCase(error.code), message: error.message };
    }

    /** The event to record when this state is entered; undefined for states without one. */
    static event(state: UplinkState): UplinkEvent | undefined {
        const [status, reason, message] = UplinkReport.#words(state);
        if (status === undefined || state.kind === "idle") return undefined;
        return { type: status === "True" ? "Normal" : "Warning", reason, message };
    }

    /** Why the uplink makes the agent not ready; undefined if it does not. */
    static problem(state: UplinkState): string | undefined {
        if (state.kind === "moving") return `${state.name} is being moved to the bridge`;
        if (state.kind === "found") return `${state.name} is a port of the bridge, which OVS has to take up again`;
        const [status, , message] = UplinkReport.#words(state);
        return status === "True" ? undefined : message;
    }

    static #words(
        state: UplinkState,
    ): readonly ["True" | "False", reason: string, message: string] | readonly [undefined, "", ""] {
        switch (state.kind) {
            case "idle":
                return ["False", "UplinkNotMoved", "the NIC is not connected to the bridge"];
            case "found":
            case "moving":
                return [undefined, "", ""];
            case "waiting":
                return ["False", "UplinkWaiting", `${state.name} is not moved to the bridge yet: ${state.reason}`];
            case "bridged":
                return [
                    "True",
                    "UplinkBridged",
                    `${state.name} is a port of the bridge; the NIC is named ${state.physicalName}`,
                ];
            case "rolledBack":
                return [
                    "False",
                    "UplinkRolledBack",
                    `the move of ${state.name} to the bridge was undone: ${state.reason}; ${next}`,
                ];
            case "lost":
                return ["False", "UplinkLost", `${state.name} was taken from the bridge again: ${state.reason}`];
            default:
                return assertNever(state);
        }
    }
}

/** Converts "MULTIPATH_ROUTES" to a Kubernetes condition reason: "MultipathRoutes". */
function camelCase(code: string): string {
    return code.replaceAll(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase());
}
