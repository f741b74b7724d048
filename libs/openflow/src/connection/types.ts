import { type FlowMod, type FlowStats } from "../codec/flow.ts";
import { type Match } from "../codec/match.ts";
import { type PortDescription } from "../codec/message/multipart.ts";
import { type FlowTotals } from "../codec/message/stats.ts";
import { type PacketIn, type PacketOut } from "../codec/packet.ts";

/** What the connection needs of a logger; `createLogger` of `@antrea/runtime` fits. */
export interface ConnectionLogger {
    debug(message: string, fields?: Record<string, unknown>): void;
    info(message: string, fields?: Record<string, unknown>): void;
    warn(message: string, fields?: Record<string, unknown>): void;
}

export interface ConnectionComponents {
    readonly logger: ConnectionLogger;
}

export interface ConnectionOptions {
    /** The unix socket on which ovs-vswitchd serves the bridge: `<run folder>/<bridge>.mgmt`. */
    readonly socketPath: string;
    /** Bytes that may wait to be read by the switch; what would pass it is refused with `BUFFER_FULL`. Default 32 MiB. */
    readonly maxBufferBytes?: number;
    /** Bytes of one multipart answer. Default 256 MiB. */
    readonly maxReplyBytes?: number;
    /** Pause between echo requests. Default 5000. */
    readonly echoIntervalMs?: number;
    /** The connection counts as dead when the switch says nothing for this long after an echo request. Default 10000. */
    readonly echoTimeoutMs?: number;
    /** For connecting and negotiating. Default 5000. */
    readonly handshakeTimeoutMs?: number;
    /** Of a call that names none, the wait for the connection included. Default 10000. */
    readonly requestTimeoutMs?: number;
    /** Pause before the second attempt; it doubles up to `maxBackoffMs`. Defaults 50 and 2000. */
    readonly minBackoffMs?: number;
    readonly maxBackoffMs?: number;
    /** The id that `controller` actions name to reach this connection. Default 0. */
    readonly controllerId?: number;
}

/** Options with every default filled in. */
export type ResolvedOptions = Required<ConnectionOptions>;

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
 * - `closed`: not started, or ended.
 * - `connecting`: between two connections; calls wait.
 * - `replaying`: negotiated, the `onReady` listeners are at work; calls wait.
 * - `ready`: open to everybody.
 */
export type ConnectionState =
    | { readonly kind: "closed" }
    | { readonly kind: "connecting" }
    | { readonly kind: "replaying"; readonly datapathId: bigint }
    | { readonly kind: "ready"; readonly datapathId: bigint };

export interface CallOptions {
    /** Gives up waiting; what was sent may still take effect. */
    readonly signal?: AbortSignal;
    /** Default `requestTimeoutMs` of the connection. */
    readonly timeoutMs?: number;
}

export interface BundleOptions extends CallOptions {
    /** Apply in the order given. Default true; without it the switch may reorder. */
    readonly ordered?: boolean;
}

/** Which flows a dump gives or a count counts; what is absent does not filter. */
export interface FlowFilter {
    readonly table?: number;
    readonly cookie?: bigint;
    /** The bits of `cookie` that count. Default all, when `cookie` is given. */
    readonly cookieMask?: bigint;
    /** Flows whose match is this or narrower. */
    readonly match?: Match;
    readonly outPort?: number;
}

/**
 * What can be asked over one established connection. The replay gets it before anybody else may send; it ends with the
 * connection, after which every call rejects with `DISCONNECTED`.
 */
export interface ReplayLink {
    readonly datapathId: bigint;
    bundle(mods: readonly FlowMod[], options?: BundleOptions): Promise<void>;
    barrier(options?: CallOptions): Promise<void>;
    dumpFlows(filter?: FlowFilter, options?: CallOptions): Promise<FlowStats[]>;
    countFlows(filter?: FlowFilter, options?: CallOptions): Promise<FlowTotals>;
    ports(options?: CallOptions): Promise<PortDescription[]>;
    /** Nobody answers a packet-out: when the switch refuses it, that is logged. */
    packetOut(packet: PacketOut): void;
}

/**
 * Called after each (re)connect, in the order of registration, one after the other, before other callers are let
 * through. It sends with the link it is given: `bundle` of the connection itself waits for the end of the replay. When
 * it rejects, the connection is dropped and made anew.
 */
export type ReplayListener = (link: ReplayLink) => Promise<void> | void;

export type PacketInListener = (packet: PacketIn) => void;
