import { expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { ruleset } from "../../../src/features/masquerade/index.ts";
import { dualInput } from "./inputs.ts";

it("dual stack", () => {
    expect(ruleset(dualInput)).toBe(`add table inet antrea
delete table inet antrea
table inet antrea {
  set pods4 {
    type ipv4_addr; flags interval; auto-merge;
    elements = { 10.10.1.0/24, 10.10.2.0/24 }
  }
  set pods6 {
    type ipv6_addr; flags interval; auto-merge;
    elements = { fd10:10:0:1::/64, fd10:10:0:2::/64 }
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr 10.10.1.0/24 ip daddr != @pods4 ip daddr != 224.0.0.0/4 oifname != "antrea-gw0" masquerade
    ip6 saddr fd10:10:0:1::/64 ip6 daddr != @pods6 ip6 daddr != { fe80::/10, ff00::/8 } oifname != "antrea-gw0" masquerade
  }
}
`);
});

it("IPv4 alone, random ports: the other family's set is empty", () => {
    const prefix = parsePrefix("10.10.1.0/24");
    const text = ruleset({ ...dualInput, podPrefixes: [prefix], clusterPrefixes: [prefix], randomFully: true });
    expect(text).toContain("set pods6 {\n    type ipv6_addr; flags interval; auto-merge;\n  }");
    expect(text).toContain('oifname != "antrea-gw0" masquerade fully-random\n');
    expect(text).not.toContain("ip6 ");
});

it("noSNAT removes the table and makes none", () => {
    expect(ruleset({ ...dualInput, noSnat: true })).toBe("add table inet antrea\ndelete table inet antrea\n");
});

it("Pods of pools are masqueraded wherever they go, also with noSNAT", () => {
    const text = ruleset({ ...dualInput, poolPods: true, noSnat: true });
    expect(text).toContain(`    type nat hook postrouting priority srcnat; policy accept;
    iifname "antrea-gw0" ip saddr != @pods4 ip daddr != 224.0.0.0/4 oifname != "antrea-gw0" masquerade
    iifname "antrea-gw0" ip6 saddr != @pods6 ip6 daddr != { fe80::/10, ff00::/8 } oifname != "antrea-gw0" masquerade
  }`);
    expect(ruleset({ ...dualInput, poolPods: true })).toContain("ip saddr 10.10.1.0/24 ip daddr != @pods4");
});

it("with tunnels the Node itself sends to Pods of other Nodes from the gateway", () => {
    const tunnelSources = [parseIp("10.10.1.1"), parseIp("fd10:10:0:1::1")];
    const rules = `
    oifname "antrea-gw0" ip daddr @pods4 ip daddr != 10.10.1.0/24 ip saddr != 10.10.1.1 fib saddr type local masquerade`;
    expect(ruleset({ ...dualInput, tunnelSources })).toContain(rules);
    expect(ruleset({ ...dualInput, tunnelSources })).toContain(
        "ip6 saddr != fd10:10:0:1::1 fib saddr type local masquerade",
    );
    expect(ruleset({ ...dualInput, tunnelSources, noSnat: true })).toContain(rules);
});

it("with tunnels Pods of pools reach Pods of other Nodes with the address of the gateway", () => {
    const text = ruleset({ ...dualInput, poolPods: true, tunnelSources: [parseIp("10.10.1.1")] });
    expect(text).toContain(
        'iifname "antrea-gw0" oifname "antrea-gw0" ip saddr != @pods4 ip daddr @pods4 ip daddr != 10.10.1.0/24 masquerade',
    );
    expect(ruleset({ ...dualInput, poolPods: true })).not.toContain(' oifname "antrea-gw0"');
});

it("the order of the Nodes makes no difference: nothing is set again for it", () => {
    const turned = { ...dualInput, clusterPrefixes: [...dualInput.clusterPrefixes].reverse() };
    expect(ruleset(turned)).toBe(ruleset(dualInput));
});

it("bridging mode masquerades what comes from the virtual sources, and what the Node translates to Pods in VLANs", () => {
    const bridging = {
        serviceSources: [parseIp("169.254.0.253"), parseIp("fc01::aabb:ccdd:eeff")],
        taggedPods: [parseIp("10.22.0.5")],
    };
    expect(ruleset({ ...dualInput, noSnat: true, bridging })).toContain(`
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr 169.254.0.253 masquerade
    ip6 saddr fc01::aabb:ccdd:eeff masquerade
    ct status dnat ip daddr 10.22.0.5 ip saddr != @pods4 masquerade
  }`);
});
