import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { parsePrefix } from "@antrea/ip";
import { KubeError, nodes as nodeResource } from "@antrea/kube";
import { OwnSubnet } from "../../../../src/platform/node/config/index.ts";
import { FakeApi } from "../../../features/ip-pools/support/fake-api.ts";
import { TestNodes } from "../../../features/ip-pools/support/test-agent.ts";
import { listLogger, type LogEntry } from "../../../support/logger.ts";

describe("an address of the Node's subnet, when the watch of Nodes has been silent", () => {
    let api: FakeApi;
    let clock: ManualClock;
    let nodes: TestNodes;
    let log: LogEntry[];
    let subnet: OwnSubnet;
    let failures: unknown[];

    function setPodCidrs(...podCIDRs: readonly string[]): void {
        api.put(nodeResource, { metadata: { name: "worker" }, spec: { podCIDRs } } as never);
    }

    beforeEach(() => {
        [api, clock, log] = [new FakeApi(), new ManualClock(), []];
        nodes = new TestNodes([]);
        nodes.put("worker", { podCIDRs: ["10.10.1.0/24"] });
        nodes.upToDateAt = clock.monotonic();
        failures = [];
        setPodCidrs("10.10.1.0/24");
        subnet = new OwnSubnet(
            { api, nodes, clock, fail: (error) => failures.push(error), logger: listLogger(log) },
            { name: "worker", podPrefixes: [parsePrefix("10.10.1.0/24")] },
        );
    });

    it("is of no interest to the watch any more when the check is disposed of", () => {
        expect(nodes.listeners).toBe(1);
        subnet[Symbol.dispose]();
        expect(nodes.listeners).toBe(0);
    });

    it("is given while the watch reports what there is, without a question", async () => {
        api.remove(nodeResource, "worker");
        await clock.advance(29_000);
        await subnet.confirm();
        expect(api.requests).toEqual([]);
    });

    it.each([
        [
            "is gone",
            () => api.remove(nodeResource, "worker"),
            "SUBNET_LOST",
            "the API server has no Node worker (NODE_NAME); it had 10.10.1.0/24, which may since be assigned to another Node; kubelet recreates the Node when it is restarted",
        ],
        [
            "has no podCIDRs any more",
            () => setPodCidrs(),
            "SUBNET_LOST",
            expect.stringMatching(
                /^Node worker has no spec\.podCIDRs.*it had 10\.10\.1\.0\/24, which may since be assigned/,
            ),
        ],
        [
            "has others",
            () => setPodCidrs("10.10.7.0/24"),
            "POD_CIDR_CHANGED",
            expect.stringContaining("changed from 10.10.1.0/24 to 10.10.7.0/24"),
        ],
    ])("is refused when the Node %s", async (_, change, code, message) => {
        change();
        await clock.advance(30_000);
        await expect(subnet.confirm()).rejects.toMatchObject({ code, message });
        // As often as it is asked for.
        await expect(subnet.confirm()).rejects.toMatchObject({ code });
    });

    it.each([
        ["has no podCIDRs any more", () => nodes.put("worker"), "SUBNET_LOST"],
        ["is gone", () => nodes.remove("worker"), "SUBNET_LOST"],
        ["has others", () => nodes.put("worker", { podCIDRs: ["10.10.7.0/24"] }), "POD_CIDR_CHANGED"],
    ])("is refused without a question when the watch has just reported that the Node %s", async (_, change, code) => {
        nodes.put("worker", { podCIDRs: ["10.10.1.0/24"] });
        await subnet.confirm();
        change();
        await expect(subnet.confirm()).rejects.toMatchObject({ code });
        nodes.put("worker", { podCIDRs: ["10.10.1.0/24"] });
        await subnet.confirm();
        expect(api.requests).toEqual([]);
    });

    it("is given when an answer that is later than what the watch reported has it", async () => {
        nodes.put("worker");
        await clock.advance(30_000);
        await subnet.confirm();
        await subnet.confirm();
        expect(api.requests).toHaveLength(1);
    });

    it("lost is a problem of the agent until it is the Node's again, or the watch, which is newer, reports what there is", async () => {
        expect(subnet.problem).toBeUndefined();
        api.remove(nodeResource, "worker");
        await clock.advance(30_000);
        await expect(subnet.confirm()).rejects.toMatchObject({ code: "SUBNET_LOST" });
        expect(subnet.problem).toMatch(/^the API server has no Node worker .*may since be assigned to another Node/);
        setPodCidrs("10.10.1.0/24");
        await subnet.confirm();
        expect(subnet.problem).toBeUndefined();
        await clock.advance(30_000);
        api.remove(nodeResource, "worker");
        await expect(subnet.confirm()).rejects.toMatchObject({ code: "SUBNET_LOST" });
        expect(subnet.problem).toBeDefined();
        await clock.advance(1);
        nodes.upToDateAt = clock.monotonic();
        expect(subnet.problem).toBeUndefined();
        expect(failures).toEqual([]);
    });

    it("that is another one now ends the process, which starts again with that", async () => {
        setPodCidrs("10.10.7.0/24");
        await clock.advance(30_000);
        await expect(subnet.confirm()).rejects.toMatchObject({ code: "POD_CIDR_CHANGED" });
        expect(failures).toMatchObject([{ code: "POD_CIDR_CHANGED" }]);
    });

    it("is given for another half minute when the Node has it, and the next Pod does not ask", async () => {
        await clock.advance(30_000);
        await Promise.all([subnet.confirm(), subnet.confirm()]);
        await clock.advance(29_000);
        await subnet.confirm();
        expect(api.requests).toHaveLength(1);
        await clock.advance(1_000);
        await subnet.confirm();
        expect(api.requests).toHaveLength(2);
    });

    it("is given while nobody answers, and the log reports so; the next Pod asks again", async () => {
        api.fault = () => ({ refuse: new KubeError("TIMEOUT", "no answer") });
        await clock.advance(600_000);
        await subnet.confirm();
        expect(log).toMatchObject([{ level: "info", fields: { podCIDRs: "10.10.1.0/24", reason: "no answer" } }]);
        api.fault = () => undefined;
        api.remove(nodeResource, "worker");
        await expect(subnet.confirm()).rejects.toMatchObject({ code: "SUBNET_LOST" });
    });

    /** The next answer of the API server is that of before this, and is read after it. */
    function beforeAnswerIsRead(change: () => void): void {
        const { find } = api;
        api.find = async (...args: Parameters<typeof find>) => {
            api.find = find;
            const answer = await find(...args).finally(change);
            return answer as never;
        };
    }

    const lost = { code: "SUBNET_LOST", message: expect.stringContaining("may since be assigned to another Node") };

    it("is refused when the watch reports the loss while an older answer is under way, and that confirms nothing", async () => {
        nodes.put("worker", { podCIDRs: ["10.10.1.0/24"] });
        await clock.advance(30_000);
        beforeAnswerIsRead(() => {
            api.remove(nodeResource, "worker");
            nodes.remove("worker");
        });
        await expect(subnet.confirm()).rejects.toMatchObject(lost);
        await expect(subnet.confirm()).rejects.toMatchObject(lost);
        expect([api.requests.length, failures]).toEqual([2, []]);
    });

    it("is refused when the watch reports the loss while nobody answers", async () => {
        nodes.put("worker", { podCIDRs: ["10.10.1.0/24"] });
        await clock.advance(30_000);
        api.fault = () => ({ refuse: new KubeError("TIMEOUT", "no answer") });
        beforeAnswerIsRead(() => nodes.remove("worker"));
        await expect(subnet.confirm()).rejects.toMatchObject(lost);
        expect(log).toEqual([]);
    });

    it.each([
        ["that there was no Node", () => api.remove(nodeResource, "worker"), "SUBNET_LOST"],
        ["of another podCIDR", () => setPodCidrs("10.10.7.0/24"), "POD_CIDR_CHANGED"],
    ])("is refused once, and no more, by an older answer %s", async (_, before, code) => {
        before();
        await clock.advance(30_000);
        beforeAnswerIsRead(() => {
            setPodCidrs("10.10.1.0/24");
            nodes.put("worker", { podCIDRs: ["10.10.1.0/24"] });
        });
        await expect(subnet.confirm()).rejects.toMatchObject({ code });
        expect([subnet.problem, failures]).toEqual([undefined, []]);
        await subnet.confirm();
        expect(api.requests).toHaveLength(2);
    });

    it("is asked for again when the watch reports a loss after a silence: it may be older or newer than the answer", async () => {
        await clock.advance(60_000);
        await subnet.confirm();
        await clock.advance(1_000);
        api.remove(nodeResource, "worker");
        // What comes after a silence may be as old as that.
        nodes.remove("worker");
        await expect(subnet.confirm()).rejects.toMatchObject(lost);
        setPodCidrs("10.10.1.0/24");
        await subnet.confirm();
        expect(api.requests).toHaveLength(3);
    });

    it("is given when something else of the Node changes meanwhile, and the next Pod asks again", async () => {
        await clock.advance(30_000);
        beforeAnswerIsRead(() => nodes.put("worker", { podCIDRs: ["10.10.1.0/24"] }));
        await subnet.confirm();
        await subnet.confirm();
        await subnet.confirm();
        expect(api.requests).toHaveLength(2);
    });
});

