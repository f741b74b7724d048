import { type Clock } from "@antrea/async";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { CarryOutLimits } from "../../../platform/ovs/bridge/index.ts";

/** The ports of the bridge and of its neighbours, as the uplink needs them. */
export interface UplinkPorts {
    port(name: string): { readonly externalIds: ReadonlyMap<string, string> } | undefined;
    /** The bridge that has a port of this name, ours or another one. */
    bridgeOf(name: string): string | undefined;
    ensurePort(spec: UplinkPortSpec, signal?: AbortSignal): Promise<void>;
    /** A port that is gone is a success. */
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
    /** Waits until OVS has carried out what the database says; rejects when that takes longer. */
    carriedOut(limits?: CarryOutLimits): Promise<void>;
    /** Waits for the number that OVS gives; rejects when OVS cannot open the link. */
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number>;
}

export interface UplinkPortSpec {
    readonly name: string;
    readonly type: "" | "internal";
    readonly ofPortRequest: number;
    readonly externalIds: Readonly<Record<string, string>>;
    readonly mac?: string;
    readonly mtuRequest?: number;
}

/** The steps of a move and of the way back, in order. Each is written into the journal before it is made. */
export const steps = [
    "save",
    "rename",
    "host-port",
    "uplink-port",
    "switch",
    "confirm",
    "bridged",
    "switch-back",
    "remove-ports",
    "rename-back",
] as const;

export type Step = (typeof steps)[number];

/** Runs around each step: before its line in the journal, between line and effect, and after the effect. For tests. */
export type Fault = (step: Step, moment: "before" | "written" | "made") => void | Promise<void>;

export interface UplinkComponents {
    readonly netlink: Netlink;
    readonly ports: UplinkPorts;
    readonly logger: Logger;
    /** Whether the API server answers now, by a new connection. */
    readonly apiReachable: (signal: AbortSignal) => Promise<boolean>;
    /** Whether the API server is on this Node itself: then its answer says nothing of the network. Default no. */
    readonly apiIsLocal?: () => Promise<boolean>;
    /** Why OVS cannot be asked for anything now; undefined when it can. Default never. */
    readonly ovsProblem?: () => string | undefined;
    readonly clock?: Clock;
    readonly fault?: Fault;
}

export interface UplinkOptions {
    /** The folder of the journal; made when it is missing. */
    readonly folder: string;
    readonly bootId: string;
    /** How long gateway and API server may both be away after the move until it is undone. */
    readonly checkTimeoutMs: number;
    readonly uplinkOfPort: number;
    readonly hostOfPort: number;
    /** The group of links whose frames are kept from the Node's own stack. */
    readonly linkGroup: number;
    /** The datapath reads copies of frames: the Node's own stack gets them too. */
    readonly copiesFrames: boolean;
    /** The datapath sends frames as they are: no checksum and no segmentation is left to the NIC. */
    readonly mustComputeChecksums: boolean;
    readonly timing?: Partial<UplinkTiming>;
}

export interface UplinkTiming {
    /** How long OVS may take to make a port. Default 10 s. */
    readonly ovsMs: number;
    /** How long OVS may take to take up the host port of a complete move after a start. Default 3 s. */
    readonly carrierMs: number;
    /** How long OVS may be away until the Node gets its NIC back. Default 5 s. */
    readonly lossMs: number;
    /** How often at most the journal follows what changes on the host port. Default 10 s. */
    readonly saveMs: number;
}

export const defaultUplinkTiming: UplinkTiming = {
    ovsMs: 10_000,
    carrierMs: 3_000,
    lossMs: 5_000,
    saveMs: 10_000,
};

export type UplinkState =
    /** The NIC is as the Node had it. */
    | { readonly kind: "idle" }
    /** The NIC is a port since an earlier start: `connect` takes it up. */
    | UplinkFound
    /** The move does not begin before OVS is connected and the API server answers. */
    | UplinkWaiting
    | { readonly kind: "moving"; readonly name: string }
    | UplinkBridged
    | UplinkRolledBack
    /** The NIC was brought back because OVS, or the device of the host port, is gone; `connect` moves it again. */
    | UplinkLost;

export interface UplinkFound {
    readonly kind: "found";
    readonly name: string;
}

export interface UplinkWaiting {
    readonly kind: "waiting";
    readonly name: string;
    readonly reason: string;
}

export interface UplinkLost {
    readonly kind: "lost";
    readonly name: string;
    readonly reason: string;
}

export interface UplinkBridged {
    readonly kind: "bridged";
    /** The host port has the name that the NIC had. */
    readonly name: string;
    readonly physicalName: string;
    readonly mac: string;
}

export interface UplinkRolledBack {
    readonly kind: "rolledBack";
    readonly name: string;
    readonly reason: string;
}
