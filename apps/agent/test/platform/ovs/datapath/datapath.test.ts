import { expect, it } from "@jest/globals";
import { datapathOf } from "../../../../src/platform/ovs/datapath/index.ts";

// Flows for connections that OVS forgot let packets pass that begin none: they must not be where nothing is forgotten.
it.each([
    ["system", false],
    ["netdev", true],
] as const)("the datapath %s forgets connections with ovs-vswitchd: %s", (type, forgets) => {
    expect(datapathOf(type).forgetsConnections).toBe(forgets);
});

// Flows for fragments are needed only where connection tracking does not make one packet of them.
it.each([
    ["system", false],
    ["netdev", true],
] as const)("the datapath %s keeps fragments: %s", (type, keeps) => {
    expect(datapathOf(type).keepsFragments).toBe(keeps);
});
