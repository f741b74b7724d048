import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { cookieOf } from "@antrea/flows";
import { OpenFlowError } from "@antrea/openflow";
import fc from "fast-check";
import { FlowTable } from "../../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../../support/logger.ts";
import { FakeSwitch } from "./fake-switch.ts";
import { serviceOf, ServiceSource, type TestService } from "./test-service.ts";

const owners = ["a", "b", "c"];
/** Ports of one owner are not those of another one. */
const portOf = (owner: string, port: number): number => owners.indexOf(owner) * 10 + port;

const endpoints = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 30 });
const service = fc.dictionary(fc.constantFrom("1", "2", "3"), endpoints, { maxKeys: 3 });
const ending = fc.constantFrom("refused", "partial", "lost", "slow", "aborted");

type Event =
    | {
          readonly kind: "set";
          readonly owner: string;
          readonly service: Record<string, number[]>;
          readonly asSource: boolean;
      }
    | { readonly kind: "apply"; readonly services: Record<string, Record<string, number[]>> }
    | { readonly kind: "remove"; readonly owner: string }
    | { readonly kind: "fail"; readonly how: string; readonly isApplied: boolean }
    | { readonly kind: "disconnect" | "restart" | "replay" | "repair" | "wait" }
    | { readonly kind: "meddle"; readonly at: number; readonly deletes: boolean };

const owner = fc.constantFrom(...owners);
const event: fc.Arbitrary<Event> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant("set" as const), owner, service, asSource: fc.boolean() }) },
    {
        weight: 3,
        arbitrary: fc.record({
            kind: fc.constant("apply" as const),
            services: fc.dictionary(owner, service, { minKeys: 2, maxKeys: 3 }),
        }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("remove" as const), owner }) },
    {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("fail" as const), how: ending, isApplied: fc.boolean() }),
    },
    {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constantFrom("disconnect", "restart", "replay", "repair", "wait") }),
    },
    {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant("meddle" as const), at: fc.nat(20), deletes: fc.boolean() }),
    },
);

function testService(of: string, given: Record<string, readonly number[]>): TestService {
    return Object.fromEntries(Object.entries(given).map(([port, list]) => [portOf(of, Number(port)), list]));
}

function failure(how: string, isApplied: boolean): FakeSwitch["failures"][number] {
    const error = {
        refused: new OpenFlowError("REFUSED", "caller", "not now"),
        partial: new OpenFlowError("REFUSED", "internal", "cannot be read", { details: { partial: true } }),
        lost: new OpenFlowError("DISCONNECTED", "environment", "lost"),
        slow: new OpenFlowError("TIMEOUT", "timeout", "slow"),
        aborted: new OpenFlowError("ABORTED", "aborted", "given up"),
    }[how];
    if (error === undefined) throw new TypeError(how);
    // What OVS refuses or does not read it has not applied.
    return { error, applied: how === "partial" || (isApplied && ["lost", "slow", "aborted"].includes(how)) };
}

/** A table and its switch, with what its owners wanted last. */
class Run {
    readonly ovs = new FakeSwitch();
    readonly table = new FlowTable({ link: this.ovs, logger: silentLogger });
    readonly #calls: Promise<unknown>[] = [];
    #isConnected = true;

    constructor() {
        this.table.useRound(5, []);
    }

    do(event: Event): void {
        const { ovs, table } = this;
        if (event.kind === "set") {
            const wanted = testService(event.owner, event.service);
            this.#call(table.set(event.owner, event.asSource ? new ServiceSource(wanted) : serviceOf(wanted)));
        } else if (event.kind === "apply") {
            const changes = Object.entries(event.services).map(([of, given]) => ({
                owner: of,
                flows: serviceOf(testService(of, given)),
            }));
            this.#call(table.apply(changes));
        } else if (event.kind === "remove") this.#call(table.remove(event.owner));
        else if (event.kind === "fail") ovs.failures.push(failure(event.how, event.isApplied));
        else if (event.kind === "meddle") this.#meddle(event);
        else if (event.kind === "repair") {
            if (this.#isConnected) this.#call(table.repair());
        } else if (event.kind === "disconnect" || event.kind === "restart") {
            if (event.kind === "restart") ovs.clear();
            ovs.disconnect();
            this.#isConnected = false;
        }
    }

    async replay(): Promise<void> {
        // Calls whose connection broke wait for it, and one that fails is made again, as the connection does.
        this.ovs.disconnect();
        for (let tries = 0; ; tries += 1) {
            try {
                await this.ovs.reconnect((link) => this.table.replay(link));
                this.#isConnected = true;
                return;
            } catch (error) {
                if (tries > 50 || !(error instanceof OpenFlowError)) throw error;
            }
        }
    }

    /** All calls have ended, and the repair of each minute has come twice. */
    async settle(): Promise<void> {
        this.ovs.failures.length = 0;
        await this.replay();
        for (let round = 0; round < 3; round += 1) {
            for (let turns = 0; turns < 60; turns += 1) await turn();
            await this.replay();
        }
        await Promise.all(this.#calls);
        await this.table.repair();
        await this.table.repair();
    }

    #call(promise: Promise<unknown>): void {
        const ended = promise.catch((error: unknown) => {
            if (!(error instanceof OpenFlowError)) throw error;
        });
        // Awaited at the end.
        ended.catch(() => undefined);
        this.#calls.push(ended);
    }

    #meddle({ at, deletes }: { readonly at: number; readonly deletes: boolean }): void {
        const { groups } = this.ovs;
        const group = groups[at % Math.max(1, groups.length)];
        if (group === undefined) return;
        const { id } = group;
        this.ovs.change(
            deletes
                ? { command: "delete", group: { id } }
                : { command: "add_or_modify", group: { ...group, buckets: group.buckets.slice(1) } },
        );
    }
}

it("any sequence of changes, failures, reconnects and meddling ends in exactly what is wanted", async () => {
    await fc.assert(
        fc.asyncProperty(fc.array(event, { minLength: 3, maxLength: 40 }), async (events) => {
            const run = new Run();
            for (const one of events) {
                run.do(one);
                if (one.kind === "replay") await run.replay();
                if (one.kind === "wait") for (let turns = 0; turns < 10; turns += 1) await turn();
            }
            await run.settle();
            const { ovs, table } = run;
            const wanted = owners.flatMap((of) => table.flowsOf(of));
            const text = (flows: FakeSwitch["flows"]): readonly string[] =>
                flows
                    .map(
                        ({ match, cookie, actions }) => `${String(match.in_port)} ${cookie} ${JSON.stringify(actions)}`,
                    )
                    .sort();
            expect(text(ovs.flows)).toEqual(text(wanted));
            // Each group is used by one flow.
            const used = wanted.flatMap(({ actions }) =>
                actions.flatMap((one) => (one.type === "group" ? [one.group] : [])),
            );
            expect(ovs.groups.map(({ id }) => id).sort()).toEqual(used.sort());
            expect(new Set(used).size).toBe(used.length);
            expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
            expect(ovs.flows.every(({ cookie }) => cookieOf(cookie ?? 0n).round === 5)).toBe(true);
        }),
        { numRuns: 300 },
    );
}, 30_000);
