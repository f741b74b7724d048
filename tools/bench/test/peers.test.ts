import { describe, expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { peerAt } from "../peers/simulated-peers.ts";
import { flowWrite, kernelWrite } from "../peers/writes.ts";

describe("simulated peers", () => {
    const peers = Array.from({ length: 1_000 }, (_, index) => [peerAt(index), peerAt(index, 1)] as const);

    it("have podCIDRs and addresses of their own, before and after a move", () => {
        const podCidrs = peers.flatMap(([before]) => before.podCidrs.map((text) => parsePrefix(text)));
        const addresses = peers.flat().flatMap((peer) => peer.addresses.map(parseIp));
        const distinct = (values: readonly unknown[]): number => new Set(values.map((value) => String(value))).size;
        expect(distinct(podCidrs.map(({ base }) => base))).toBe(2_000);
        expect(distinct(addresses.map(({ value }) => value))).toBe(4_000);
    });

    it("keep their podCIDRs when they move", () => {
        for (const [before, after] of peers) expect(after).toMatchObject({ ...before, addresses: expect.anything() });
    });
});

describe("flow writes", () => {
    it.each([
        [
            " event=ADDED table=80 cookie=0x1 priority=190,ip,reg0=0x2/0xe,nw_dst=10.1.0.0/24 actions=set_field:aa:bb:cc:dd:ee:ff->eth_dst,set_field:172.20.0.9->tun_dst,goto_table:88",
            { kind: "flow", deleted: false, to: "10.1.0.0/24", via: "172.20.0.9" },
        ],
        [
            " event=DELETED reason=delete table=80 cookie=0x1 ipv6,ipv6_dst=fd00:10:0:1000::/64",
            { kind: "flow", deleted: true, to: "fd00:10:0:1000::/64", via: "" },
        ],
        [
            " event=MODIFIED table=80 ipv6,ipv6_dst=fd00::/64 actions=set_field:fd00:20::1->tun_ipv6_dst,goto_table:88",
            { kind: "flow", deleted: false, to: "fd00::/64", via: "fd00:20::1" },
        ],
        ["OFPST_FLOW_MONITOR reply (OF1.5) (xid=0x0):", undefined],
    ])("reads a line of the flow monitor: %s", (line, expected) => {
        expect(flowWrite(line)).toEqual(expected);
    });
});

describe("kernel writes", () => {
    const neighbour = { index: 3, ip: parseIp("10.20.0.1"), state: 0x80, flags: 0 };

    it("are neighbours with the MAC address of tunnels, and no others", () => {
        const of = (mac: string): ReturnType<typeof kernelWrite> =>
            kernelWrite({ type: "neighbour", deleted: false, neighbour: { ...neighbour, mac } });
        expect(of("aa:bb:cc:dd:ee:ff")).toEqual({ kind: "neighbour", deleted: false, to: "10.20.0.1", via: "" });
        expect(of("02:00:00:00:00:01")).toBeUndefined();
    });

    it("fail where the kernel dropped some", () => {
        expect(() => kernelWrite({ type: "overrun" })).toThrow("more changes than were read");
    });
});