describe("an address of the Node's subnet, when the agent began with what it remembers of the Node", () => {
    let api: FakeApi;
    let clock: ManualClock;
    let nodes: TestNodes;
    let subnet: OwnSubnet;

    /** Who has the podCIDR by now, as the list is read that began then. */
    function firstList(holder: "worker" | "other", began: number): void {
        nodes.put(holder, { podCIDRs: ["10.10.1.0/24"] });
        nodes.firstList(began);
    }

    beforeEach(async () => {
        [api, clock, nodes] = [new FakeApi(), new ManualClock(), TestNodes.unlisted()];
        subnet = new OwnSubnet(
            { api, nodes, clock, fail: () => undefined, logger: listLogger([]) },
            { name: "worker", podPrefixes: [parsePrefix("10.10.1.0/24")] },
        );
        await clock.advance(60_000);
    });

    it("is refused without a question when the first list is without the Node, of which no change is delivered", async () => {
        firstList("other", clock.monotonic());
        await expect(subnet.confirm()).rejects.toMatchObject({ code: "SUBNET_LOST" });
        expect(api.requests).toEqual([]);
    });

    it("is given without a question when the first list has the Node", async () => {
        firstList("worker", clock.monotonic());
        await subnet.confirm();
        expect(api.requests).toEqual([]);
    });

    it("is given when the Node is made again after that list", async () => {
        firstList("other", clock.monotonic());
        await expect(subnet.confirm()).rejects.toMatchObject({ code: "SUBNET_LOST" });
        nodes.remove("other");
        nodes.put("worker", { podCIDRs: ["10.10.1.0/24"] });
        await subnet.confirm();
    });

    it("is refused when the first list is without the Node and comes while an answer is under way that has it", async () => {
        api.put(nodeResource, { metadata: { name: "worker" }, spec: { podCIDRs: ["10.10.1.0/24"] } } as never);
        api.before = () => Promise.resolve(firstList("other", clock.monotonic()));
        await expect(subnet.confirm()).rejects.toMatchObject({ code: "SUBNET_LOST" });
    });

    it("is refused when the first list is without the Node and comes after an answer that had it, which it may be older or newer than", async () => {
        const began = clock.monotonic();
        await clock.advance(1_000);
        api.put(nodeResource, { metadata: { name: "worker" }, spec: { podCIDRs: ["10.10.1.0/24"] } } as never);
        await subnet.confirm();
        firstList("other", began);
        await expect(subnet.confirm()).rejects.toMatchObject({ code: "SUBNET_LOST" });
    });
});
