import { expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { WorkQueue } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { LeaderJobs } from "../../src/platform/leader-jobs.ts";

it("has the status of the queues of the latest term, also after its end", async () => {
    const jobs = new LeaderJobs();
    const components = { logger: new MemoryLog().logger, clock: new ManualClock(), jobs };
    const termOf = (): readonly WorkQueue[] =>
        ["ip-pools", "allocation-cleaner"].map((name) => new WorkQueue(components, { name }, () => Promise.resolve()));
    const states = (): readonly string[] => jobs.health().map(({ name, state }) => `${name} ${state}`);
    expect(states()).toEqual([]);
    const first = termOf();
    expect(states()).toEqual(["ip-pools waiting", "allocation-cleaner waiting"]);
    for (const queue of first) await queue.close();
    expect(states()).toEqual(["ip-pools stopped", "allocation-cleaner stopped"]);
    const second = termOf();
    expect(states()).toEqual(["ip-pools waiting", "allocation-cleaner waiting"]);
    for (const queue of second) await queue.close();
});
