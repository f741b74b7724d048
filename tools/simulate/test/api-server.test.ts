import { beforeAll, describe, expect, it } from "@jest/globals";
import { type ApiClient } from "@antrea/kube";
import { noFaults, noWatchFaults } from "../api/faults.ts";
import { Line } from "../api/line.ts";
import { ApiServer } from "../api/server.ts";
import { Counters } from "../check/counters.ts";
import { Random } from "../time/random.ts";
import { VirtualTime } from "../time/virtual-time.ts";
import { apiCases } from "./api-cases.ts";

const time = new VirtualTime();
let api: ApiClient;

/** Lets virtual time pass until the promise has settled. */
async function inVirtualTime<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    work.then(end, end);
    await time.run(() => isOver);
    return work;
}

beforeAll(async () => {
    const server = new ApiServer(time, new Random(1));
    const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });
    await server.handle({ method: "POST", path: "/api/v1/namespaces", body }, { name: "admin" });
    const faults = { requests: noFaults, watches: noWatchFaults };
    const line = new Line(
        { time, server, random: new Random(2), counters: new Counters(), faults: () => faults, step: () => undefined },
        { name: "test", user: { name: "admin" }, clock: time.clock() },
    );
    api = line.api;
});

describe("the simulated API server", () => {
    it.each(apiCases)("$name", async ({ run, expected }) => {
        expect(await inVirtualTime(run(api))).toEqual(expected);
    });
});
