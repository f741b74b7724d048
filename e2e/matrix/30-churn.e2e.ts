import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { churn, nothingLeft, tracesAtRest } from "../fixture/churn.ts";
import { TestNamespace } from "../fixture/pods.ts";

describe("churn, again and again", () => {
    let namespace: TestNamespace;

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-churn");
    });
    afterAll(() => namespace[Symbol.asyncDispose]());

    it("leaves no port, flow, address, route or namespace after 30 Pods came and went three times", async () => {
        const before = await tracesAtRest();
        for (let n = 0; n < 3; n += 1) await churn(namespace);
        expect(await nothingLeft(before)).toBe(true);
    });
});
