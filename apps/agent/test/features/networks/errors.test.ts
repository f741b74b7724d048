import { expect, it } from "@jest/globals";
import { CniCallError } from "@antrea/cni";
import { NetworkError } from "@antrea/networks";
import { NetworksError, type NetworksErrorCode } from "../../../src/features/networks/errors.ts";
import { networksErrorCode } from "../../../src/features/networks/index.ts";

it.each<[NetworksErrorCode, string, string]>([
    ["NO_NETWORK", "caller", "INVALID_NETWORK_CONFIG"],
    ["NO_BRIDGE", "timeout", "TRY_AGAIN_LATER"],
    ["NO_POOLS", "caller", "INVALID_NETWORK_CONFIG"],
    ["BAD_MTU", "caller", "INVALID_NETWORK_CONFIG"],
    ["BAD_REQUEST", "caller", "INVALID_NETWORK_CONFIG"],
    ["NO_DEVICE", "internal", "TRY_AGAIN_LATER"],
    ["API_AWAY", "timeout", "TRY_AGAIN_LATER"],
])("%s is of fault %s and answers the runtime %s", (code, fault, answer) => {
    const error = new NetworksError(code, "why");
    expect([error.fault, networksErrorCode(error)]).toEqual([fault, answer]);
});

it("an annotation or a network that breaks a rule is an invalid configuration; errors of others are not judged", () => {
    expect(networksErrorCode(new NetworkError("INVALID_SELECTION", "caller", "why"))).toBe("INVALID_NETWORK_CONFIG");
    expect(networksErrorCode(new CniCallError("IO_FAILURE", "remote", "why"))).toBeUndefined();
    expect(networksErrorCode(new Error("why"))).toBeUndefined();
});
