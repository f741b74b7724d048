import { Backoff, sleep } from "@antrea/async";
import { isErrorOf, messageOf } from "@antrea/errors";
import { OpenFlowError } from "../codec/errors.ts";
import { type FlowMod, type FlowStats } from "../codec/flow.ts";
import { type PortDescription } from "../codec/message/multipart.ts";
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
 * The connection to one bridge of ovs-vswitchd. It connects at once, again with growing pauses, and is open to callers
 * only after all `onReady` listeners have done their replay. Calls made in between wait, up to their timeout. When the
 * connection breaks, what waits for an answer rejects with `DISCONNECTED` (`retryable`): the switch may have done it, and
 * the replay brings the tables to what is wanted in any case.
 */
export class OpenFlowConnection {
    readonly #logger: ConnectionLogger;
    readonly #options: ResolvedOptions;
    readonly #replays = new Set<ReplayListener>();
    readonly #packetIns = new Set<PacketInListener>();
    readonly #gate = new Gate<Link>();
    readonly #closing = new AbortController();
    #state: ConnectionState = { kind: "closed" };
    /** Lets go of what the present state holds. */
    #leave: () => void = () => undefined;
    #run: Promise<void> | undefined;

    constructor(components: ConnectionComponents, options: ConnectionOptions) {
        this.#logger = components.logger;
        this.#options = { ...defaultConnectionOptions, ...options };
    }

    /** Begins to connect; ends when `signal` is aborted, or with `close`. A second start is an error. */
    start(signal: AbortSignal): void {
        if (this.#run !== undefined) {
            throw new OpenFlowError("NOT_CONNECTED", "internal", "the OpenFlow connection was started a second time");
        }
        this.#run = this.#keepConnected(AbortSignal.any([signal, this.#closing.signal]));
    }

    get state(): ConnectionState {
        return this.#state;
    }

    /** Adds a replay. Registered while connected, it is first called at the next connection. */
    onReady(listener: ReplayListener): Disposable {
        this.#replays.add(listener);
        return { [Symbol.dispose]: () => void this.#replays.delete(listener) };
    }

    /** Called for each packet-in, as it comes; a listener must not wait for anything. */
    onPacketIn(listener: PacketInListener): Disposable {
        this.#packetIns.add(listener);
        return { [Symbol.dispose]: () => void this.#packetIns.delete(listener) };
    }

    /**
     * Applies all changes or none. Bundles are not waited for one after the other: any number may be under way, and
     * the switch applies them in the order of the calls. `REFUSED` names the change and the error of the switch.
     */
    async bundle(mods: readonly FlowMod[], options: BundleOptions = {}): Promise<void> {
        return this.#through(options, (link, left) => link.bundle(mods, left));
    }

    /** Resolves when the switch is through with everything sent before. */
    async barrier(options: CallOptions = {}): Promise<void> {
        return this.#through(options, (link, left) => link.barrier(left));
    }

    /** The flows of the switch, with counters. */
    async dumpFlows(filter: FlowFilter = {}, options: CallOptions = {}): Promise<FlowStats[]> {
        return this.#through(options, (link, left) => link.dumpFlows(filter, left));
    }

    /** How many flows the switch has, and their counters together. */
    async countFlows(filter: FlowFilter = {}, options: CallOptions = {}): Promise<FlowTotals> {
        return this.#through(options, (link, left) => link.countFlows(filter, left));
    }

    async ports(options: CallOptions = {}): Promise<PortDescription[]> {
        return this.#through(options, (link, left) => link.ports(left));
    }

    /** Sends at once or throws `NOT_CONNECTED`; nobody answers, a refusal of the switch is logged. */
    packetOut(packet: PacketOut): void {
        const link = this.#gate.value;
        if (link === undefined) {
            throw new OpenFlowError("NOT_CONNECTED", "environment", "packet-out: not connected to the switch");
        }
        link.packetOut(packet);
    }

    /** Ends the connection; what waits rejects with `ABORTED`. */
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

    /** The only change of state: whatever the last one held is let go of, on every way out of it. */
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

    /** One connection from its beginning to its end; true when it was open to callers. */
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
        // It rejects in the end of every link, also of one that nobody races against any more.
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
