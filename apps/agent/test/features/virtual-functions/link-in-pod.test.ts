import { describe, expect, it } from "@jest/globals";
import type { Link } from "@antrea/netlink";
import { linkInPod } from "../../../src/features/virtual-functions/link-in-pod.ts";

const interfaceOf = { containerId: "c1", ifName: "eth1", device: { bus: "pci", id: "0000:af:06.0" } } as const;
const mark = "antrea4 c1 eth1";

function link(name: string, change: Partial<Link> = {}): Link {
    const flags = { up: true, running: true, loopback: false, promiscuous: false };
    return {
        index: 7,
        name,
        type: 1,
        mac: "02:00:00:00:00:01",
        mtu: 1500,
        ...flags,
        group: 0,
        altNames: [],
        ...change,
    };
}
const lo = link("lo", { index: 1, loopback: true, alias: mark });
const eth0 = link("eth0", { index: 2, kind: "veth" });

describe("the link of a virtual function in its Pod", () => {
    it.each<[string, Link, readonly Link[]]>([
        ["has its mark", link("x", { alias: mark }), [link("eth1"), lo]],
        [
            "has its name, if none has the mark",
            link("eth1", { alias: "mine" }),
            [link("x", { alias: "antrea4 c1 eth2" })],
        ],
        [
            "has its device, whatever its name and alias are",
            link("x", { alias: "antrea4 c1 eth2", parentDevice: "0000:af:06.0" }),
            [link("eth1", { alias: mark, parentDevice: "0000:af:06.1" }), link("y", { alias: mark })],
        ],
        ["is none of those that a program made", link("eth1"), [link("x", { alias: mark, kind: "dummy" })]],
    ])("%s", (_, wanted, others) => {
        expect(linkInPod([lo, eth0, ...others, wanted], interfaceOf, undefined)).toBe(wanted);
    });

    it.each<[string, readonly Link[]]>([
        ["another device has name and mark", [link("eth1", { alias: mark, parentDevice: "0000:af:06.1" })]],
        ["a link of another kind has them", [link("eth1", { alias: mark, kind: "bridge" })]],
        ["neither name nor mark is left", [link("x", { alias: "antrea4 c2 eth1" })]],
        ["only the loopback link has the mark", [lo]],
    ])("is not there if %s", (_, links) => {
        expect(linkInPod([lo, eth0, ...links], interfaceOf, undefined)).toBeUndefined();
    });

    it("has a kind where it had one", () => {
        expect(linkInPod([lo, link("eth1"), eth0], { ...interfaceOf, ifName: "eth0" }, "veth")).toBe(eth0);
    });
});
