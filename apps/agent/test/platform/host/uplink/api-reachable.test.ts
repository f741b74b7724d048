import { expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import { leavesBy } from "../../../../src/platform/host/uplink/api-reachable.ts";
import { addressOf, linkOf } from "./support/fake-links.ts";

const links: readonly Link[] = [linkOf(1, "lo"), linkOf(2, "eth0")];
const netlink = {
    link: async (key: string | number) => links.find(({ name }) => name === key),
    addresses: async (index?: number) =>
        [addressOf(1, parseIp("127.0.0.1")), addressOf(2, parseIp("10.0.0.2"))].filter((one) => one.index === index),
};

it.each([
    ["127.0.0.1", "lo", true],
    ["127.0.0.1", "eth0", false],
    ["127.0.0.1", "eth9", false],
])("what the Node sends to %s leaves by %s: %s", async (host, link, leaves) => {
    expect(await leavesBy(host, link, netlink)).toBe(leaves);
});
