import { beforeEach, expect, it } from "@jest/globals";
import { GatewayError } from "../../../src/platform/host/gateway/gateway.ts";
import { keepNetwork, type NetworkParts } from "../../../src/features/pod-network/keep-network.ts";
import { OvsBridgeError } from "../../../src/platform/ovs/bridge/index.ts";
import { Readiness } from "../../../src/platform/readiness.ts";

const noDevice = new GatewayError("NO_DEVICE", "environment", "OVS did not create the device antrea-gw0");

let calls: string[];
let failures: Record<string, Error>;
let readiness: Readiness;

function parts(): NetworkParts {
    const step = async (name: string): Promise<void> => {
        calls.push(name);
        if (failures[name] !== undefined) throw failures[name];
    };
    return {
        bridge: { endFlowRestore: () => step("endFlowRestore") },
        bridgeDevice: { ensure: () => step("bridge device") },
        flowTable: {
            repair: async () => {
                await step("repair");
                return { missing: 0, superfluous: 0 };
            },
        },
        gateway: {
            ensurePort: async () => {
                await step("ensurePort");
                return 2;
            },
            ensureDevice: () => step("ensureDevice"),
        },
        applyPipeline: () => step("pipeline"),
        readiness,
        reconciler: { reconcile: () => step("reconcile") },
    };
}

const keep = (limit = new AbortController().signal): Promise<void> => keepNetwork(parts(), limit);
const all = ["ensurePort", "ensureDevice", "pipeline", "repair", "endFlowRestore", "reconcile", "bridge device"];

beforeEach(() => {
    [calls, failures, readiness] = [[], {}, new Readiness({})];
});

it("the gateway comes before the flows that name its port", async () => {
    await keep();
    expect(calls).toEqual(all);
    expect(readiness.missing()).toBeUndefined();
});

it("a gateway that fails is named by the readiness, and flows and Pods are repaired all the same", async () => {
    failures = { ensureDevice: noDevice };
    await expect(keep()).rejects.toBe(noDevice);
    expect(calls).toEqual(all);
    expect(readiness.missing()).toBe("the gateway is not as it must be: OVS did not create the device antrea-gw0");
    expect(readiness.unmetConditions()).toEqual(["gateway"]);
    failures = {};
    await keep();
    expect(readiness.missing()).toBeUndefined();
});

it("a device of the bridge that does not come back keeps no Pod from being wired", async () => {
    const lost = new OvsBridgeError("NO_DEVICE", "environment", "OVS did not make the device br-int");
    failures = { "bridge device": lost };
    await expect(keep()).rejects.toBe(lost);
    expect(calls).toEqual(all);
    expect(readiness.missing()).toBeUndefined();
});

it("without a port of the gateway the flows stay as they were, and are repaired", async () => {
    failures = { ensurePort: noDevice, pipeline: noDevice };
    await expect(keep()).rejects.toBe(noDevice);
    expect(calls).toEqual(["ensurePort", "pipeline", "repair", "endFlowRestore", "reconcile", "bridge device"]);
});

it("several failures are all named", async () => {
    failures = { ensureDevice: noDevice, pipeline: new Error("no tunnel"), reconcile: new Error("no Pods") };
    await expect(keep()).rejects.toMatchObject({
        code: "NOT_KEPT",
        fault: "environment",
        message: "OVS did not create the device antrea-gw0; no tunnel; no Pods",
    });
});

it("OVS goes on waiting for its flows, and Pods stay as they are, while flows cannot be repaired", async () => {
    failures = { repair: new Error("no connection") };
    await expect(keep()).rejects.toThrow("no connection");
    expect(calls.slice(-2)).toEqual(["repair", "bridge device"]);
});

it("nothing more is tried when the agent ends", async () => {
    const stop = new AbortController();
    stop.abort(new Error("the end"));
    failures = { ensurePort: noDevice };
    await expect(keep(stop.signal)).rejects.toThrow("the end");
    expect(calls).toEqual(["ensurePort"]);
});
