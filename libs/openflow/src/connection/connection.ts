import { Backoff, sleep } from "@antrea/async";
import { isErrorOf, messageOf } from "@antrea/errors";
import { OpenFlowError } from "../codec/errors.ts";
import { type CtFlush } from "../codec/ct-flush.ts";
import { type FlowStats } from "../codec/flow.ts";
import { type Group, type GroupCounters } from "../codec/group.ts";
import { type BundleMod } from "../codec/message/bundle.ts";
import { type PortDescription } from "../codec/message/port-description.ts";
import { type Meter, type MeterMod } from "../codec/meter.ts";
import { type PacketIn, type PacketOut } from "../codec/packet.ts";
import { type FlowTotals } from "../codec/message/stats.ts";
import { aborted } from "./calls.ts";
import { Gate } from "./gate.ts";
import { openLink } from "./handshake.ts";
import { type Link } from "./link.ts";
import {
    defaultConnectionOptions,
    type BundleOptions,
    type CallOptions,
    type ConnectionComponents,
    type ConnectionLogger,
    type ConnectionOptions,
    type ConnectionState,
    type FlowFilter,
    type PacketInListener,
    type ReplayListener,
    type ResolvedOptions,
} from "./types.ts";

/**
 * The connection to one bridge of ovs-vswitchd. It connects at `start`, reconnects with growing pauses, and serves
 * callers only after all `onReady` listeners have done their replay. Calls made before that wait, up to their timeout.
 * When the connection breaks, calls that wait for an answer reject with `DISCONNECTED` (`retryable`): the switch may
 * have applied them, and the replay restores the desired tables in either case.
 *
 * All methods that return a promise reject with `OpenFlowError`: `NOT_CONNECTED`, `DISCONNECTED`, `TIMEOUT`,
 * `BUFFER_FULL`, `ABORTED`, `REFUSED`, or a code of the codec for arguments that cannot be sent and answers that cannot
 * be read.
 */
export class OpenFlowConnection {
    readonly #logger: ConnectionLogger;
    readonly #options: ResolvedOptions;
    readonly #replays = new Set<ReplayListener>();
    readonly #packetIns = new Set<PacketInListener>();
    readonly #gate = new Gate<Link>();
    readonly #closing = new AbortController();
    #state: ConnectionState = { kind: "closed" };
    /** Releases what the current state holds. */
    #leave: () => void = () => undefined;
    #run: Promise<void> | undefined;

    constructor(components: ConnectionComponents, options: ConnectionOptions) {
        this.#logger = components.logger;
        this.#options = { ...defaultConnectionOptions, ...options };
    }

    /**
     * Starts to connect; ends when `signal` is aborted, or with `close`. Throws `OpenFlowError` `NOT_CONNECTED` at a
     * second call.
     */
    start(signal: AbortSignal): void {
        if (this.#run !== undefined) {
            throw new OpenFlowError("NOT_CONNECTED", "internal", "the OpenFlow connection was started a second time");
        }
        this.#run = this.#keepConnected(AbortSignal.any([signal, this.#closing.signal]));
    }

    /** The current state. */
    get state(): ConnectionState {
        return this.#state;
    }

