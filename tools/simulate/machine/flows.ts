import { type FlowSet } from "@antrea/flows";
import { type Platform } from "@antrea/agent/platform/platform";
import { type LocalIo } from "./io.ts";
import { type Machine } from "./machine.ts";

type Changes = Parameters<Platform["flowTable"]["apply"]>[0];
type Wanted = Parameters<Platform["flowTable"]["set"]>[1];

/** The flows that a process wants in a machine's OVS, by owner. */
export class MachineFlows implements Required<Platform["flowTable"]> {
    readonly #machine: Machine;
    readonly #io: LocalIo;
    readonly #wanted = new Map<string, FlowSet>();
    /** Owners whose flows this process may have sent to OVS. */
    readonly #sent = new Set<string>();
    #isReplayed = false;

    constructor(machine: Machine, io: LocalIo) {
        this.#machine = machine;
        this.#io = io;
    }

    get size(): number {
        return this.#wanted.size;
    }

    useRound(): void {
        // flows are identified by their owner
    }

    onEarlier(): void {
        // flows of an earlier process have the same owners
    }

    flowsOf(): readonly never[] {
        return [];
    }

    stage(owner: string, flows: Wanted): void {
        this.#wanted.set(owner, listOf(flows));
    }

    async set(owner: string, flows: Wanted, signal?: AbortSignal): Promise<void> {
        await this.apply([{ owner, flows }], signal);
    }

    /** Changes several owners at once. */
    async apply(changes: Changes, signal?: AbortSignal): Promise<void> {
        const sets = changes.flatMap((change) =>
            "flows" in change ? [{ owner: change.owner, flows: change.flows && listOf(change.flows) }] : [],
        );
        for (const { owner, flows } of sets) {
            if (flows === undefined) this.#wanted.delete(owner);
            else this.#wanted.set(owner, flows);
        }
        if (!this.#isReplayed) return;
        await this.#machine.ovs(signal);
        await this.#io.call(() => {
            for (const { owner, flows } of sets) {
                if (this.#wanted.get(owner) !== flows) continue;
                if (flows === undefined) this.#machine.removeFlows(owner);
                else this.#put(owner, flows);
            }
        });
    }

    async remove(owner: string, signal?: AbortSignal): Promise<void> {
        this.#wanted.delete(owner);
        await this.#machine.ovs(signal);
        await this.#io.call(() => {
            if (!this.#wanted.has(owner)) this.#machine.removeFlows(owner);
        });
    }

    /** Installs all of them, in addition to those of an earlier process. */
    async replay(): Promise<void> {
        await this.#io.call(() => {
            this.#isReplayed = true;
            for (const [owner, flows] of this.#wanted) this.#put(owner, flows);
            this.#dropUnwanted();
        });
    }

    async repair(): Promise<{ readonly missing: number; readonly superfluous: number }> {
        await this.#machine.ovs(undefined);
        return this.#io.call(() => {
            const missing = [...this.#wanted].filter(([owner]) => !this.#machine.flows.has(owner));
            for (const [owner, flows] of missing) this.#put(owner, flows);
            return { missing: missing.length, superfluous: this.#dropUnwanted() };
        });
    }

    /** Deletes flows of an earlier process that this one does not want; node routes only without exceptions. */
    async deleteRounds(_rounds: readonly number[], { except }: { readonly except?: unknown } = {}): Promise<number> {
        await this.#machine.ovs(undefined);
        return this.#io.call(() => {
            const stale = [...this.#machine.flows.keys()].filter(
                (owner) => !this.#wanted.has(owner) && (except === undefined || !owner.startsWith("peer/")),
            );
            for (const owner of stale) this.#machine.removeFlows(owner);
            return stale.length;
        });
    }

    #put(owner: string, flows: FlowSet): void {
        this.#sent.add(owner);
        this.#machine.setFlows(owner, flows);
    }

    #dropUnwanted(): number {
        const stale = [...this.#sent].filter((owner) => !this.#wanted.has(owner));
        for (const owner of stale) {
            this.#sent.delete(owner);
            this.#machine.removeFlows(owner);
        }
        return stale.length;
    }
}

function listOf({ category, ...wanted }: Wanted): FlowSet {
    return { category, flows: typeof wanted.flows === "function" ? [...wanted.flows()] : wanted.flows };
}
