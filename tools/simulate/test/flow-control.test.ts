import { describe, expect, it } from "@jest/globals";
import { FlowControl, type Admitted } from "../api/flow-control.ts";
import { chartLevels, type FlowShape } from "../api/priority-levels.ts";
import { agentUser, controllerUser, webhookUser } from "../api/rules.ts";
import { kindOf, type ApiRequest } from "../api/server.ts";
import { Store } from "../api/store.ts";
import { Counters } from "../check/counters.ts";
import { Random } from "../time/random.ts";
import { VirtualTime } from "../time/virtual-time.ts";

const allocations = "/apis/crd.antrea.io/v1alpha1/ipallocations";
const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const get: ApiRequest = { method: "GET", path: `${allocations}/10.0.0.1` };
const create: ApiRequest = { method: "POST", path: allocations };

function setUp(shape: Partial<FlowShape> & { readonly seats?: number; readonly queueLengthLimit?: number }) {
    const { seats = 1, queueLengthLimit = 2, scale = 1 } = shape;
    const time = new VirtualTime();
    const counters = new Counters();
    const store = new Store();
    const levels = chartLevels().map((level) => ({ ...level, seats, queueLengthLimit }));
    const flows = new FlowControl({ time, random: new Random(1), counters, store }, { levels, scale });
    const outcomes: string[] = [];
    const leaves: (() => void)[] = [];
    const ask = (request: ApiRequest, isAwaited = () => true, user = agentUser): void => {
        void flows.admit(user, request, isAwaited).then((admitted: Admitted) => {
            outcomes.push(admitted.outcome);
            if (admitted.outcome === "seated") leaves.push(admitted.leave);
        });
    };
    const pass = async (ms: number): Promise<void> => {
        const until = time.now + ms;
        time.at(until, () => undefined);
        await time.run(() => time.now >= until);
        await new Promise((resolve) => setImmediate(resolve));
    };
    return { time, counters, store, flows, outcomes, leaves, ask, pass };
}

describe("the levels of the chart", () => {
    it("are read from its template", () => {
        const levels = chartLevels().map(({ name, users, queues, handSize }) => ({ name, users, queues, handSize }));
        expect(levels).toEqual([
            { name: "antrea-agents", users: [agentUser], queues: 4, handSize: 2 },
            { name: "antrea", users: [controllerUser, webhookUser], queues: 4, handSize: 1 },
        ]);
    });
});

describe("the flow control of the simulated API server", () => {
    it("lets a request wait for a seat", async () => {
        const { ask, pass, outcomes, leaves, counters } = setUp({});
        ask(get);
        ask(get);
        await pass(1);
        expect(outcomes).toEqual(["seated"]);
        leaves[0]?.();
        await pass(1);
        expect(outcomes).toEqual(["seated", "seated"]);
        expect(counters.get("flow.waited")).toBe(1);
    });

    it("rejects a request when the queues of its user's hand are full, and not that of another user", async () => {
        const { ask, pass, outcomes } = setUp({});
        for (let count = 0; count < 6; count += 1) ask(get);
        ask(get, () => true, controllerUser);
        await pass(1);
        expect(outcomes.toSorted()).toEqual(["rejected", "seated", "seated"]);
    });

    it("rejects a request that waited 15 s", async () => {
        const { ask, pass, outcomes } = setUp({});
        ask(get);
        ask(get);
        await pass(15_001);
        expect(outcomes).toEqual(["seated", "rejected"]);
    });

    it("does not carry out what nobody waits for any more", async () => {
        const { ask, pass, outcomes, leaves } = setUp({});
        ask(get);
        ask(get, () => false);
        await pass(1);
        leaves[0]?.();
        await pass(1);
        expect(outcomes).toEqual(["seated", "abandoned"]);
    });

    it("keeps the seats of a write in proportion to the watches on its kind, after the answer too", async () => {
        const { ask, pass, outcomes, leaves, flows } = setUp({ seats: 10, scale: 1 });
        for (let count = 0; count < 45; count += 1) flows.watching(allocationKind);
        ask(create);
        ask(create);
        ask(create);
        await pass(1);
        expect(outcomes).toEqual(["seated", "seated"]);
        leaves[0]?.();
        await pass(4);
        expect(outcomes).toHaveLength(2);
        await pass(2);
        expect(outcomes).toHaveLength(3);
    });

    it("charges a LIST for the objects of its kind", async () => {
        const { ask, pass, outcomes, store } = setUp({ seats: 3, scale: 100 });
        for (const name of ["10.0.0.1", "10.0.0.2"]) store.put(allocationKind, { metadata: { name } });
        ask({ method: "GET", path: allocations });
        ask({ method: "GET", path: allocations });
        await pass(1);
        expect(outcomes).toEqual(["seated"]);
    });
});
