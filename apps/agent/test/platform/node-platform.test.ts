import { expect, it } from "@jest/globals";
import { parsePrefix } from "@antrea/ip";
import { withNode } from "../../src/platform/node-platform.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { silentLogger } from "../support/logger.ts";

it.each([
    ["the MTU is too small", 1_000, { code: "MTU_TOO_SMALL" }],
    ["the bridge cannot be created", 1_500, { message: "no bridge" }],
])("the transport interface is not watched any more when %s", async (_, mtu, problem: object) => {
    let watches = 0;
    const platform = {
        config: { trafficEncapMode: "encap", tunnelType: "geneve", hostGateway: "antrea-gw0", defaultMTU: 0 },
        datapath: {},
        environment: { stateFolder: "/nowhere", bootId: "b" },
        host: {},
        logger: silentLogger,
        netlink: {
            addresses: () => Promise.resolve([]),
            subscribe: () => {
                watches += 1;
                return { [Symbol.dispose]: () => void (watches -= 1) };
            },
        },
        bridge: {
            ensure: () => {
                expect(watches).toBe(1);
                return Promise.reject(new TypeError("no bridge"));
            },
        },
    } as unknown as Platform;
    const node = {
        transport: { name: "eth0", index: 2, mtu },
        podPrefixes: [parsePrefix("10.244.1.0/24"), parsePrefix("fd00:1::/64")],
        gatewayIps: [],
    } as unknown as Parameters<typeof withNode>[1]["node"];
    const built = withNode(platform, { node, services: undefined }, new AbortController().signal);
    const error: unknown = await built.catch((reason: unknown) => reason);
    expect(error).toMatchObject(problem);
    expect(watches).toBe(0);
});
