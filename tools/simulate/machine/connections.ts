import { type Platform } from "@antrea/agent/platform/platform";
import { type LocalIo } from "./io.ts";
import { type Machine } from "./machine.ts";

type Database = Platform["database"];
type Openflow = Platform["openflow"];
type Row = ReadonlyMap<string, Readonly<Record<string, readonly string[]>>>;

const connectMs = { lowMs: 5, highMs: 400 };
const none: Row = new Map();
const switchRow: Row = new Map([["switch", { iface_types: ["geneve", "gre", "vxlan"] }]]);

/** The session of one process with ovsdb-server. The bridge in the database is `MachineBridge`. */
export class MachineDatabase implements Required<Database> {
    readonly #machine: Machine;
    readonly #io: LocalIo;
    readonly #connected = new Set<() => void>();
    readonly #disconnected = new Set<() => void>();

    constructor(machine: Machine, io: LocalIo) {
        this.#machine = machine;
        this.#io = io;
    }

    start(): void {
        void this.#follow();
    }

    close(): Promise<void> {
        return Promise.resolve();
    }

    async ready(signal?: AbortSignal): Promise<void> {
        await this.#machine.ovs(signal);
        await this.#io.call(() => undefined, connectMs);
    }

    async lockAcquired(signal?: AbortSignal): Promise<void> {
        await this.#machine.ovs(signal);
    }

    get lockState(): "locked" | "lost" {
        return this.#machine.hasOvs ? "locked" : "lost";
    }

    get problem(): string | undefined {
        return this.#machine.hasOvs ? undefined : "ovsdb-server does not answer";
    }

    rows(table: string): ReturnType<Database["rows"]> {
        return (table === "Open_vSwitch" ? switchRow : none) as unknown as ReturnType<Database["rows"]>;
    }

    async until<T>(probe: () => T | undefined, { signal }: Parameters<Database["until"]>[1]): Promise<T> {
        await this.#machine.ovs(signal);
        return this.#io.call(() => probe() as T);
    }

    onConnect(listener: () => void): Disposable {
        return added(this.#connected, listener);
    }

    onDisconnect(listener: () => void): Disposable {
        return added(this.#disconnected, listener);
    }

    /** No other client takes the lock. */
    onLockChange(): Disposable {
        return { [Symbol.dispose]: () => undefined };
    }

    async #follow(): Promise<never> {
        await this.#machine.ovs(undefined);
        for (;;) {
            const { stops } = this.#machine;
            await this.#io.call(() => {
                for (const listener of this.#connected) listener();
            }, connectMs);
            await this.#machine.stopped(stops);
            await this.#io.call(() => {
                for (const listener of this.#disconnected) listener();
            });
            await this.#machine.ovs(undefined);
        }
    }
}

/** The connection of one process with ovs-vswitchd. */
export class MachineSwitch implements Required<Openflow> {
    readonly #machine: Machine;
    readonly #io: LocalIo;
    readonly #listeners = new Set<Parameters<Openflow["onReady"]>[0]>();
    #state: Openflow["state"] = { kind: "connecting" };

    constructor(machine: Machine, io: LocalIo) {
        this.#machine = machine;
        this.#io = io;
    }

    start(): void {
        void this.#follow();
    }

    close(): Promise<void> {
        return Promise.resolve();
    }

    get state(): Openflow["state"] {
        return this.#state;
    }

    onReady(listener: Parameters<Openflow["onReady"]>[0]): Disposable {
        return added(this.#listeners, listener);
    }

    /** It sends none: no packets are simulated. */
    onPacketIn(): Disposable {
        return { [Symbol.dispose]: () => undefined };
    }

    /** Only flows that OVS learns from packets are deleted so. */
    async bundle(): Promise<void> {
        await this.#machine.ovs(undefined);
    }

    /** It has no connections. */
    async flushConnections(): Promise<void> {
        await this.#machine.ovs(undefined);
    }

    packetOut(): void {
        // neighbour caches in the underlay are not simulated
    }

    dumpFlows(): Promise<never[]> {
        return Promise.resolve([]);
    }

    /** It has none of Services. */
    countFlows(): ReturnType<Openflow["countFlows"]> {
        return Promise.resolve({ flows: 0, packets: 0n, bytes: 0n });
    }

    async #follow(): Promise<never> {
        // `MachineFlows` accesses the machine without it.
        const link = undefined as unknown as Parameters<Parameters<Openflow["onReady"]>[0]>[0];
        for (;;) {
            await this.#machine.ovs(undefined);
            const { stops } = this.#machine;
            await this.#io.call(() => undefined, connectMs);
            this.#state = { kind: "replaying", datapathId: 1n };
            try {
                for (const listener of this.#listeners) await listener(link);
            } catch {
                // Reconnects.
                continue;
            }
            this.#state = { kind: "ready", datapathId: 1n };
            await this.#machine.stopped(stops);
            this.#state = { kind: "connecting" };
        }
    }
}

function added<T>(listeners: Set<T>, listener: T): Disposable {
    listeners.add(listener);
    return { [Symbol.dispose]: () => void listeners.delete(listener) };
}
