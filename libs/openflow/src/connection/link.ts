import { type Socket } from "node:net";
import { isErrorOf } from "@antrea/errors";
import { OpenFlowError } from "../codec/errors.ts";
import { type CtFlush } from "../codec/ct-flush.ts";
import { type FlowStats } from "../codec/flow.ts";
import { type Group, type GroupCounters } from "../codec/group.ts";
import { type BundleMod } from "../codec/message/bundle.ts";
import { writeCtFlush } from "../codec/message/ct-flush.ts";
import { decodeMessage, type Message } from "../codec/message/decode.ts";
import { writeMeterMod } from "../codec/message/meter-mod.ts";
import {
    writeAggregateRequest,
    writeFlowDescRequest,
    writeGroupDescRequest,
    writeGroupStatsRequest,
    writeMeterConfigRequest,
    writePortDescRequest,
} from "../codec/message/multipart-request.ts";
import { type PortDescription } from "../codec/message/port-description.ts";
import { writePacketOut } from "../codec/message/packet.ts";
import { writeBare } from "../codec/message/simple.ts";
import { type PacketIn, type PacketOut } from "../codec/packet.ts";
import { type FlowTotals } from "../codec/message/stats.ts";
import { type Meter, type MeterMod } from "../codec/meter.ts";
import { FrameSplitter } from "../codec/wire/splitter.ts";
import { Writer } from "../codec/wire/writer.ts";
import { Calls, type CallSpec } from "./calls.ts";
import { barrierSpec, bundleRequest, bundleXids } from "./requests.ts";
import { flowsSpec, groupCountersSpec, groupsSpec, metersSpec, portsSpec, totalsSpec } from "./multipart-requests.ts";
import {
    type BundleOptions,
    type CallOptions,
    type ConnectionLogger,
    type FlowFilter,
    type ReplayLink,
    type ResolvedOptions,
} from "./types.ts";
import { Xids } from "./xids.ts";

/** What a link needs from outside: a logger, and a listener for packet-ins. */
export interface LinkComponents {
    readonly logger: ConnectionLogger;
    /** Called synchronously for each packet-in. It must not throw: that would end the link. */
    readonly onPacketIn: (packet: PacketIn) => void;
}

type Write = (writer: Writer, xid: number) => void;

/**
 * One connected socket, which it owns: frames in both directions, requests with their answers, and liveness. It never
 * reconnects. `openLink` makes one.
 */
export class Link implements ReplayLink {
    /** Datapath id of the bridge; 0 until the handshake has set it. */
    datapathId = 0n;
    /** The xid under which the received hello is dispatched: its own xid has no meaning. */
    readonly helloXid: number;
    /** Resolves with the reason when the link has ended; never rejects. */
    readonly closed: Promise<OpenFlowError>;
    readonly #logger: ConnectionLogger;
    readonly #onPacketIn: (packet: PacketIn) => void;
    readonly #options: ResolvedOptions;
    readonly #socket: Socket;
    readonly #splitter = new FrameSplitter();
    readonly #calls = new Calls();
    readonly #xids = new Xids();
    readonly #resolveClosed: (reason: OpenFlowError) => void;
    #bundleId = 0;
    #reason: OpenFlowError | undefined;
    #echoTimer: NodeJS.Timeout | undefined;
    #deadline: NodeJS.Timeout | undefined;

    constructor(components: LinkComponents, options: ResolvedOptions, socket: Socket) {
        this.#logger = components.logger;
        this.#onPacketIn = components.onPacketIn;
        this.#options = options;
        this.#socket = socket;
        this.helloXid = this.#xids.take(1);
        const { promise, resolve } = Promise.withResolvers<OpenFlowError>();
        this.closed = promise;
        this.#resolveClosed = resolve;
        socket.on("data", (chunk: Buffer) => this.#receive(chunk));
        socket.on("error", (error) => this.destroy(disconnected(`socket failed: ${error.message}`, error)));
        socket.on("close", () => this.destroy(disconnected("the switch closed the connection")));
    }

    /** Why the link has ended; undefined while it is open. */
    get reason(): OpenFlowError | undefined {
        return this.#reason;
    }

    bundle(mods: readonly BundleMod[], options: BundleOptions = {}): Promise<void> {
        return this.#attempt(() => {
            if (mods.length === 0) return Promise.resolve();
            this.#bundleId = (this.#bundleId + 1) >>> 0;
            const firstXid = this.#xids.take(bundleXids(mods.length));
            const ids = { firstXid, bundleId: this.#bundleId, ordered: options.ordered ?? true };
            const { spec, bytes } = bundleRequest(mods, ids);
            return this.call(spec, options, bytes);
        });
    }

