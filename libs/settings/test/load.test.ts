import { describe, expect, it } from "@jest/globals";
import { loadAgentConfig } from "../src/agent/load.ts";
import { loadControllerConfig } from "../src/controller/load.ts";
import { errorOf } from "./tables.ts";

describe("YAML", () => {
    it.each<[string, string, string]>([
        ["a key twice", "apiPort: 1\nclientCAFile: x\napiPort: 2\n", "line 3, column 1: Map keys must be unique"],
        ["a list", "- apiPort\n", "line 1: must be a map of keys to values"],
        ["a word", "on", "line 1: must be a map of keys to values"],
        ["bytes", "!!binary dHJyeSB0cnJ5", "line 1: must be a map of keys to values"],
        [
            "an alias of nothing",
            "clientCAFile: *ca\n",
            "Unresolved alias (the anchor must be set before the alias): ca",
        ],
        [
            "an alias inside what it stands for",
            "apiPort: 1\n? &a [*a]\n",
            "line 2, column 7: *a stands inside &a, so its value would have no end; write the value out",
        ],
        [
            "the same several levels up",
            "nodeIPAM: &all\n  clusterCIDRs: [{a: *all}]\n",
            "line 2, column 22: *all stands inside &all, so its value would have no end; write the value out",
        ],
    ])("%s is refused with its line", (_name, text, message) => {
        const error = errorOf(() => loadControllerConfig(text));
        expect(error.code).toBe("BAD_YAML");
        expect(error.message).toBe(`antrea-controller.conf: ${message}`);
    });

    it.each([
        ["an open list", "nodeIPAM:\n  clusterCIDRs: [\n", /^antrea-controller\.conf: line 3, column 1: /],
        ["a tab as indent", "nodeIPAM:\n\tenableNodeIPAM: true\n", /^antrea-controller\.conf: line 2, /],
        ["two documents", "apiPort: 1\n---\napiPort: 2\n", /^antrea-controller\.conf: line 2, /],
        ["too many aliases", `a: &a [${"x,".repeat(99)}]\nb: [${"*a,".repeat(200)}]\n`, /alias/],
        ["too long a text", "#".repeat(128 * 1024 + 1), /is longer than 131072 characters/],
        [
            "another program's file, at once",
            Array.from({ length: 10_000 }, (_, at) => `k${at}: 1\n`).join(""),
            /cannot be used: 10000 of its keys and values are unknown or wrong/,
        ],
    ])("%s is refused", (_name, text, message) => {
        expect(errorOf(() => loadControllerConfig(text)).message).toMatch(message);
    });

    it("keys without value have their default, as in a file with all keys commented out", () => {
        const { config, warnings } = loadControllerConfig("featureGates:\n# x\nnodeIPAM:\n  clusterCIDRs:\napiPort:\n");
        expect(config).toEqual(loadControllerConfig("").config);
        expect(warnings).toEqual([]);
    });
});

describe("unknown keys", () => {
    it.each([
        ["trafficEncpMode: x", "unknown key trafficEncpMode (line 2) is ignored; did you mean trafficEncapMode?"],
        ["wireGuard: {Port: 1}", "unknown key wireGuard.Port (line 2) is ignored; did you mean wireGuard.port?"],
        ["proxyAll: true", "unknown key proxyAll (line 2) is ignored; did you mean antreaProxy.proxyAll?"],
        ["somethingElse: {a: 1}", "unknown key somethingElse (line 2) is ignored"],
        ["__proto__: {noSNAT: true}", "unknown key __proto__ (line 2) is ignored"],
        ["constructor: 1", "unknown key constructor (line 2) is ignored"],
        [
            "secondaryNetwork: {ovsBridges: [{bridgeName: b, physicalInterfaces: [eth1], physicalInterface: []}]}",
            "unknown key secondaryNetwork.ovsBridges[0].physicalInterface (line 2) is ignored; " +
                "did you mean secondaryNetwork.ovsBridges[0].physicalInterfaces?",
        ],
    ])("%s", (line, warning) => {
        const { config, warnings } = loadAgentConfig(`trafficEncapMode: noEncap\n${line}\n`);
        expect(warnings[0]).toBe(warning);
        expect(config.noSNAT).toBe(false);
    });

    it("in a member of a list leave the member's other keys", () => {
        const { config } = loadAgentConfig(
            "trafficEncapMode: noEncap\nsecondaryNetwork: {ovsBridges: [{bridgeName: b, physicalInterfaces: [eth1], x: 1}]}",
        );
        expect(config.secondaryNetwork.ovsBridges).toEqual([
            { bridgeName: "b", physicalInterfaces: ["eth1"], enableMulticastSnooping: false },
        ]);
    });
});

describe("wrong values", () => {
    it("are all in one error, with line and fields for the log", () => {
        const error = errorOf(() => loadControllerConfig("apiPort: 0\nselfSignedCert: si\n"));
        expect(error.code).toBe("WRONG_VALUES");
        expect(error.message).toBe(
            "antrea-controller.conf cannot be used: apiPort: 0: must be a whole number from 1 to 65535; " +
                'selfSignedCert: "si": must be true or false',
        );
        expect(error.details).toEqual({
            findings: [
                { key: "apiPort", value: "0", rule: "must be a whole number from 1 to 65535", line: 1 },
                { key: "selfSignedCert", value: '"si"', rule: "must be true or false", line: 2 },
            ],
        });
    });

    it("are shortened", () => {
        const { message } = errorOf(() => loadControllerConfig(`apiPort: ${"9".repeat(5)}${"x".repeat(5000)}`));
        expect(message.length).toBeLessThan(250);
    });
});
