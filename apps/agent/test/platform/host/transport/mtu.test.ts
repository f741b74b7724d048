import { expect, it } from "@jest/globals";
import { loadAgentConfig } from "@antrea/settings";
import { mtuProblem, podMtu } from "../../../../src/platform/host/transport/index.ts";

it.each([
    ["trafficEncapMode: noEncap", 1500, 4, 1500],
    ["trafficEncapMode: encap", 1500, 4, 1450],
    ["trafficEncapMode: hybrid", 1500, 4, 1450],
    ["tunnelType: vxlan", 1500, 4, 1450],
    ["tunnelType: gre", 1500, 4, 1458],
    ["tunnelType: stt", 1500, 4, 1500],
    ["tunnelType: geneve", 1500, 6, 1430],
    ["tunnelType: gre", 1500, 6, 1438],
    ["tunnelType: stt", 1500, 6, 1500],
    ["trafficEncapMode: noEncap", 1500, 6, 1500],
    ["tunnelType: geneve", 9000, 4, 8950],
    ["tunnelType: geneve", 65535, 4, 65000],
    ["defaultMTU: 1400", 1500, 4, 1400],
] as const)("%s, transport interface %i, underlay IPv%i: %i", (file, transportMtu, tunnelFamily, expected) => {
    expect(podMtu({ config: loadAgentConfig(file).config, transportMtu, tunnelFamily })).toBe(expected);
});

it.each([
    ["defaultMTU: 1279", 1500, [4, 6], "defaultMTU: set it to 0 (discover it) or to 1280 or more"],
    ["defaultMTU: 1279", 1500, [4], undefined],
    ["defaultMTU: 1280", 1500, [4, 6], undefined],
    [
        "trafficEncapMode: encap",
        1329,
        [6],
        "transport interface eth0 has 1329: give the interface an MTU of at least 1330",
    ],
    ["trafficEncapMode: encap", 1330, [4, 6], undefined],
    ["trafficEncapMode: noEncap", 1279, [4, 6], "transport interface eth0 has 1279"],
    ["trafficEncapMode: noEncap", 1279, [4], undefined],
] as const)("%s, transport interface %i, Pods of families %p: %s", (file, transportMtu, families, expected) => {
    const { config } = loadAgentConfig(file);
    const problem = mtuProblem({ config, transportMtu, tunnelFamily: 4, families, transportName: "eth0" });
    if (expected === undefined) expect(problem).toBeUndefined();
    else expect(problem).toContain(expected);
});
