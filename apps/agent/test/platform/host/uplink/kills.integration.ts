import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Step } from "../../../../src/platform/host/uplink/types.ts";
import type { Action, ProgramInput } from "./support/input.ts";
import { UplinkNode } from "./support/uplink-node.ts";

const moments = ["before", "written", "made"] as const;
const way: readonly Step[] = ["save", "rename", "host-port", "uplink-port", "switch", "confirm", "bridged"];
const rollback: readonly Step[] = ["switch-back", "remove-ports", "rename-back"];
/** Three times the promise of 10 s, as docs/testing.md says of busy machines. */
const limitMs = 30_000;
/** More than either step makes. */
const maxChanges = 60;

type Case = Pick<ProgramInput, "kill" | "killAtChange"> & { readonly actions: readonly Action[] };
type Agent = Awaited<ReturnType<UplinkNode["pause"]>>;

let node: UplinkNode;
let before: ReturnType<UplinkNode["truth"]>;
/** The agent that found the Node as the last one left it, and is the one to be killed next. */
let agent: Agent;

beforeAll(async () => {
    node = await UplinkNode.start();
    before = node.truth();
});

afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
});

function start({ actions, ...kill }: Case): Promise<Agent> {
    return node.pause({ actions: ["recover", "wait", ...actions], ...kill });
}

/** The next agent has the Node on the network in time, with all it had. */
async function nextFinds(kind: "idle" | "found", next: Case): Promise<void> {
    const began = performance.now();
    if (kind === "found") {
        const { reported } = await node.run({ actions: ["recover", "restore"] });
        expect(reported).toMatchObject([{ kind: "found" }, { kind: "idle" }]);
    }
    agent = await start(next);
    // eslint-disable-next-line no-restricted-syntax -- the time off the network is the promise; it takes 0.2 to 0.5 s
    expect(performance.now() - began).toBeLessThan(limitMs);
    expect(JSON.parse(agent.reported)).toEqual({ kind: "idle" });
    expect(node.reaches()).toBe(true);
    expect(node.truth()).toEqual(before);
}

const cases: readonly (readonly [string, Case])[] = [
    ...pointsOf(way).map((kill) => ({ kill, actions: ["connect"] }) as const),
    ...pointsOf(rollback).map((kill) => ({ kill, actions: ["connect", "restore"] }) as const),
].map((one) => [`${one.kill.step}, ${one.kill.moment}`, one]);

function pointsOf(steps: readonly Step[]): readonly NonNullable<Case["kill"]>[] {
    return steps.flatMap((step) => moments.map((moment) => ({ step, moment })));
}

/** The agents that are not killed: they end when they may continue. */
const nothing: Case = { actions: [] };

describe("killed at", () => {
    beforeAll(async () => {
        agent = await start(cases[0]?.[1] ?? nothing);
    });

    afterAll(() => agent.go());

    it.each(cases)("%s: the next start has the Node on the network, with all it had", async (name, { kill }) => {
        expect(await agent.go()).toMatchObject({ signal: "SIGKILL" });
        // Complete is what the journal records as complete.
        const complete = ["bridged, written", "bridged, made", "switch-back, before"].includes(name);
        const next = cases[cases.findIndex(([, one]) => one.kill === kill) + 1]?.[1] ?? nothing;
        await nextFinds(complete ? "found" : "idle", next);
    });
});

describe("killed before each change in the kernel", () => {
    it.each([
        ["switch", ["connect"]],
        ["switch-back", ["connect", "restore"]],
    ] as const)("of the step %s: the same", async (step, actions) => {
        let change = 1;
        const at = (): Case => ({ actions, killAtChange: { step, change } });
        agent = await start(at());
        for (;;) {
            const { signal } = await agent.go();
            if (signal === null) break;
            expect(++change).toBeLessThan(maxChanges);
            await nextFinds("idle", at());
        }
        await node.run({ actions: ["recover", "restore"] });
        expect(node.truth()).toEqual(before);
        console.info(`${step}: killed before each of ${change - 1} changes`);
    });
});
