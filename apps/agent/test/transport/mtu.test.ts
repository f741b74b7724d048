import { expect, it } from "@jest/globals";
import { loadAgentConfig } from "@antrea/settings";
import { podMtu } from "../../src/transport/index.ts";

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
] as const)("%s, transport interface %i, underlay IPv%i: %i", (file, transportMtu, underlay, expected) => {
    expect(podMtu({ config: loadAgentConfig(file).config, transportMtu, underlay })).toBe(expected);
});
