import { setImmediate as turn } from "node:timers/promises";
import { flowKey, OpenFlowError, type BundleMod, type Flow, type FlowStats, type Group } from "@antrea/openflow";
import type { CookieFilter, FlowLink } from "../../../../src/platform/ovs/flow-table/index.ts";
import { cookieFits, FakeTables } from "./fake-tables.ts";

/**
 * A switch that keeps flows and groups as Open vSwitch does: see FakeTables; a bundle is applied whole or not at all.
 * `flow-link-compliance.ts` holds it to the real one.
 * Every request takes a turn of the event loop to come, and every answer one: what others do meanwhile comes in between.
 */
export class FakeSwitch implements FlowLink {
    #tables = new FakeTables();
    /** How many flow mods each bundle had. */
    readonly bundles: number[] = [];
    /** Thrown by the coming bundles, one each. `applied`: the answer is lost, not the request. */
    readonly failures: { readonly error: Error; readonly applied: boolean }[] = [];
    /** What each dump asked for and how many flows it gave. */
    readonly dumps: { readonly table: number | undefined; readonly flows: number }[] = [];
    /** How many groups were asked for, each alone, and how often for a list of all. */
    groupDumps = 0;
    groupLists = 0;
    /** A group has more buckets than a list of counters holds: the connection ends. */
    isListTooLong = false;
    /** Runs when a dump is asked for, before the flows are read. */
    onDump: (() => void) | undefined;
    /** Runs when the flows of a dump were read, before it is answered. */
    onDumped: (() => void) | undefined;
    #connected = true;
    #gate = Promise.withResolvers<void>();

    constructor() {
        this.#gate.resolve();
    }

    /** From now on every call fails as one whose connection broke, or waits like one that found none. */
    disconnect(): void {
        // Calls wait at the gate that is there.
        if (!this.#connected) return;
        this.#connected = false;
        this.#gate = Promise.withResolvers();
    }

    /** Calls that wait go on after the replay. */
    async reconnect(replay: (link: FlowLink) => Promise<void>): Promise<void> {
        await replay(this.direct);
        this.#connected = true;
        this.#gate.resolve();
    }

    /** The switch lost everything, as a restart of ovs-vswitchd does it. */
    clear(): void {
        this.#tables = new FakeTables();
    }

    /** A change by somebody else. */
    put(flow: Flow): void {
        this.#tables.flows.set(flowKey(flow), flow);
    }

    drop(flow: Flow): void {
        this.#tables.flows.delete(flowKey(flow));
    }

    /** A change of flows and groups by somebody else. */
    change(mod: BundleMod): void {
        this.#tables = this.#tables.after([mod]);
    }

    get flows(): readonly Flow[] {
        return [...this.#tables.flows.values()];
    }

    get groups(): readonly Group[] {
        return [...this.#tables.groups.values()];
    }

    async bundle(mods: readonly BundleMod[], options: { readonly signal?: AbortSignal } = {}): Promise<void> {
        await this.#pass(options.signal);
        if (mods.length > 0) await this.direct.bundle(mods);
    }

    async dumpFlows(...[filter, { signal } = {}]: Parameters<FlowLink["dumpFlows"]>): Promise<readonly FlowStats[]> {
        await this.#pass(signal);
        return this.direct.dumpFlows(filter);
    }

    async countFlows(filter: CookieFilter): Promise<{ readonly flows: number }> {
        await this.#pass(undefined);
        return this.direct.countFlows(filter);
    }

    async dumpGroups(...[id, { signal } = {}]: Parameters<FlowLink["dumpGroups"]>): Promise<readonly Group[]> {
        await this.#pass(signal);
        return this.direct.dumpGroups(id);
    }

    async groupCounters(
        ...[id, { signal } = {}]: Parameters<FlowLink["groupCounters"]>
    ): Promise<readonly { id: number }[]> {
        await this.#pass(signal);
        return this.direct.groupCounters(id);
    }

    /** Past the gate, as the replay goes. */
    readonly direct: FlowLink = {
        bundle: async (mods) => {
            this.bundles.push(mods.length);
            const failure = this.failures.shift();
            await turn();
            if (failure?.applied === false) throw failure.error;
            this.#tables = this.#tables.after(mods);
            await turn();
            if (failure !== undefined) throw failure.error;
        },
        dumpFlows: async (filter) => {
            this.onDump?.();
            await turn();
            const stats = this.#found(filter).map((flow) => ({
                ...flow,
                cookie: flow.cookie ?? 0n,
                packets: 0n,
                bytes: 0n,
                durationSeconds: 1,
            }));
            this.dumps.push({ table: filter.table, flows: stats.length });
            this.onDumped?.();
            await turn();
            return stats;
        },
        countFlows: async (filter) => {
            await turn();
            const flows = this.#found(filter).length;
            await turn();
            return { flows };
        },
        dumpGroups: async (id) => {
            await turn();
            const groups = this.groups.filter((group) => group.id === id);
            this.groupDumps += 1;
            await turn();
            return groups;
        },
        groupCounters: async () => {
            await turn();
            this.groupLists += 1;
            if (this.isListTooLong) throw new OpenFlowError("DISCONNECTED", "environment", "the connection ended");
            return this.groups;
        },
    };

    #found({ table, cookie, cookieMask }: CookieFilter): readonly Flow[] {
        return this.flows.filter(
            (flow) => (table === undefined || flow.table === table) && cookieFits(flow, cookie, cookieMask),
        );
    }

    async #pass(signal: AbortSignal | undefined): Promise<void> {
        if (signal?.aborted === true) throw cancelled();
        while (!this.#connected) {
            const gate = this.#gate.promise;
            await new Promise<void>((resolve, reject) => {
                signal?.addEventListener("abort", () => reject(cancelled()), { once: true });
                void gate.then(resolve);
            });
        }
    }
}

function cancelled(): OpenFlowError {
    return new OpenFlowError("ABORTED", "aborted", "cancelled");
}