    /** Adds a replay; disposal removes it. Registered while connected, it is first called at the next connection. */
    onReady(listener: ReplayListener): Disposable {
        this.#replays.add(listener);
        return { [Symbol.dispose]: () => void this.#replays.delete(listener) };
    }

    /**
     * Adds a listener for packet-ins, which is called synchronously for each one; disposal removes it. An error that it
     * throws is logged.
     */
    onPacketIn(listener: PacketInListener): Disposable {
        this.#packetIns.add(listener);
        return { [Symbol.dispose]: () => void this.#packetIns.delete(listener) };
    }

    /**
     * Applies all changes of flows and groups, or none, as one atomic bundle (OpenFlow 1.5 section 7.3.9); without
     * changes nothing is sent. A group may be larger than a message. Any number of bundles may be pending; the switch
     * applies them in the order of the calls. Rejects with `BAD_FIELD` or `BAD_VALUE` (`checkFlow`) before anything is
     * sent, or `REFUSED`; the details have the change at fault, if there is one. With `details.partial` the switch
     * applied the other changes.
     */
    async bundle(mods: readonly BundleMod[], options: BundleOptions = {}): Promise<void> {
        return this.#through(options, (link, left) => link.bundle(mods, left));
    }

    /** Resolves when the switch has processed all messages sent before. */
    async barrier(options: CallOptions = {}): Promise<void> {
        return this.#through(options, (link, left) => link.barrier(left));
    }

    /** The flows of the switch that fit the filter, with their counters. */
    async dumpFlows(filter: FlowFilter = {}, options: CallOptions = {}): Promise<FlowStats[]> {
        return this.#through(options, (link, left) => link.dumpFlows(filter, left));
    }

    /** The number of flows that fit the filter, and the sums of their counters. */
    async countFlows(filter: FlowFilter = {}, options: CallOptions = {}): Promise<FlowTotals> {
        return this.#through(options, (link, left) => link.countFlows(filter, left));
    }

    /**
     * The group with this id, if it exists, or all groups. Open vSwitch 3.1 cannot describe a group of more than 64 KiB
     * (with a translation in each bucket about 800): the answer is wrong or cannot be read, and the connection ends.
     */
    async dumpGroups(id?: number, options: CallOptions = {}): Promise<Group[]> {
        return this.#through(options, (link, left) => link.dumpGroups(id, left));
    }

    /**
     * The counters of the group with this id, if it exists, or of all groups. A group of more than 4,091 buckets is too
     * large for it, as with `dumpGroups`.
     */
    async groupCounters(id?: number, options: CallOptions = {}): Promise<GroupCounters[]> {
        return this.#through(options, (link, left) => link.groupCounters(id, left));
    }

    /** Applies a change of a meter, which no bundle can hold. */
    async changeMeter(mod: MeterMod, options: CallOptions = {}): Promise<void> {
        return this.#through(options, (link, left) => link.changeMeter(mod, left));
    }

    /** All meters. */
    async dumpMeters(options: CallOptions = {}): Promise<Meter[]> {
        return this.#through(options, (link, left) => link.dumpMeters(left));
    }

    /**
     * Removes connections from the connection tracker of the datapath: those that fit one of the filters. The switch
     * walks its table once for each, unless the filter has addresses and ports of `original` and nothing of `reply`.
     * When one is refused, the others may have taken effect.
     *
     * The userspace datapath of Open vSwitch 3.1 skips some when a filter fits more than about half of its table, which
     * shrinks meanwhile: repeat the flush until `dpctl/dump-conntrack` shows none.
     */
    async flushConnections(flushes: readonly CtFlush[], options: CallOptions = {}): Promise<void> {
        return this.#through(options, (link, left) => link.flushConnections(flushes, left));
    }

    /** All ports of the bridge. */
    async ports(options: CallOptions = {}): Promise<PortDescription[]> {
        return this.#through(options, (link, left) => link.ports(left));
    }

    /**
     * Sends the packet at once. Throws `OpenFlowError` `NOT_CONNECTED`, or `BAD_FIELD`, `BAD_VALUE`, `TOO_BIG`,
     * `BUFFER_FULL` when it cannot be sent. The switch does not acknowledge it; an error that it reports is logged.
     */
    packetOut(packet: PacketOut): void {
        const link = this.#gate.value;
        if (link === undefined) {
            throw new OpenFlowError("NOT_CONNECTED", "environment", "packet-out: not connected to the switch");
        }
        link.packetOut(packet);
    }

    /**
     * Ends the connection and resolves when it has ended. If it was started, pending and later calls reject with
     * `ABORTED`. Idempotent.
     */
    async close(): Promise<void> {
        this.#closing.abort();
        await this.#run;
    }

    async #through<T, O extends CallOptions>(options: O, use: (link: Link, options: O) => Promise<T>): Promise<T> {
        const timeoutMs = options.timeoutMs ?? this.#options.requestTimeoutMs;
        const open = this.#gate.value;
        if (open !== undefined) return use(open, { ...options, timeoutMs });
        const began = performance.now();
        const link = await this.#gate.pass({ ...options, timeoutMs });
        return use(link, { ...options, timeoutMs: Math.max(1, timeoutMs - (performance.now() - began)) });
    }

    async #keepConnected(signal: AbortSignal): Promise<void> {
        const { minBackoffMs, maxBackoffMs } = this.#options;
        const backoff = new Backoff({ initialMs: minBackoffMs, maxMs: maxBackoffMs, jitter: 0 });
        this.#enter({ kind: "connecting" });
        while (!signal.aborted) {
            const wasReady = await this.#connectOnce(signal);
            if (wasReady) backoff.reset();
            await sleep(backoff.next(), signal).catch(() => undefined);
        }
        this.#enter({ kind: "closed" });
        this.#gate.end(aborted("the OpenFlow connection", signal.reason));
    }

    /** The only place that changes the state; releases what the last state held. */
    #enter(state: ConnectionState, leave: () => void = () => undefined): void {
        const leaveLast = this.#leave;
        this.#state = state;
        this.#leave = leave;
        leaveLast();
    }

    #enterReady(link: Link): void {
        const { datapathId } = link;
        this.#enter({ kind: "ready", datapathId }, () => this.#gate.shut());
        this.#logger.info("OpenFlow connection ready", { datapathId: datapathId.toString(16).padStart(16, "0") });
        this.#gate.open(link);
    }

    /** Runs one connection from connecting to its end; true when it served callers. */
    async #connectOnce(signal: AbortSignal): Promise<boolean> {
        let link: Link;
        try {
            link = await openLink(
                { logger: this.#logger, onPacketIn: (packet) => this.#packetIn(packet) },
                this.#options,
                signal,
            );
        } catch (error) {
            if (!signal.aborted) this.#logger.warn("no OpenFlow connection", { error: messageOf(error) });
            return false;
        }
        const end = (): void => link.destroy(aborted("the OpenFlow connection", signal.reason));
        signal.addEventListener("abort", end, { once: true });
        try {
            this.#enter({ kind: "replaying", datapathId: link.datapathId });
            if (!(await this.#replay(link))) return false;
            this.#enterReady(link);
            const reason = await link.closed;
            if (!signal.aborted) this.#logger.warn("OpenFlow connection lost", { error: messageOf(reason) });
            return true;
        } finally {
            this.#enter({ kind: "connecting" });
            signal.removeEventListener("abort", end);
        }
    }

    async #replay(link: Link): Promise<boolean> {
        const over = link.closed.then((reason): never => {
            throw reason;
        });
        // It rejects at the end of every link, also when no race awaits it.
        over.catch(() => undefined);
        try {
            for (const listener of [...this.#replays]) await Promise.race([Promise.resolve(listener(link)), over]);
        } catch (error) {
            if (!isErrorOf(OpenFlowError, link.reason, "ABORTED")) {
                this.#logger.warn("replay failed; reconnecting", { error: messageOf(error) });
            }
            link.destroy(new OpenFlowError("DISCONNECTED", "environment", "the replay failed", { cause: error }));
            return false;
        }
        return link.reason === undefined;
    }

    #packetIn(packet: PacketIn): void {
        for (const listener of this.#packetIns) {
            try {
                listener(packet);
            } catch (error) {
                this.#logger.warn("a packet-in listener failed", { error: messageOf(error) });
            }
        }
    }
}
