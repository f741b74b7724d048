import { parsePrefix } from "@antrea/ip";
import type { MasqueradeInput } from "../../../src/features/masquerade/index.ts";

export const dualInput: MasqueradeInput = {
    podPrefixes: [parsePrefix("10.10.1.0/24"), parsePrefix("fd10:10:0:1::/64")],
    clusterPrefixes: [
        parsePrefix("10.10.2.0/24"),
        parsePrefix("10.10.1.0/24"),
        parsePrefix("10.10.2.0/24"),
        parsePrefix("fd10:10:0:1::/64"),
        parsePrefix("fd10:10:0:2::/64"),
    ],
    gatewayName: "antrea-gw0",
    noSnat: false,
    randomFully: false,
    poolPods: false,
    tunnelSources: [],
};
