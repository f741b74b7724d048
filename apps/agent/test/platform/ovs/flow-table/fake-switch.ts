import { setImmediate as turn } from "node:timers/promises";
import { flowKey, OpenFlowError, type Flow, type FlowMod, type FlowStats } from "@antrea/openflow";
import type { CookieFilter, FlowLink } from "../../../../src/platform/ovs/flow-table/index.ts";

const allBits = (1n << 64n) - 1n;

/**
 * A switch that keeps flows as Open vSwitch does: an addition replaces the flow of the same table, priority and match,
 * a strict deletion touches that flow alone and only if its cookie fits, a bundle is applied whole or not at all. The
 * one thing it refuses is an output to a group, since it has none. `flow-link-compliance.ts` holds it to the real one.
 * Every request takes a turn of the event loop to come, and every answer one: what others do meanwhile comes in between.
 */
export class FakeSwitch implements FlowLink {
    readonly #flows = new Map<string, Flow>();
    /** How many flow mods each bundle had. */
    readonly bundles: number[] = [];
    /** Thrown by the coming bundles, one each. `applied`: the answer is lost, not the request. */
    readonly failures: { readonly error: Error; readonly applied: boolean }[] = [];
    /** What each dump asked for and how many flows it gave. */
    readonly dumps: { readonly table: number | undefined; readonly flows: number }[] = [];
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
        this.#flows.clear();
    }

    /** A change by somebody else. */
    put(flow: Flow): void {
        this.#flows.set(flowKey(flow), flow);
    }

    drop(flow: Flow): void {
        this.#flows.delete(flowKey(flow));
    }

    get flows(): readonly Flow[] {
        return [...this.#flows.values()];
    }

    async bundle(mods: readonly FlowMod[], options: { readonly signal?: AbortSignal } = {}): Promise<void> {
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

    /** Past the gate, as the replay goes. */
    readonly direct: FlowLink = {
        bundle: async (mods) => {
            this.bundles.push(mods.length);
            const failure = this.failures.shift();
            await turn();
            if (failure?.applied === false) throw failure.error;
            if (mods.some(({ flow }) => flow.actions?.some(({ type }) => type === "group"))) {
                throw new OpenFlowError("REFUSED", "caller", "the switch has no groups");
            }
            for (const mod of mods) this.#apply(mod);
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
    };

    #found({ table, cookie, cookieMask }: CookieFilter): readonly Flow[] {
        return this.flows.filter(
            (flow) => (table === undefined || flow.table === table) && cookieFits(flow, cookie, cookieMask),
        );
    }

    #apply({ command, flow, cookieMask }: FlowMod): void {
        const { table, priority } = flow;
        if (table === undefined || priority === undefined) throw new TypeError("a flow mod without table or priority");
        const key = flowKey({ table, priority, match: flow.match });
        if (command === "add") this.#flows.set(key, { ...flow, table, priority, actions: flow.actions ?? [] });
        else if (command === "delete_strict") {
            const present = this.#flows.get(key);
            if (present !== undefined && cookieFits(present, flow.cookie ?? 0n, cookieMask ?? 0n)) {
                this.#flows.delete(key);
            }
        } else throw new TypeError(`the fake switch knows no ${command}`);
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

function cookieFits(flow: Flow, cookie: bigint, mask: bigint = allBits): boolean {
    return ((flow.cookie ?? 0n) & mask) === (cookie & mask);
}

function cancelled(): OpenFlowError {
    return new OpenFlowError("ABORTED", "aborted", "cancelled");
}
