import type { Step, UplinkTiming } from "../../../../../src/platform/host/uplink/types.ts";

export const uplinkOfPort = 32770;
export const hostOfPort = 32771;
export const linkGroup = 178;

export interface Point {
    readonly step: Step;
    readonly moment: "before" | "written" | "made";
}

/** `check-long` ends when the NIC is the uplink no more, at SIGTERM, and after 120 s. */
export type Action = "recover" | "connect" | "restore" | "check" | "check-long" | "wait" | "cycle" | "command";

/** Input of the program of the tests. */
export interface ProgramInput {
    readonly actions: readonly Action[];
    readonly dbSocket: string;
    readonly folder: string;
    readonly bridge: string;
    readonly nic: string;
    readonly api: { readonly host: string; readonly port: number };
    readonly kill?: Point;
    readonly abort?: Point;
    /** Say so and wait for the standard input. */
    readonly pause?: Point;
    /** The API server never answers. */
    readonly apiAway?: boolean;
    /** The API server is away from the first change on. */
    readonly apiOutage?: boolean;
    /** The API server is on the Node itself. */
    readonly apiIsLocal?: boolean;
    readonly ovsDown?: boolean;
    /** Why OVS is not to be asked. */
    readonly ovsProblem?: string;
    readonly oldKernel?: boolean;
    readonly bootId?: string;
    /** Default: longer than any answer takes on a busy machine. A test that waits for its end has a short one. */
    readonly checkTimeoutMs?: number;
    /**
     * Default: for OVS, limits that are longer than what it does takes on a busy machine; a test that waits for the end
     * of one has a short one.
     */
    readonly timing?: Partial<UplinkTiming>;
    /** Kill before this change in the kernel, counted from 1 from the beginning of the step. */
    readonly killAtChange?: { readonly step: Step; readonly change: number };
    /** Once the NIC is the uplink, the device of the host port is deleted just before this is first read of it. */
    readonly vanishesBefore?: "addresses" | "routes";
    /** Hold the lock of an agent. */
    readonly lock?: boolean;
    readonly force?: boolean;
    /** Be an echo server on this port instead. */
    readonly serve?: number;
    /** Be a client of the echo server instead, until the standard input ends; prints its longest gap. */
    readonly stream?: boolean;
}
