import { describe, expect, it } from "@jest/globals";
import { messageOf } from "@antrea/errors";
import { datapathOf, type TunnelType } from "../../../../src/platform/ovs/datapath/index.ts";
import { refusedTunnelPort, tunnelTypeProblem } from "../../../../src/platform/ovs/datapath/tunnel-types.ts";
import { OvsBridgeError } from "../../../../src/platform/ovs/bridge/index.ts";

const [system, netdev] = [datapathOf("system"), datapathOf("netdev")];
/** Of Open vSwitch 3.1; later ones have neither stt nor lisp. */
const ovs31 = "afxdp,bareudp,erspan,geneve,gre,gtpu,internal,ip6erspan,ip6gre,lisp,patch,stt,system,tap,vxlan".split(
    ",",
);
const withoutStt = ovs31.filter((type) => type !== "stt");

describe("tunnel types", () => {
    it.each<[string, typeof system, readonly string[], TunnelType, string | undefined]>([
        ["geneve on system", system, ovs31, "geneve", undefined],
        ["vxlan on netdev", netdev, ovs31, "vxlan", undefined],
        ["gre on netdev", netdev, withoutStt, "gre", undefined],
        ["stt on system, which the kernel may have", system, ovs31, "stt", undefined],
        [
            "stt on an OVS that has none",
            system,
            withoutStt,
            "stt",
            "this Open vSwitch has no tunnel type stt; it has geneve, vxlan and gre; set tunnelType to geneve, vxlan or gre",
        ],
        [
            "stt on netdev, which takes the port and drops the packets",
            netdev,
            ovs31,
            "stt",
            "the userspace datapath (netdev) has no tunnel type stt; it has geneve, vxlan and gre; set tunnelType to geneve, vxlan or gre",
        ],
        [
            "geneve on an OVS that has only gre",
            system,
            ["gre", "internal"],
            "geneve",
            "this Open vSwitch has no tunnel type geneve; it has gre; set tunnelType to vxlan or gre",
        ],
        [
            "gre on an OVS without tunnels",
            netdev,
            ["internal"],
            "gre",
            "this Open vSwitch has no tunnel type gre; it has none; set tunnelType to geneve or vxlan",
        ],
    ])("%s", (_, datapath, types, tunnelType, problem) => {
        expect(tunnelTypeProblem(datapath, types, tunnelType)).toBe(problem);
    });
});

describe("a tunnel port that OVS refused", () => {
    const cause = new OvsBridgeError("PORT_REFUSED", "environment", "OVS could not add port antrea-tun0");
    it.each<[TunnelType, typeof system, string]>([
        ["stt", system, "type stt; Linux has none: set tunnelType to geneve, vxlan or gre: OVS could not add port"],
        ["geneve", system, "type geneve; load the kernel module geneve, or set tunnelType to vxlan or gre: OVS"],
        ["gre", system, "type gre; load the kernel module ip_gre, or set tunnelType to geneve or vxlan: OVS"],
        ["vxlan", netdev, "type vxlan; set tunnelType to geneve or gre: OVS could not add port antrea-tun0"],
    ])("%s", (tunnelType, datapath, words) => {
        const error = refusedTunnelPort(datapath, tunnelType, cause);
        expect(error).toMatchObject({ code: "NO_TUNNEL_TYPE", fault: "unsupported" });
        expect(messageOf(error)).toContain(words);
        expect(error.message).toContain(datapath.title);
    });
});
