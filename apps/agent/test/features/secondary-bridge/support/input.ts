import type { Point, ProgramInput } from "../../../platform/host/uplink/support/input.ts";

/**
 * `check` makes the bridge as its NICs are, `connect` also connects the NICs of the Node, until none is being connected;
 * `hold` does so until the standard input ends.
 */
export type NicAction = "recover" | "check" | "connect" | "restore" | "release" | "command" | "wait" | "hold";

/** Input of the program of the tests; `bridge`, `nic` and other actions of ProgramInput have no effect. */
export interface NicProgramInput extends Pick<ProgramInput, "dbSocket" | "folder" | "api" | "checkTimeoutMs"> {
    readonly actions: readonly NicAction[];
    /** Those of the configuration. */
    readonly nics: readonly string[];
    /** The agent is killed at this point of the move of a NIC. */
    readonly kill?: Point & { readonly nic: string };
    /** Reports it and waits for the standard input. */
    readonly pause?: Point & { readonly nic: string };
    /** Be an echo server on this port instead. */
    readonly serve?: number;
}

/** What the program prints after each action but `wait`. */
export interface Reported {
    readonly action: NicAction;
    /** The state of each NIC, by its name. */
    readonly nics: Readonly<Record<string, string>>;
    /** Reason and message of the condition; undefined before the first check. */
    readonly condition?: string;
    readonly problem?: string;
}
