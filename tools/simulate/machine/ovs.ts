import { AntreaError } from "@antrea/errors";
import { type FlowSet } from "@antrea/flows";
import { type LocalIo } from "./io.ts";
import { type Machine, type OvsPort } from "./machine.ts";

const ovs = { lowMs: 1, highMs: 40 };

/** The ports of a machine's bridge, as one process sees them. */
export class MachinePorts {
    readonly #machine: Machine;
    readonly #io: LocalIo;

    constructor(machine: Machine, io: LocalIo) {
        this.#machine = machine;
        this.#io = io;
    }

    ports(): readonly OvsPort[] {
        return [...this.#machine.ports.values()];
    }

    async ensurePort(
        spec: {
            readonly name: string;
            readonly ofPortRequest: number;
            readonly externalIds: Readonly<Record<string, string>>;
        },
        signal?: AbortSignal,
    ): Promise<void> {
        this.#needOvs(signal);
        await this.#io.call(() => {
            const { name, ofPortRequest, externalIds } = spec;
            const old = this.#machine.ports.get(name);
            const ofPort = old?.ofPort ?? ofPortRequest;
            this.#machine.setPort({ name, externalIds: new Map(Object.entries(externalIds)), ofPort });
        }, ovs);
    }

    async deletePort(name: string, signal?: AbortSignal): Promise<void> {
        this.#needOvs(signal);
        await this.#io.call(() => void this.#machine.ports.delete(name), ovs);
    }

    /** A transaction is not kept for a database that is away. */
    #needOvs(signal: AbortSignal | undefined): void {
        signal?.throwIfAborted();
        if (!this.#machine.hasOvs) throw new OvsAway();
    }

    async ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number> {
        const limit = AbortSignal.timeout(timeoutMs);
        await this.#machine.ovs(signal === undefined ? limit : AbortSignal.any([signal, limit]));
        return this.#io.call(() => this.#machine.ports.get(name)?.ofPort ?? -1, ovs);
    }
}

/** There is no connection to the database. */
export class OvsAway extends AntreaError<"DISCONNECTED"> {
    constructor() {
        super("DISCONNECTED", "environment", "there is no connection to the database: nothing was sent");
    }
}

/** The flows that a process wants in a machine's OVS. */
export class MachineFlows {
    readonly #machine: Machine;
    readonly #io: LocalIo;
    readonly #wanted = new Map<string, FlowSet>();
    #isReplayed = false;

    constructor(machine: Machine, io: LocalIo) {
        this.#machine = machine;
        this.#io = io;
    }

    stage(owner: string, flows: FlowSet): void {
        this.#wanted.set(owner, flows);
    }

    async set(owner: string, flows: FlowSet, signal?: AbortSignal): Promise<void> {
        this.#wanted.set(owner, flows);
        if (!this.#isReplayed) return;
        await this.#machine.ovs(signal);
        await this.#io.call(() => {
            if (this.#wanted.get(owner) === flows) this.#machine.setFlows(owner, flows);
        });
    }

    async remove(owner: string, signal?: AbortSignal): Promise<void> {
        this.#wanted.delete(owner);
        await this.#machine.ovs(signal);
        await this.#io.call(() => {
            if (!this.#wanted.has(owner)) this.#machine.removeFlows(owner);
        });
    }

    /** Puts all of them in place beside what an earlier process left there. */
    async replay(signal?: AbortSignal): Promise<void> {
        await this.#machine.ovs(signal);
        await this.#io.call(() => {
            this.#isReplayed = true;
            for (const [owner, flows] of this.#wanted) this.#machine.setFlows(owner, flows);
        });
    }

    /** Deletes what an earlier process left and this one does not want. */
    async deleteEarlier(signal?: AbortSignal): Promise<void> {
        await this.#machine.ovs(signal);
        await this.#io.call(() => {
            for (const owner of [...this.#machine.flows.keys()]) {
                if (!this.#wanted.has(owner)) this.#machine.removeFlows(owner);
            }
        });
    }
}
