import { type Clock } from "@antrea/async";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { VswitchdAckLimits } from "../../ovs/bridge/index.ts";

/**
 * The ports of this and other bridges, as the uplink uses them; OvsBridge fits. Asynchronous methods reject with
 * OvsdbError (`TIMEOUT`, `ABORTED`, or of the transaction) or OvsBridgeError.
 */
export interface UplinkPorts {
    /** The port of this name on this agent's bridge; undefined if there is none. */
    port(name: string): { readonly externalIds: ReadonlyMap<string, string> } | undefined;
    /** The bridge that has a port of this name, this agent's or another one; undefined if none has. */
    bridgeOf(name: string): string | undefined;
    /** Creates the port in the database, or updates it; does not wait for OVS. */
    ensurePort(spec: UplinkPortSpec, signal?: AbortSignal): Promise<void>;
    /** Succeeds if the port is gone already. */
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
    /**
     * Waits until ovs-vswitchd has applied the database contents; rejects with OvsdbError `TIMEOUT`, by default after
     * 10 s.
     */
    acknowledged(limits?: VswitchdAckLimits): Promise<void>;
    /**
     * Waits for the OpenFlow port number that OVS assigns. Rejects with OvsBridgeError `PORT_REFUSED` if OVS cannot
     * open the link, with OvsdbError `TIMEOUT` after `timeoutMs` milliseconds.
     */
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number>;
}

/** A port to create, as the columns of its OVSDB rows. */
export interface UplinkPortSpec {
    readonly name: string;
    /**
     * Column `type` of the Interface (ovs-vswitchd.conf.db(5)): "" for an existing link, "internal" for a device that
     * OVS creates.
     */
    readonly type: "" | "internal";
    /** OpenFlow port number to request; OVS may assign another one. */
    readonly ofPortRequest: number;
    /** Column `external_ids` of the Port; replaces all of an existing port. */
    readonly externalIds: Readonly<Record<string, string>>;
    /** As text; OVS decides by default. */
    readonly mac?: string;
    /** In bytes; OVS decides by default. */
    readonly mtuRequest?: number;
}

/**
 * The steps of a move (`save` to `bridged`) and of its rollback, in order. Each is written to the journal before it is
 * made, so a journal may have a step that was not made. A rollback goes on if the journal cannot be written: its steps
 * may be made without being there.
 */
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

/** A step of a move or of its rollback. */
export type Step = (typeof steps)[number];

/**
 * Test hook for each step: called and awaited before its journal entry, between entry and effect, and after the effect;
 * what it throws ends the move there.
 */
export type Fault = (step: Step, moment: "before" | "written" | "made") => void | Promise<void>;

/** Dependencies of Uplink. */
export interface UplinkComponents {
    readonly netlink: Netlink;
    readonly ports: UplinkPorts;
    readonly logger: Logger;
    /** Whether the API server answers on a new connection; false when the signal aborts. A rejection counts as no. */
    readonly apiReachable: (signal: AbortSignal) => Promise<boolean>;
    /** Whether the API server runs on this Node: its answer then does not prove connectivity. Default false. */
    readonly apiIsLocal?: () => Promise<boolean>;
    /** Why OVS cannot be used now; undefined if it can. Default undefined. */
    readonly ovsProblem?: () => string | undefined;
    /** Default the system clock. */
    readonly clock?: Clock;
    /** Default none. */
    readonly fault?: Fault;
}

/** Settings of Uplink. */
export interface UplinkOptions {
    /** Directory of the journal; created if missing. */
    readonly folder: string;
    /** /proc/sys/kernel/random/boot_id. */
    readonly bootId: string;
    /**
     * How long both gateway and API server may be unreachable after the move before it is rolled back, in milliseconds.
     */
    readonly checkTimeoutMs: number;
    /** OpenFlow port number to request for the NIC. */
    readonly uplinkOfPort: number;
    /** OpenFlow port number to request for the host port. */
    readonly hostOfPort: number;
    /**
     * The link group (IFLA_GROUP) that the NIC gets as a port on a datapath that copies frames: the host input filter
     * drops its frames.
     */
    readonly linkGroup: number;
    /** The datapath receives copies of frames: the Node's own network stack receives them too. */
    readonly copiesFrames: boolean;
    /** The datapath sends frames unmodified: checksums and segmentation cannot be left to the NIC. */
    readonly mustComputeChecksums: boolean;
    /**
     * Whether a NIC that appears moved, and whose journal is lost, is this uplink's: `name` is its original name. Default:
     * all are.
     */
    readonly isOwn?: (moved: { readonly name: string; readonly physicalName: string }) => boolean;
    /** Whether, without default routes, the gateways of the other routes verify the move. Default false. */
    readonly usesAllGateways?: boolean;
    /** Default `defaultUplinkTiming`. */
    readonly timing?: Partial<UplinkTiming>;
}

/** Time limits in milliseconds. */
export interface UplinkTiming {
    /** How long OVS may take to create a port. Default 10 s. */
    readonly ovsMs: number;
    /** How long OVS may take, after a start, to adopt the host port of a complete move. Default 3 s. */
    readonly carrierMs: number;
    /** How long OVS may be unavailable before the NIC is restored. Default 5 s. */
    readonly lossMs: number;
    /** Minimum interval between journal updates for changes on the host port. Default 10 s. */
    readonly saveMs: number;
}

/** The defaults of UplinkTiming, in milliseconds. */
export const defaultUplinkTiming: UplinkTiming = {
    ovsMs: 10_000,
    carrierMs: 3_000,
    lossMs: 5_000,
    saveMs: 10_000,
};

/** State of the uplink; names are those of the NIC. */
export type UplinkState =
    /** The NIC is not moved. */
    | { readonly kind: "idle" }
    /** The NIC is a port since an earlier start: `connect` adopts it. */
    | UplinkFound
    /** The move waits until OVS is connected and the API server answers. */
    | UplinkWaiting
    /** The move is in progress. */
    | { readonly kind: "moving"; readonly name: string }
    | UplinkBridged
    | UplinkRolledBack
    /** The NIC was restored because OVS or the host port's device is gone; `connect` moves it again. */
    | UplinkLost;

/** The NIC is a port since an earlier start; `name` is its original one. */
export interface UplinkFound {
    readonly kind: "found";
    readonly name: string;
}

/** The NIC is not moved; `reason` is why the move waits, as part of a sentence. */
export interface UplinkWaiting {
    readonly kind: "waiting";
    readonly name: string;
    readonly reason: string;
}

/** The NIC was restored because OVS or the host port's device is gone; `reason` is what failed and for how long. */
export interface UplinkLost {
    readonly kind: "lost";
    readonly name: string;
    readonly reason: string;
}

/** The NIC is a port of the bridge, and the host port has its name. */
export interface UplinkBridged {
    readonly kind: "bridged";
    /** The name of the host port, which is the NIC's original name. */
    readonly name: string;
    /** The name of the NIC as a port. */
    readonly physicalName: string;
    /** MAC address of the NIC and of the host port, as text. */
    readonly mac: string;
}

/** The move was rolled back, for this reason, as part of a sentence; the NIC has its name and addresses again. */
export interface UplinkRolledBack {
    readonly kind: "rolledBack";
    readonly name: string;
    readonly reason: string;
}
