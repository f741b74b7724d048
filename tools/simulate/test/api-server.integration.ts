import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { type ApiClient } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { apiCases } from "./api-cases.ts";

let server: TestApiServer;
let api: ApiClient;

beforeAll(async () => {
    server = await TestApiServer.start();
    await server.apply(customResourceDefinitions());
    api = server.clients().api;
});
afterAll(() => server.stop());

describe("kube-apiserver, of which the simulated one says the same", () => {
    it.each(apiCases)("$name", async ({ run, expected }) => {
        expect(await run(api)).toEqual(expected);
    });
});
