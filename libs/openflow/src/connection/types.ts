import { type CtFlush } from "../codec/ct-flush.ts";
import { type FlowStats } from "../codec/flow.ts";
import { type Group, type GroupCounters } from "../codec/group.ts";
import { type Match } from "../codec/match.ts";
import { type BundleMod } from "../codec/message/bundle.ts";
import { type PortDescription } from "../codec/message/port-description.ts";
import { type FlowTotals } from "../codec/message/stats.ts";
import { type Meter, type MeterMod } from "../codec/meter.ts";
import { type PacketIn, type PacketOut } from "../codec/packet.ts";

/** The methods of a logger that the connection uses; `createLogger` of `@antrea/runtime` returns such a logger. */
export interface ConnectionLogger {
    debug(message: string, fields?: Record<string, unknown>): void;
    info(message: string, fields?: Record<string, unknown>): void;
    warn(message: string, fields?: Record<string, unknown>): void;
}

/** What the connection needs from outside: a logger, for its state and for messages without a caller. */
export interface ConnectionComponents {
    readonly logger: ConnectionLogger;
}

/** Options of an `OpenFlowConnection`. Times are in milliseconds. */
export interface ConnectionOptions {
    /** The unix socket on which ovs-vswitchd serves the bridge: `<run folder>/<bridge>.mgmt`. */
    readonly socketPath: string;
    /**
     * Most bytes that wait to be read by the switch; a request beyond it fails with `BUFFER_FULL`, or `TOO_BIG` if it
     * alone is larger. Default 32 MiB.
     */
    readonly maxBufferBytes?: number;
    /** Most bytes of one multipart answer; a longer one fails with `TOO_BIG`. Default 256 MiB. */
    readonly maxReplyBytes?: number;
    /** Interval of echo requests. Default 5000. */
    readonly echoIntervalMs?: number;
    /** The connection ends when nothing is received for this long after an echo request. Default 10000. */
    readonly echoTimeoutMs?: number;
    /** Time limit for connecting and negotiating. Default 5000. */
    readonly handshakeTimeoutMs?: number;
    /** Default time limit of a call, which includes the wait for the connection. Default 10000. */
    readonly requestTimeoutMs?: number;
    /** Pause before the second attempt; it doubles up to `maxBackoffMs`. Defaults 50 and 2000. */
    readonly minBackoffMs?: number;
    readonly maxBackoffMs?: number;
    /** Id of this connection in `controller` actions, 0 to 65535. Default 0. */
    readonly controllerId?: number;
}

/** `ConnectionOptions` in which every default is filled in. */
export type ResolvedOptions = Required<ConnectionOptions>;

/** The defaults of `ConnectionOptions`: bytes and milliseconds. */
export const defaultConnectionOptions: Omit<ResolvedOptions, "socketPath"> = {
    maxBufferBytes: 32 << 20,
    maxReplyBytes: 256 << 20,
    echoIntervalMs: 5_000,
    echoTimeoutMs: 10_000,
    handshakeTimeoutMs: 5_000,
    requestTimeoutMs: 10_000,
    minBackoffMs: 50,
    maxBackoffMs: 2_000,
    controllerId: 0,
};

/**
 * State of an `OpenFlowConnection`.
 *
 * - `closed`: not started (calls wait), or ended (calls reject with `ABORTED`).
 * - `connecting`: before the first connection and between two; calls wait.
 * - `replaying`: negotiated, the `onReady` listeners run; calls wait.
 * - `ready`: calls are sent at once.
 */
export type ConnectionState =
    | { readonly kind: "closed" }
    | { readonly kind: "connecting" }
    | { readonly kind: "replaying"; readonly datapathId: bigint }
    | { readonly kind: "ready"; readonly datapathId: bigint };

/**
 * Options of one call; none is needed. The time limit rejects with `NOT_CONNECTED` before, `TIMEOUT` after the request
 * was sent.
 */
export interface CallOptions {
    /** Ends the wait with `ABORTED`; what was sent may still take effect. */
    readonly signal?: AbortSignal | undefined;
    /** Time limit in milliseconds. Default `requestTimeoutMs` of the connection. */
    readonly timeoutMs?: number;
}

/** Options of a bundle; none is needed. */
export interface BundleOptions extends CallOptions {
    /** The switch applies the changes in the order given (OFPBF_ORDERED). Default true. */
    readonly ordered?: boolean;
}

/**
 * Selects the flows of a dump or count: those that fit all members; what is absent does not filter, `{}` selects all.
 */
export interface FlowFilter {
    readonly table?: number;
    readonly cookie?: bigint;
    /** The bits of `cookie` that are compared. Default all, when `cookie` is given. */
    readonly cookieMask?: bigint;
    /** Flows whose match is this or narrower. */
    readonly match?: Match;
    /** Flows that output to this port. */
    readonly outPort?: number;
}

/**
 * The requests of one established connection, as those of `OpenFlowConnection` with the same names. A replay has it
 * before other callers may send. When the connection ends, pending calls reject with `DISCONNECTED`, or `ABORTED` if it
 * was closed on purpose, and later ones with `DISCONNECTED`.
 */
export interface ReplayLink {
    readonly datapathId: bigint;
    /** Applies all changes, or none; without changes nothing is sent. */
    bundle(mods: readonly BundleMod[], options?: BundleOptions): Promise<void>;
    /** Resolves when the switch has processed all messages sent before. */
    barrier(options?: CallOptions): Promise<void>;
    /** The flows that fit the filter, with their counters. */
    dumpFlows(filter?: FlowFilter, options?: CallOptions): Promise<FlowStats[]>;
    /** The number of flows that fit the filter, and the sums of their counters. */
    countFlows(filter?: FlowFilter, options?: CallOptions): Promise<FlowTotals>;
    /** The group with this id, if it exists, or all groups; not for groups of more than 64 KiB. */
    dumpGroups(id?: number, options?: CallOptions): Promise<Group[]>;
    /** The counters of the group with this id, if it exists, or of all groups; not for groups of more than 4,091 buckets. */
    groupCounters(id?: number, options?: CallOptions): Promise<GroupCounters[]>;
    /** Applies a change of a meter, which no bundle can hold. */
    changeMeter(mod: MeterMod, options?: CallOptions): Promise<void>;
    /** All meters. */
    dumpMeters(options?: CallOptions): Promise<Meter[]>;
    /** Removes connections from the connection tracker of the datapath. */
    flushConnections(flushes: readonly CtFlush[], options?: CallOptions): Promise<void>;
    /** All ports of the bridge. */
    ports(options?: CallOptions): Promise<PortDescription[]>;
    /**
     * Sends without an answer; an error that the switch reports is logged. Throws as that of `OpenFlowConnection`, but
     * `DISCONNECTED` when the connection has ended.
     */
    packetOut(packet: PacketOut): void;
}

/**
 * Called after each connect, in the order of registration, one after the other, before other callers may send. It must
 * send with the link it is given: `bundle` of the connection itself waits for the end of the replay. When it rejects or
 * throws, the error is logged and the connection is closed and connected again.
 */
export type ReplayListener = (link: ReplayLink) => Promise<void> | void;

/** Called synchronously for each packet-in; an error that it throws is logged and affects no other listener. */
export type PacketInListener = (packet: PacketIn) => void;
