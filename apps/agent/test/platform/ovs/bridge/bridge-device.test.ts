import { beforeEach, expect, it } from "@jest/globals";
import type { Link } from "@antrea/netlink";
import { BridgeDevice } from "../../../../src/platform/ovs/bridge/index.ts";
import { silentLogger } from "../../../support/logger.ts";

let calls: string[];
/** Before which call the device is there. */
let appearsBefore: string | undefined;
let isThere: boolean;
/** What OVS is asked fails with it. */
let interruption: Error | undefined;
let missing: readonly string[];
let device: BridgeDevice;
let warnings: unknown[];

function ensure(datapathType: "netdev" | "system" = "netdev"): Promise<void> {
    const step = async (name: string): Promise<void> => {
        if (name === appearsBefore) isThere = true;
        calls.push(name);
        if (interruption !== undefined) throw interruption;
    };
    device = new BridgeDevice(
        {
            bridge: {
                ensure: () => step("ensure"),
                deletePort: (name) => step(`delete ${name}`),
                acknowledged: () => step("carried out"),
            },
            netlink: {
                link: async (name) => (isThere || !missing.includes(String(name)) ? ({ index: 3 } as Link) : undefined),
            },
            logger: { ...silentLogger, warn: (_text, fields) => void warnings.push(fields) },
        },
        { bridge: "br-int", datapathType },
    );
    return device.ensure(new AbortController().signal);
}

beforeEach(() => {
    [calls, appearsBefore, isThere, warnings] = [[], undefined, false, []];
    [missing, interruption] = [["br-int"], undefined];
});

it("a device that is there is left alone, and OVS is asked nothing", async () => {
    isThere = true;
    await ensure();
    expect(calls).toEqual([]);
});

it("an OVS that has just started is given the time to make it", async () => {
    appearsBefore = "carried out";
    await ensure();
    expect(calls).toEqual(["carried out"]);
    expect(warnings).toEqual([]);
});

it("a lost device is made again with its port, and this is logged", async () => {
    appearsBefore = "ensure";
    await ensure();
    expect(calls).toEqual(["carried out", "delete br-int", "carried out", "ensure", "carried out"]);
    expect(warnings).toEqual([{ device: "br-int" }]);
});

const rest =
    ": Pods have their traffic, but ovs-vswitchd may take a whole CPU; next: see its log, and restart OVS on this Node";

it("a device that OVS does not make again is reported until it is there", async () => {
    const message = `OVS did not make the device br-int of its bridge again${rest}`;
    await expect(ensure()).rejects.toMatchObject({ code: "NO_DEVICE", fault: "environment", message });
    expect(calls.at(-1)).toBe("carried out");
    expect(device.problem).toBe(message);
    missing = [];
    await device.ensure();
    expect(device.problem).toBeUndefined();
});

it("the device of the userspace datapath, which OVS makes at its start only, is reported when it is gone", async () => {
    missing = ["ovs-netdev"];
    const message = `somebody has deleted or moved the device ovs-netdev of OVS${rest}`;
    await expect(ensure()).rejects.toMatchObject({ code: "NO_DEVICE", message });
    expect(calls).toEqual(["carried out"]);
    expect(device.problem).toBe(message);
    appearsBefore = "carried out";
    await device.ensure();
    expect(device.problem).toBeUndefined();
    isThere = false;
    await ensure("system");
});

it("what the end of the agent interrupts is no problem of the device", async () => {
    appearsBefore = undefined;
    const stop = new AbortController();
    stop.abort();
    interruption = stop.signal.reason as Error;
    await expect(ensure()).rejects.toBe(interruption);
    expect(device.problem).toBeUndefined();
});