    barrier(options: CallOptions = {}): Promise<void> {
        return this.#confirmed("barrier", [], options);
    }

    changeMeter(mod: MeterMod, options: CallOptions = {}): Promise<void> {
        const what = `${mod.command} meter ${mod.meter.id}`;
        return this.#confirmed(what, [(writer, xid) => writeMeterMod(writer, xid, mod)], options);
    }

    flushConnections(flushes: readonly CtFlush[], options: CallOptions = {}): Promise<void> {
        const writes = flushes.map((flush) => (writer: Writer, xid: number) => writeCtFlush(writer, xid, flush));
        return writes.length === 0
            ? Promise.resolve()
            : this.#confirmed(`flush of ${writes.length} tuples of conntrack`, writes, options);
    }

    dumpFlows(filter: FlowFilter = {}, options: CallOptions = {}): Promise<FlowStats[]> {
        return this.#request(flowsSpec, (writer, xid) => writeFlowDescRequest(writer, xid, filter), options);
    }

    async countFlows(filter: FlowFilter = {}, options: CallOptions = {}): Promise<FlowTotals> {
        const write: Write = (writer, xid) => writeAggregateRequest(writer, xid, filter);
        const [totals] = await this.#request(totalsSpec, write, options);
        return totals ?? { flows: 0, packets: 0n, bytes: 0n };
    }

    dumpGroups(id?: number, options: CallOptions = {}): Promise<Group[]> {
        return this.#request(groupsSpec, (writer, xid) => writeGroupDescRequest(writer, xid, id), options);
    }

    groupCounters(id?: number, options: CallOptions = {}): Promise<GroupCounters[]> {
        return this.#request(groupCountersSpec, (writer, xid) => writeGroupStatsRequest(writer, xid, id), options);
    }

    dumpMeters(options: CallOptions = {}): Promise<Meter[]> {
        return this.#request(metersSpec, writeMeterConfigRequest, options);
    }

    ports(options: CallOptions = {}): Promise<PortDescription[]> {
        return this.#request(portsSpec, writePortDescRequest, options);
    }

    packetOut(packet: PacketOut): void {
        const writer = new Writer(packet.data.length + 256);
        writePacketOut(writer, this.#xids.take(1), packet);
        this.send(writer.finish());
    }

    /** An xid that no other request of this link uses. */
    nextXid(): number {
        return this.#xids.take(1);
    }

    /**
     * Sends `bytes` and resolves with the value of the answer that `spec` describes. Rejects as `Calls.add` and `send`
     * do.
     */
    call<T>(spec: CallSpec<T>, options: CallOptions, bytes: Uint8Array): Promise<T> {
        const timeoutMs = options.timeoutMs ?? this.#options.requestTimeoutMs;
        return this.#calls.add(spec, { ...options, timeoutMs }, () => this.send(bytes));
    }

    /**
     * Writes all bytes, which must not change after that. Throws `OpenFlowError` `DISCONNECTED`, `BUFFER_FULL`, or
     * `TOO_BIG` when they alone exceed `maxBufferBytes`.
     */
    send(bytes: Uint8Array): void {
        if (this.#reason !== undefined) throw disconnected("the connection is over", this.#reason);
        const { maxBufferBytes } = this.#options;
        if (bytes.length > maxBufferBytes) {
            const message = `a request of ${bytes.length} bytes passes maxBufferBytes (${maxBufferBytes}); split it`;
            throw new OpenFlowError("TOO_BIG", "caller", message);
        }
        if (this.#socket.writableLength + bytes.length > maxBufferBytes) {
            const waiting = this.#socket.writableLength;
            const message = `${waiting} bytes wait for the switch to read; ${bytes.length} more pass maxBufferBytes`;
            throw new OpenFlowError("BUFFER_FULL", "environment", message, { details: { waiting, maxBufferBytes } });
        }
        this.#socket.write(bytes);
    }

    /**
     * Starts the periodic echo requests; the link ends itself when nothing is received for `echoTimeoutMs` after one.
     */
    watch(): void {
        this.#echoTimer = setInterval(() => this.#echo(), this.#options.echoIntervalMs);
        this.#echoTimer.unref();
    }

    /**
     * Ends the link, closes the socket and rejects every pending call with `DISCONNECTED`, or `ABORTED` if that is the
     * code of the reason. Idempotent: the first reason stays.
     */
    destroy(reason: OpenFlowError): void {
        if (this.#reason !== undefined) return;
        this.#reason = reason;
        clearInterval(this.#echoTimer);
        clearTimeout(this.#deadline);
        this.#socket.destroy();
        const isOnPurpose = isErrorOf(OpenFlowError, reason, "ABORTED");
        const code = isOnPurpose ? "ABORTED" : "DISCONNECTED";
        const fault = isOnPurpose ? "aborted" : "environment";
        const message = "the connection ended before the answer; whether it took effect is not known";
        this.#calls.failAll(() => new OpenFlowError(code, fault, message, { cause: reason }));
        this.#resolveClosed(reason);
    }

    /** Sends a request that is answered under its xid. */
    #request<T>(
        specOf: (xid: number, maxBytes: number) => CallSpec<T>,
        write: Write,
        options: CallOptions,
    ): Promise<T> {
        return this.#attempt(() => {
            const xid = this.#xids.take(1);
            const writer = new Writer();
            write(writer, xid);
            return this.call(specOf(xid, this.#options.maxReplyBytes), options, writer.finish());
        });
    }

    /** Sends messages that have no answer, and a barrier request, whose answer confirms that they have been processed. */
    #confirmed(what: string, writes: readonly Write[], options: CallOptions): Promise<void> {
        return this.#attempt(() => {
            const firstXid = this.#xids.take(writes.length + 1);
            const lastXid = firstXid + writes.length;
            const writer = new Writer();
            writes.forEach((write, index) => write(writer, firstXid + index));
            writeBare(writer, "BARRIER_REQUEST", lastXid);
            return this.call(barrierSpec(what, firstXid, lastXid), options, writer.finish());
        });
    }

    /** Turns an error thrown while a request is written into a rejection. */
    async #attempt<T>(begin: () => Promise<T>): Promise<T> {
        return begin();
    }

