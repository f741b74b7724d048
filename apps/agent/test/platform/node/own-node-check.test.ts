import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { KubeError, nodes as nodeResource } from "@antrea/kube";
import { OwnNodeCheck, type OwnNodeAnswer } from "../../../src/platform/node/own-node-check.ts";
import { FakeApi } from "../../features/ip-pools/support/fake-api.ts";
import { TestNodes } from "../../features/ip-pools/support/test-agent.ts";

describe("the check of this agent's Node", () => {
    let api: FakeApi;
    let clock: ManualClock;
    let nodes: TestNodes;
    let check: OwnNodeCheck;
    let answers: OwnNodeAnswer[];

    const confirm = (isRight = true): Promise<void> =>
        check.confirm((answer) => {
            answers.push(answer);
            return isRight;
        });

    beforeEach(() => {
        [api, clock, nodes, answers] = [new FakeApi(), new ManualClock(), new TestNodes([]), []];
        nodes.put("a");
        nodes.upToDateAt = clock.monotonic();
        api.put(nodeResource, { metadata: { name: "a" } });
        check = new OwnNodeCheck({ api, nodes, clock }, { nodeName: "a", timeoutMs: 1_000 });
    });

    it("is fresh for 30 s after the informer was up to date, and after an answer by which the Node is as it should be", async () => {
        await clock.advance(29_999);
        expect(check.isFresh).toBe(true);
        await clock.advance(1);
        expect(check.isFresh).toBe(false);
        await confirm(false);
        expect(check.isFresh).toBe(false);
        await confirm();
        await clock.advance(29_999);
        expect(check.isFresh).toBe(true);
        await clock.advance(1);
        expect(check.isFresh).toBe(false);
        nodes.upToDateAt = clock.monotonic();
        expect(check.isFresh).toBe(true);
    });

    it("counts the 30 s from the question, not from the answer", async () => {
        await clock.advance(30_000);
        const askedAt = clock.monotonic();
        api.before = () => clock.advance(900);
        await confirm();
        expect(answers).toMatchObject([{ kind: "answered", node: { metadata: { name: "a" } }, askedAt }]);
        await clock.advance(29_100);
        expect(check.isFresh).toBe(false);
    });

    it("asks and judges once for all who wait, and again for who comes later", async () => {
        await Promise.all([confirm(), confirm(), confirm()]);
        expect([api.requests.length, answers.length]).toEqual([1, 1]);
        await confirm();
        expect([api.requests.length, answers.length]).toEqual([2, 2]);
    });

    it("gives the API server its time", async () => {
        const { find } = api;
        const limits: unknown[] = [];
        api.find = (resource, key, o) => {
            limits.push(o?.timeoutMs);
            return find(resource, key, o);
        };
        await confirm();
        expect(limits).toEqual([1_000]);
    });

    it("reports that there is no Node, and that nobody answers, which confirms nothing", async () => {
        await clock.advance(30_000);
        api.remove(nodeResource, "a");
        await confirm(false);
        const error = new KubeError("TIMEOUT", "no answer");
        api.fault = () => ({ refuse: error });
        await confirm();
        expect(answers).toEqual([
            { kind: "answered", node: undefined, askedAt: clock.monotonic(), overtakenBy: undefined },
            { kind: "unanswered", error, overtakenBy: undefined },
        ]);
        expect(check.isFresh).toBe(false);
    });

    it("rejects for all who wait with what the judge throws, or a request that cannot be made, and asks the next time", async () => {
        await clock.advance(30_000);
        const judge = (): boolean => {
            throw new RangeError("lost");
        };
        const outcomes = await Promise.allSettled([check.confirm(judge), confirm()]);
        expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
        const { find } = api;
        api.find = () => Promise.reject(new TypeError("a bug"));
        await expect(confirm()).rejects.toThrow("a bug");
        api.find = find;
        expect([answers.length, check.isFresh]).toEqual([0, false]);
        await confirm();
        expect(check.isFresh).toBe(true);
    });

    describe.each([true, false])("of which the API server answers: %s", (isAnswered) => {
        it("knows that the first list came meanwhile, and that it is without the Node", async () => {
            nodes = TestNodes.unlisted();
            check = new OwnNodeCheck({ api, nodes, clock }, { nodeName: "a", timeoutMs: 1_000 });
            api.before = () => Promise.resolve(nodes.firstList());
            if (!isAnswered) api.fault = () => ({ refuse: new KubeError("TIMEOUT", "no answer") });
            await confirm(false);
            await confirm(false);
            expect(answers.map(({ overtakenBy }) => overtakenBy)).toEqual([{ node: undefined }, undefined]);
        });

        it.each([
            ["deleted", () => nodes.remove("a"), undefined],
            ["changed", () => nodes.put("a", { podCIDR: "10.0.0.0/24" }), "10.0.0.0/24"],
        ])("knows what the informer delivered if the Node is %s meanwhile", async (_, change, podCIDR) => {
            api.before = () => Promise.resolve(change());
            if (!isAnswered) api.fault = () => ({ refuse: new KubeError("TIMEOUT", "no answer") });
            await confirm(false);
            api.before = () => Promise.resolve();
            await confirm(false);
            expect(answers.map(({ kind }) => kind === "answered")).toEqual([isAnswered, isAnswered]);
            const [during, after] = answers.map(({ overtakenBy }) => overtakenBy);
            expect([during !== undefined, during?.node?.spec?.podCIDR, after]).toEqual([true, podCIDR, undefined]);
        });
    });

    it("does not count changes of other Nodes, and those before it asked", async () => {
        nodes.put("a", { podCIDR: "10.0.0.0/24" });
        api.before = () => Promise.resolve(nodes.put("b"));
        await confirm();
        expect(answers[0]?.overtakenBy).toBeUndefined();
    });
});
