import { beforeEach, describe, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import { Lifecycle } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { nicUplinkParts } from "../../../src/features/secondary-bridge/nic-uplink-parts.ts";

let calls: string[];
let moved: readonly string[];

beforeEach(() => {
    calls = [];
    moved = [];
});

const call = async (name: string): Promise<void> => void calls.push(name);

/** A Lifecycle with the parts, and one between them; `calls` of the uplinks and of the API server. */
function make(recover: () => Promise<void>, lockState: "none" | "waiting" | "locked" = "locked"): Lifecycle {
    const api = {
        find: () => Promise.resolve({}),
        patch: (_resource: unknown, _name: unknown, { body }: { readonly body: unknown }) =>
            call(JSON.stringify(body).includes("has eth1 back") ? "condition" : "another condition"),
    };
    const parts = nicUplinkParts(
        {
            database: { lockState },
            environment: { nodeName: "worker" },
            kube: { api, close: () => void call("close") },
        } as unknown as Parameters<typeof nicUplinkParts>[0],
        {
            recover: async () => {
                await call("recover");
                await recover();
            },
            restore: async () => {
                await call("restore");
                const before = moved;
                moved = [];
                return before;
            },
        },
    );
    const lifecycle = new Lifecycle({ logger: new MemoryLog().logger });
    const features = { name: "features", start: () => call("features"), stop: () => call("no features") };
    for (const part of [parts.end, parts.recovery, features, parts.move]) lifecycle.append(part);
    return lifecycle;
}

describe("the NICs of the secondary bridge", () => {
    it("are recovered before the features, and given back before these end; the condition is written once", async () => {
        const lifecycle = make(async () => undefined);
        await lifecycle.start();
        expect(calls.splice(0)).toEqual(["recover", "features"]);
        moved = ["eth1"];
        await lifecycle.stop();
        expect(calls).toEqual(["restore", "close", "condition", "no features", "restore"]);
    });

    it("are given back also if the agent is stopped while it recovers them", async () => {
        const lifecycle = make(() => new Promise(() => undefined));
        const started = lifecycle.start();
        started.catch(() => undefined);
        await settle();
        moved = ["eth1"];
        await lifecycle.stop();
        await expect(started).rejects.toMatchObject({ code: "ABORTED" });
        expect(calls).toEqual(["recover", "restore", "close", "condition"]);
    });

    it("are left to the agent that holds the lock of the database", async () => {
        const lifecycle = make(async () => undefined, "waiting");
        await lifecycle.start();
        await lifecycle.stop();
        expect(calls).toEqual(["recover", "features", "no features"]);
    });
});