    #echo(): void {
        this.#deadline ??= this.#countDown(this.#options.echoTimeoutMs);
        const writer = new Writer(8);
        writeBare(writer, "ECHO_REQUEST", this.#xids.take(1));
        this.#sendOrEnd(writer.finish());
    }

    #countDown(timeoutMs: number): NodeJS.Timeout {
        const end = (): void => {
            if (this.#deadline !== deadline) return;
            this.destroy(disconnected(`no sign of life for ${timeoutMs} ms after an echo request`));
        };
        // Bytes that arrived while this program was blocked are read after the timers: check after they have been read.
        const deadline = setTimeout(() => setImmediate(end), timeoutMs).unref();
        return deadline;
    }

    #receive(chunk: Buffer): void {
        clearTimeout(this.#deadline);
        this.#deadline = undefined;
        try {
            for (const frame of this.#splitter.push(chunk)) {
                if (this.#reason !== undefined) return;
                this.#frame(frame);
            }
        } catch (error) {
            // Without a valid length nothing after it can be read.
            this.destroy(disconnected("the switch sent what is no OpenFlow", error));
        }
    }

    #frame(frame: Uint8Array): void {
        let message: Message;
        try {
            message = decodeMessage(frame);
        } catch (error) {
            return this.#undecodable(frame, error);
        }
        if (message.type === "echo_request") {
            const writer = new Writer(frame.length);
            writeBare(writer, "ECHO_REPLY", message.xid, message.data);
            return this.#sendOrEnd(writer.finish());
        }
        if (message.type === "packet_in") return this.#onPacketIn(message.packet);
        const answer = message.type === "hello" ? { ...message, xid: this.helloXid } : message;
        if (this.#calls.dispatch(answer, frame.length)) return;
        if (message.type === "error") {
            const { name } = message.error;
            this.#logger.warn("message rejected by the switch", { error: name, xid: message.xid });
        }
    }

    #undecodable(frame: Uint8Array, error: unknown): void {
        const xid = new DataView(frame.buffer, frame.byteOffset).getUint32(4);
        const ours = error instanceof OpenFlowError ? error : undefined;
        if (isErrorOf(OpenFlowError, error, "VERSION")) {
            return this.destroy(
                new OpenFlowError("NEGOTIATION", "remote", "the switch does not speak OpenFlow 1.5", { cause: error }),
            );
        }
        if (ours !== undefined && this.#calls.fail(xid, ours)) return;
        this.#logger.warn("message of the switch cannot be decoded", { type: frame[1], xid, error: String(error) });
    }

    #sendOrEnd(bytes: Uint8Array): void {
        try {
            this.send(bytes);
        } catch (error) {
            this.destroy(disconnected("the switch does not read", error));
        }
    }
}

/** Returns, without throwing it, the error `DISCONNECTED` of a connection that has ended; `cause` is what ended it. */
export function disconnected(message: string, cause?: unknown): OpenFlowError {
    return new OpenFlowError("DISCONNECTED", "environment", message, cause === undefined ? {} : { cause });
}
