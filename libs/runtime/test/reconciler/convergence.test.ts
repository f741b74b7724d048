import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { Fixture } from "./fixture.ts";

const key = fc.constantFrom("a", "b", "c", "d");
const value = fc.nat(3);

/** What may happen to objects, to what is in place, and to the operations. */
const step = fc.oneof(
    fc.record({ do: fc.constant("set" as const), key, value }),
    fc.record({ do: fc.constant("delete" as const), key }),
    fc.record({ do: fc.constant("apply" as const), key }),
    fc.record({ do: fc.constant("refuse" as const), key }),
    fc.record({ do: fc.constant("take" as const), key }),
    fc.record({ do: fc.constant("leave" as const), key, value }),
    fc.record({ do: fc.constant("pass" as const) }),
    fc.record({ do: fc.constant("replace" as const), desired: fc.dictionary(key, value) }),
    fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 5000 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

async function act(fixture: Fixture, one: Step, under: Promise<unknown>[]): Promise<void> {
    const { reconciler, actual, refused, clock } = fixture;
    switch (one.do) {
        case "set":
            return reconciler.set(one.key, one.value);
        case "delete":
            return reconciler.delete(one.key);
        case "apply":
            // Not awaited: what follows happens meanwhile.
            return void under.push(reconciler.apply(one.key).catch(() => undefined));
        case "refuse":
            return void (refused.delete(one.key) || refused.set(one.key, "refused"));
        case "take":
            return void actual.delete(one.key);
        case "leave":
            return void actual.set(one.key, one.value);
        case "pass":
            return void under.push(reconciler.pass());
        case "replace":
            return reconciler.replace(new Map(Object.entries(one.desired)));
        case "wait":
            return clock.advance(one.ms);
    }
}

it.each([
    ["one at a time", {}],
    ["several at a time", { concurrency: 3 }],
    ["in batches", { inBatches: true }],
])("any order of changes, failures and interference ends with what is desired in place: %s", async (_, options) => {
    await fc.assert(
        fc.asyncProperty(
            fc.array(step, { maxLength: 40 }),
            fc.array(fc.nat(3), { maxLength: 20 }),
            async (all, turns) => {
                const fixture = new Fixture(options);
                const { reconciler, actual, refused, clock } = fixture;
                // Operations take a few turns of the event loop each, so that they overlap in many ways.
                let at = 0;
                fixture.pause = async () => {
                    for (let turn = turns[at++ % (turns.length || 1)] ?? 0; turn > 0; turn -= 1)
                        await Promise.resolve();
                };
                const under: Promise<unknown>[] = [];
                for (const one of all) await act(fixture, one, under);
                await Promise.all(under);
                refused.clear();
                await clock.advance(60_000);
                // One retry of each failure, and one comparison, are enough.
                expect(await reconciler.pass()).toEqual({ failed: 0, error: undefined, againInMs: undefined });
                expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(reconciler.desired));
                expect(reconciler.counts()).toEqual({ pending: 0, done: reconciler.desired.size, error: 0 });
                fixture.done();
                await reconciler.pass();
                expect(fixture.done()).toEqual([]);
            },
        ),
        { numRuns: 150 },
    );
});
