import { describe, expect, it } from "@jest/globals";
import { KubeError } from "@antrea/kube";
import { apiAway, IpPoolError } from "../../../src/features/ip-pools/errors.ts";

describe("an IpPoolError", () => {
    // The fault determines whether kubelet retries soon, and who has to act.
    it.each([
        ["EXHAUSTED", "environment"],
        ["NO_POOL", "environment"],
        ["BAD_ANNOTATION", "caller"],
        ["NOT_IN_POOL", "caller"],
        ["ADDRESS_HELD", "environment"],
        ["NOT_RESERVED", "timeout"],
        ["HELD_ON_OTHER_NODE", "environment"],
        ["VLAN_CONFLICT", "caller"],
        ["POOL_CHANGED", "timeout"],
        ["POD_GONE", "timeout"],
        ["POD_UNKNOWN", "timeout"],
        ["API_AWAY", "timeout"],
        ["REFUSED", "environment"],
    ] as const)("with code %s has the fault %s", (code, fault) => {
        const error = new IpPoolError(code, "made up", { cause: "why" });
        expect(error).toMatchObject({ code, fault, message: "made up", cause: "why" });
    });

    it("of an API server that is away reports what did not end, and why", () => {
        const cause = new KubeError("UNAVAILABLE", "no leader");
        expect(apiAway("the allocation", cause)).toMatchObject({
            code: "API_AWAY",
            cause,
            message: "the allocation did not end in time; is the API server up? no leader",
        });
        expect(apiAway("the allocation", new Error("")).message).toMatch(/ up\?$/);
    });
});
