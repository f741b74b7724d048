import { AntreaError } from "@antrea/errors";
import { formatRounds, roundsKey, type OvsPort, type PortSpec } from "@antrea/agent/platform/ovs/bridge";
import { nextRounds, type Rounds } from "@antrea/agent/platform/ovs/bridge/rounds";
import { type Platform } from "@antrea/agent/platform/platform";
import { type LocalIo } from "./io.ts";
import { type Machine, type StoredPort } from "./machine.ts";

const ovs = { lowMs: 1, highMs: 40 };

/** The bridge of a machine and its ports in the OVS database, as seen by one process. */
export class MachineBridge implements Required<Platform["bridge"]> {
    readonly #machine: Machine;
    readonly #io: LocalIo;
    readonly #name: string;
    /** Its external_ids, which a bridge that is made again has. */
    #known: ReadonlyMap<string, string> = new Map();

    constructor(machine: Machine, io: LocalIo, name: string) {
        this.#machine = machine;
        this.#io = io;
        this.#name = name;
    }

    async ensure(signal?: AbortSignal): Promise<void> {
        await this.#write(() => {
            this.#machine.bridgeIds ??= new Map(this.#known);
            this.#known = new Map(this.#machine.bridgeIds);
            this.#machine.addInternalLink({ name: this.#name, mac: undefined, mtu: 1500 });
        }, signal);
    }

    async datapathId(_timeoutMs: number, signal?: AbortSignal): Promise<string> {
        await this.#machine.ovs(signal);
        return this.#io.call(() => "0000000000000001", ovs);
    }

    async fixDatapathId(_mac: string, signal?: AbortSignal): Promise<void> {
        await this.#write(() => void this.#needBridge(), signal);
    }

    async beginRound(signal?: AbortSignal): Promise<Rounds> {
        const rounds = nextRounds(this.externalId(roundsKey));
        await this.setExternalId(roundsKey, formatRounds(rounds), signal);
        return rounds;
    }

    /** This OVS never waits for its flows. */
    endFlowRestore(): Promise<void> {
        return Promise.resolve();
    }

    externalId(key: string): string | undefined {
        return this.#machine.bridgeIds?.get(key);
    }

    async setExternalId(key: string, value: string, signal?: AbortSignal): Promise<void> {
        await this.#write(() => {
            this.#known = new Map(this.#needBridge().set(key, value));
        }, signal);
    }

    ports(): readonly OvsPort[] {
        return [...this.#machine.ports.values()].map(portOf);
    }

    port(name: string): OvsPort | undefined {
        const port = name === this.#name && this.#machine.bridgeIds !== undefined ? local(name) : undefined;
        const stored = port ?? this.#machine.ports.get(name);
        return stored && portOf(stored);
    }

    bridgeOf(portName: string): string | undefined {
        return this.port(portName) === undefined ? undefined : this.#name;
    }

    async ensurePort(spec: PortSpec, signal?: AbortSignal): Promise<void> {
        await this.#write(() => {
            this.#needBridge();
            const { name, type, ofPortRequest, externalIds, mac, mtuRequest = 1500 } = spec;
            const ofPort = this.#machine.ports.get(name)?.ofPort ?? ofPortRequest;
            this.#machine.setPort({ name, type, mac, externalIds: new Map(Object.entries(externalIds)), ofPort });
            if (type === "internal") this.#machine.addInternalLink({ name, mac, mtu: mtuRequest });
        }, signal);
    }

    async deletePort(name: string, signal?: AbortSignal): Promise<void> {
        await this.#write(() => {
            if (this.#machine.ports.get(name)?.type === "internal") this.#machine.deleteLink(name);
            this.#machine.ports.delete(name);
        }, signal);
    }

    async ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number> {
        const limit = AbortSignal.timeout(timeoutMs);
        await this.#machine.ovs(signal === undefined ? limit : AbortSignal.any([signal, limit]));
        return this.#io.call(() => this.#machine.ports.get(name)?.ofPort ?? -1, ovs);
    }

    async acknowledged({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
        await this.#write(() => undefined, signal);
    }

    /** A transaction is not queued while the database is unavailable. */
    async #write(work: () => void, signal: AbortSignal | undefined): Promise<void> {
        signal?.throwIfAborted();
        if (!this.#machine.hasOvs) throw new OvsAway();
        await this.#io.call(work, ovs);
    }

    #needBridge(): Map<string, string> {
        const { bridgeIds } = this.#machine;
        if (bridgeIds === undefined) throw new BridgeMissing();
        return bridgeIds;
    }
}

function portOf({ name, type, mac, externalIds, ofPort }: StoredPort): OvsPort {
    return { uuid: name, interfaceUuid: name, name, type, mac, externalIds, ofPort, error: undefined };
}

function local(name: string): StoredPort {
    return { name, type: "internal", mac: undefined, externalIds: new Map(), ofPort: 65_534 };
}

/** There is no connection to the database. */
export class OvsAway extends AntreaError<"DISCONNECTED"> {
    constructor() {
        super("DISCONNECTED", "environment", "there is no connection to the database: nothing was sent");
    }
}

/** The database has lost the bridge. */
class BridgeMissing extends AntreaError<"BRIDGE_MISSING"> {
    constructor() {
        super("BRIDGE_MISSING", "environment", "OVS has no bridge yet");
    }
}
