import { describe, expect, it } from "@jest/globals";
import { CniCallError, parseNetworkConfig, peekCniVersion } from "../src/index.ts";

const base = { cniVersion: "1.1.0", name: "antrea", type: "antrea" };
const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

function refusal(input: Uint8Array | string): string {
    try {
        parseNetworkConfig(input);
    } catch (error) {
        if (error instanceof CniCallError) return `${error.code} ${error.message}`;
        throw error;
    }
    return "accepted";
}

describe("parseNetworkConfig", () => {
    it("reads a whole configuration, unknown keys included", () => {
        const config = {
            ...base,
            mtu: 1450,
            ipam: { type: "host-local", ranges: [] },
            dns: { nameservers: ["10.96.0.10"], domain: "", search: ["a.b"] },
            prevResult: { ips: [{ address: "10.0.0.5/24" }] },
            "cni.dev/valid-attachments": [{ containerID: "abc", ifname: "eth0" }],
            runtimeConfig: { portMappings: [] },
            capabilities: null,
            futureKey: 7,
        };
        expect(parseNetworkConfig(bytes(config))).toEqual({
            ...base,
            mtu: 1450,
            ipam: { type: "host-local", raw: { type: "host-local", ranges: [] } },
            dns: { nameservers: ["10.96.0.10"], search: ["a.b"] },
            prevResult: { interfaces: [], ips: [{ address: "10.0.0.5/24" }], routes: [], dns: {} },
            validAttachments: [{ containerId: "abc", ifname: "eth0" }],
            runtimeConfig: { portMappings: [] },
            raw: config,
        });
    });

    it.each(["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])("accepts version %s", (cniVersion) => {
        expect(parseNetworkConfig(JSON.stringify({ ...base, cniVersion })).cniVersion).toBe(cniVersion);
    });

    it("takes mtu 0, an empty ipam section and null for not set", () => {
        const config = parseNetworkConfig(bytes({ ...base, mtu: 0, ipam: {}, dns: null, prevResult: null }));
        expect(config).toEqual({ ...base, raw: expect.anything() });
    });

    it.each([
        ["no input", "", "DECODING_FAILURE network configuration: standard input was empty"],
        ["no JSON", "{", "DECODING_FAILURE network configuration: not valid JSON"],
        ["no object", "[]", "INVALID_NETWORK_CONFIG network configuration: [] must be a JSON object"],
        ["null", "null", "INVALID_NETWORK_CONFIG network configuration: null must be a JSON object"],
        ["too much", `"${"x".repeat(5_000_000)}"`, "exceed the limit of 4194304"],
        ["no version", { cniVersion: undefined }, "INCOMPATIBLE_CNI_VERSION cniVersion: nothing is not one of"],
        ["version 0.2.0", { cniVersion: "0.2.0" }, 'cniVersion: "0.2.0" is not one of the supported versions 0.3.0'],
        ["version 2.0.0", { cniVersion: "2.0.0" }, "INCOMPATIBLE_CNI_VERSION"],
        [
            "a version of too many levels",
            `{"cniVersion":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
            "INCOMPATIBLE_CNI_VERSION cniVersion: a value of too many levels is not one of",
        ],
        ["no name", { name: "" }, 'INVALID_NETWORK_CONFIG name: "" must be a non-empty string'],
        ["a name with a slash", { name: "a/b" }, 'name: "a/b" must start with a letter or digit'],
        ["a type that is a number", { type: 5 }, "type: 5 must be a string"],
        ["an mtu that is text", { mtu: "1500" }, 'mtu: "1500" must be an integer from 0 to 65535'],
        ["an mtu too small", { mtu: 67 }, "mtu: 67 must be 0 (not set) or from 68 to 65535"],
        ["an mtu too large", { mtu: 65536 }, "mtu: 65536 must be an integer"],
        ["an ipam without type", { ipam: { ranges: [] } }, "ipam.type: nothing must be a non-empty string"],
        ["an ipam that is a list", { ipam: [] }, "ipam: [] must be a JSON object"],
        ["a wrong name server", { dns: { nameservers: [1] } }, "dns.nameservers[0]: 1 must be a string"],
        [
            "an attachment without id",
            { "cni.dev/valid-attachments": [{ ifname: "eth0" }] },
            "cni.dev/valid-attachments[0].containerID: nothing must be a non-empty string",
        ],
        [
            "an attachment with a wrong name",
            { "cni.dev/valid-attachments": [{ containerID: "a", ifname: "a/b" }] },
            'cni.dev/valid-attachments[0].ifname: "a/b" must not contain',
        ],
        ["attachments that are no list", { "cni.dev/valid-attachments": {} }, "must be a list"],
        ["a wrong prevResult", { prevResult: { ips: [{}] } }, "prevResult.ips[0].address: nothing must be"],
    ])("refuses %s", (_name, change, expected) => {
        expect(refusal(typeof change === "string" ? change : bytes({ ...base, ...change }))).toContain(expected);
    });

    it("drops a bad prevResult for DEL, and only that", () => {
        const bad = bytes({ ...base, prevResult: { ips: "none" } });
        expect(parseNetworkConfig(bad, { badPrevResult: "drop" })).not.toHaveProperty("prevResult");
        expect(() => parseNetworkConfig(bytes({ ...base, name: "" }), { badPrevResult: "drop" })).toThrow("name");
    });

    it("distinguishes a missing list of attachments from an empty one, under either key", () => {
        expect(parseNetworkConfig(bytes(base)).validAttachments).toBeUndefined();
        expect(parseNetworkConfig(bytes({ ...base, "cni.dev/valid-attachments": [] })).validAttachments).toEqual([]);
        expect(parseNetworkConfig(bytes({ ...base, "cni.dev/attachments": [] })).validAttachments).toEqual([]);
    });

    it("cuts hostile values in messages", () => {
        expect(refusal(bytes({ ...base, name: `\n${"x".repeat(10_000)}/` })).length).toBeLessThan(250);
    });

    it("reads the version of a configuration that is otherwise wrong", () => {
        expect(peekCniVersion(bytes({ cniVersion: "0.4.0", name: 5 }))).toBe("0.4.0");
        expect(peekCniVersion(Uint8Array.of(0xff))).toBeUndefined();
        expect(peekCniVersion(bytes([]))).toBeUndefined();
    });
});
