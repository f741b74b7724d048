import { beforeAll, describe, expect, it } from "@jest/globals";
import { type ApiClient } from "@antrea/kube";
import { noFaults, noWatchFaults } from "../api/faults.ts";
import { FlowControl } from "../api/flow-control.ts";
import { Transport } from "../api/transport.ts";
import { chartLevels } from "../api/priority-levels.ts";
import { agentUser, checkPolicies, controllerUser, type User } from "../api/rules.ts";
import { ApiServer } from "../api/server.ts";
import { Counters } from "../check/counters.ts";
import { Random } from "../time/random.ts";
import { VirtualTime } from "../time/virtual-time.ts";
import { apiCases } from "./api-cases.ts";
import { namespaceCases } from "./namespace-cases.ts";
import { networkCases } from "./network-cases.ts";
import { policyCases, type Roles } from "./policy-cases.ts";

const time = new VirtualTime();
let server: ApiServer;
let api: ApiClient;

/** Lets virtual time pass until the promise has settled. */
async function inVirtualTime<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    work.then(end, end);
    await time.run(() => isOver);
    return work;
}

function clientOf(user: User): ApiClient {
    const faults = { requests: noFaults, watches: noWatchFaults };
    const components = { time, server, random: new Random(2), counters: new Counters(), step: () => undefined };
    const flows = new FlowControl({ ...components, store: server.store }, { levels: chartLevels(), scale: 1 });
    const transport = new Transport(
        { ...components, flows, faults: () => faults },
        { name: "test", user, clock: time.clock() },
    );
    return transport.api;
}

beforeAll(async () => {
    server = new ApiServer(time, new Random(1));
    const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });
    await server.handle({ method: "POST", path: "/api/v1/namespaces", body }, { name: "admin" });
    api = clientOf({ name: "admin" });
});

describe("the simulated API server", () => {
    it.each([...apiCases, ...namespaceCases, ...networkCases])("$name", async ({ run, expected }) => {
        expect(await inVirtualTime(run(api))).toEqual(expected);
    });
});

describe("the simulated API server with the policies of the chart", () => {
    let roles: Roles;
    beforeAll(() => {
        server.policies = checkPolicies;
        const agent = (node: string): ApiClient => clientOf({ name: agentUser, node });
        roles = { admin: api, a: agent("a"), b: agent("b"), controller: clientOf({ name: controllerUser }) };
    });

    it.each(policyCases)("$name", async ({ run, expected }) => {
        expect(await inVirtualTime(run(roles))).toEqual(expected);
    });
});
