import { describe, expect, it } from "@jest/globals";
import { UplinkReport } from "../../../src/features/bridging/uplink-report.ts";
import type { UplinkState } from "../../../src/platform/host/uplink/types.ts";

const name = "eth0";
const rows: readonly (readonly [UplinkState, string | undefined, string, string | undefined, boolean])[] = [
    [{ kind: "idle" }, "False", "UplinkNotMoved", undefined, false],
    [{ kind: "waiting", name, reason: "the API server does not answer" }, "False", "UplinkWaiting", "Warning", false],
    [
        { kind: "bridged", name, physicalName: "eth0~", mac: "02:00:00:00:00:01" },
        "True",
        "UplinkBridged",
        "Normal",
        true,
    ],
    [{ kind: "rolledBack", name, reason: "nobody answered" }, "False", "UplinkRolledBack", "Warning", false],
    [{ kind: "lost", name, reason: "OVS is away" }, "False", "UplinkLost", "Warning", false],
];

describe("the report on the uplink", () => {
    it.each(rows)("%j", (state, status, reason, eventType, ready) => {
        const condition = UplinkReport.condition(state);
        expect(condition).toMatchObject({ type: "antrea.io/UplinkBridged", status, reason });
        const event = UplinkReport.event(state);
        expect(event?.type).toBe(eventType);
        expect(UplinkReport.problem(state) === undefined).toBe(ready);
        if ("reason" in state) {
            for (const text of [condition?.message, event?.message, UplinkReport.problem(state)]) {
                expect(text).toContain(state.reason);
            }
        }
    });

    it("reports nothing on the Node while a move is under way, and is not ready", () => {
        const state: UplinkState = { kind: "moving", name };
        expect(UplinkReport.condition(state)).toBeUndefined();
        expect(UplinkReport.event(state)).toBeUndefined();
        expect(UplinkReport.problem(state)).toBe("eth0 is being moved to the bridge");
    });

    it("reports nothing on the Node before a move of an earlier start is taken up, and is not ready", () => {
        const state: UplinkState = { kind: "found", name };
        expect(UplinkReport.condition(state)).toBeUndefined();
        expect(UplinkReport.event(state)).toBeUndefined();
        expect(UplinkReport.problem(state)).toBe("eth0 is a port of the bridge, which OVS has to take up again");
    });

    it("of a refusal has its code as Kubernetes writes reasons", () => {
        expect(UplinkReport.refusal({ code: "MULTIPATH_ROUTES", message: "no" })).toEqual({
            type: "antrea.io/UplinkBridged",
            status: "False",
            reason: "MultipathRoutes",
            message: "no",
        });
        expect(UplinkReport.refusal({ code: "NIC_IN_USE", message: "no" }).reason).toBe("NicInUse");
    });
});
