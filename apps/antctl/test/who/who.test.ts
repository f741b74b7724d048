import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { type Allocation, type PodInfo } from "../../src/cluster/index.ts";
import { renderWho } from "../../src/who/render.ts";
import { clusterUses, whoReport, type ClusterUse, type WhoReport } from "../../src/who/report.ts";
import { allocation, now, ofSet, plain, pod, poolObject, poolSet } from "../support/objects.ts";

function who(
    address: string,
    o: { readonly allocation?: Allocation; readonly pods?: readonly PodInfo[]; readonly service?: string } = {},
): WhoReport {
    const ip = parseIp(address);
    const pools = poolSet([
        poolObject("web", { cidr: "10.2.0.0/28", gateway: "10.2.0.1", prefixLength: 24 }),
        poolObject("odd", { cidr: "10.10.1.0/28", gateway: "10.10.1.1", prefixLength: 24 }),
        poolObject("web6", { cidr: "fd00:2::/64", gateway: "fd00:2::1", prefixLength: 64 }),
    ]);
    const uses: readonly ClusterUse[] = clusterUses(pools, ip).map((use) =>
        use.kind === "ServiceCIDR" && o.service !== undefined ? { ...use, of: o.service } : use,
    );
    return whoReport({ ip, allocation: o.allocation, pools, uses, pods: o.pods ?? [] });
}

describe("who has an address", () => {
    it.each<[string, WhoReport, RegExp]>([
        [
            "a Pod by its allocation",
            who("10.2.0.5", { allocation: allocation("10.2.0.5", { pod: "a" }) }),
            /^10\.2\.0\.5 is used by Pod shop\/a on Node node1\.$/,
        ],
        [
            "an interface of another network",
            who("10.2.0.5", { allocation: allocation("10.2.0.5", { pod: "a", interface: "net1", network: "macnet" }) }),
            /^10\.2\.0\.5 is used by interface net1 \(network macnet\) of Pod shop\/a on Node node1\.$/,
        ],
        [
            "a reservation",
            who("10.2.0.5", { allocation: allocation("10.2.0.5", { owner: ofSet("db", 2) }) }),
            /is reserved for StatefulSet shop\/db ordinal 2; no Pod uses it now\.$/,
        ],
        [
            "IPv6 in another spelling",
            who("FD00:2:0:0::0:5", { allocation: allocation("fd00:2::5", { pod: "a" }) }),
            /^fd00:2::5 is used by/,
        ],
        [
            "a gateway that is held",
            who("10.2.0.1", { allocation: allocation("10.2.0.1", { owner: { kind: "Gateway", name: "10.2.0.1" } }) }),
            /^10\.2\.0\.1 is the gateway of IPPool web\.$/,
        ],
        ["a Node", who("192.168.0.2"), /is an address of Node node2\.$/],
        [
            "a Pod of a Node's subnet",
            who("10.10.2.7", { pods: [pod("p", { nodeName: "node2", ips: ["10.10.2.7"] })] }),
            /is used by Pod shop\/p on Node node2, from podCIDR 10\.10\.2\.0\/24 of its Node\.$/,
        ],
        [
            "the gateway of a Node's Pods",
            who("10.10.2.1"),
            /^10\.10\.2\.1 is the gateway of the Pods of Node node2 \(antrea-gw0\), the first address of its podCIDR 10\.10\.2\.0\/24\.$/,
        ],
        [
            "a podCIDR, unused",
            who("10.10.2.7"),
            /lies in podCIDR 10\.10\.2\.0\/24 of Node node2; no Pod reports it as its own\.$/,
        ],
        ["a Service CIDR", who("10.96.0.10"), /lies in Service CIDR 10\.96\.0\.0\/16; no Service has it\.$/],
        [
            "a Service",
            who("10.96.0.10", { service: "Service kube-system/dns" }),
            /it belongs to Service kube-system\/dns\.$/,
        ],
        ["a gateway", who("10.2.0.1"), /is the gateway of IPPool web\.$/],
        ["nobody, in a pool", who("10.2.0.5"), /is free: it is not allocated\. IPPool web hands it out\.$/],
        ["nobody, at the edge of a pool", who("10.2.0.15"), /never hands it out: it is the first or last address/],
        ["nobody at all", who("9.9.9.9"), /no IPPool, podCIDR or Service CIDR of this cluster has it\.$/],
    ])("%s", (_name, report, summary) => {
        expect(report.summary).toMatch(summary);
    });

    it("reports all that have it, though one answer is enough", () => {
        const report = who("10.10.1.5");
        expect(report.summary).toMatch(/podCIDR 10\.10\.1\.0\/24 of Node node1/);
        expect(report.pools).toEqual([{ name: "odd", handsOut: false, reason: "lies in a podCIDR of a Node" }]);
        expect(renderWho(report, plain, now)).toMatch(/never hands it out: it lies in a podCIDR of a Node/);
    });
});

describe("renderWho", () => {
    it("shows the allocation", () => {
        const text = renderWho(
            who("10.2.0.5", { allocation: allocation("10.2.0.5", { pod: "a" }), pods: [pod("a")] }),
            plain,
            now,
        );
        expect(text).toMatch(
            /\nState: +Allocated\nPool: +web\nOwner: +Pod shop\/a\nPod: +shop\/a\nPod UID: +uid-a\nNode: +node1\nInterface: +eth0\n/,
        );
        expect(text).toMatch(/\nSince: +2026-11-20T10:00:00Z \(2h ago\)\n/);
        expect(text).toMatch(/- Pod shop\/a on Node node1 reports it \(Running\)/);
    });
});
