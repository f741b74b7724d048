import { describe, expect, it } from "@jest/globals";
import { uplinkCondition } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import type { JobWork } from "@antrea/runtime";
import type { UplinkState } from "../../../src/platform/host/uplink/index.ts";
import { isOwnHost } from "../../../src/platform/host/uplink/api-reachable.ts";
import { UplinkKeeper, type KeeperPlatform } from "../../../src/features/bridging/uplink-keeper.ts";
import { addressOf } from "../../platform/host/uplink/support/fake-links.ts";

const found: UplinkState = { kind: "found", name: "eth0" };
const bridged: UplinkState = { kind: "bridged", name: "eth0", physicalName: "eth0~", mac: "02:00:00:00:00:02" };
const signal = new AbortController().signal;

/** A keeper whose uplink gives the scripted answers in order, one for each call of `run`. */
function make(first: UplinkState, answers: readonly (UplinkState | Error)[] = [], lockState = "locked") {
    const calls: string[] = [];
    const written: unknown[] = [];
    const jobs = new Map<string, JobWork>();
    const left = [...answers];
    const uplink = {
        state: first,
        async answer(call: string): Promise<UplinkState> {
            calls.push(call);
            const answer = left.shift() ?? this.state;
            if (answer instanceof Error) throw answer;
            return (this.state = answer);
        },
        connect: (): Promise<UplinkState> => uplink.answer("connect"),
        check: (): Promise<UplinkState> => uplink.answer("check"),
        async restore(): Promise<void> {
            calls.push("restore");
            uplink.state = { kind: "idle" };
        },
    };
    const base = {
        uplink,
        environment: { nodeName: "worker" },
        database: { lockState },
        kube: {
            api: { find: async () => ({}), patch: async (...args: readonly unknown[]) => void written.push(args[2]) },
            close: () => undefined,
        },
        events: { record: () => undefined },
        openflow: { onReady: () => undefined },
        jobs: {
            every: (name: string, _ms: number, work: JobWork) => {
                jobs.set(name, work);
                return { trigger: () => undefined };
            },
        },
    };
    const keeper = new UplinkKeeper(base as unknown as KeeperPlatform);
    keeper.addJobs({ state: { name: "eth0" }, check: async () => undefined } as never, () => undefined);
    return { keeper, calls, written, run: async () => jobs.get("bridging/uplink")?.(signal) };
}

describe("the keeper of the uplink", () => {
    it("connects until a move of an earlier agent is taken up, then checks; is ready from then on", async () => {
        const { keeper, calls, run } = make(found, [new TypeError("no port"), found, bridged]);
        expect(keeper.problem).toContain("not connected to the bridge yet");
        await expect(run()).rejects.toThrow("no port");
        expect(keeper.problem).toContain("has to take up again");
        await run();
        await run();
        expect(keeper.problem).toBeUndefined();
        await run();
        expect(calls).toEqual(["connect", "connect", "connect", "check"]);
    });

    it("does not repeat a move that was undone", async () => {
        const { keeper, calls, run } = make({ kind: "idle" }, [
            { kind: "rolledBack", name: "eth0", reason: "nobody answered" },
        ]);
        await run();
        await run();
        expect(calls).toEqual(["connect"]);
        expect(keeper.problem).toContain("nobody answered");
    });

    it.each([found, bridged])(
        "gives the NIC back at the end, also of a start, and reports it once: %j",
        async (state) => {
            const { keeper, calls, written } = make(state);
            await keeper.stop();
            await keeper.stop();
            expect(calls).toEqual(["restore", "restore"]);
            expect(written).toMatchObject([
                {
                    body: {
                        status: { conditions: [{ type: uplinkCondition, status: "False", reason: "UplinkNotMoved" }] },
                    },
                },
            ]);
        },
    );

    it("leaves the NIC to the agent that has the lock", async () => {
        const { keeper, calls } = make(found, [], "waiting");
        await keeper.stop();
        expect(calls).toEqual([]);
    });
});

it.each([
    ["127.0.0.1", true],
    ["::1", true],
    ["localhost", true],
    ["10.0.0.2", true],
    ["fd00::2", true],
    ["10.0.0.3", false],
    ["10.96.0.1", false],
])("an API server at %s is on this Node: %s", async (host, isOwn) => {
    const addresses = async () => ["10.0.0.2", "fd00::2"].map((text) => addressOf(2, parseIp(text)));
    expect(await isOwnHost(host, { addresses })).toBe(isOwn);
});
