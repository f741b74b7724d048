import { describe, expect, it } from "@jest/globals";
import { loadAgentConfig } from "../../src/agent/load.ts";
import { agentSchema } from "../../src/agent/schema.ts";
import { knownKeys } from "../../src/known-keys.ts";
import { clientConnectionRows, fileWith, findingsOf, leavesOf, rules, withFinding, type WrongRow } from "../tables.ts";

const mode = { trafficEncapMode: "noEncap" };
const rule = { direction: "egress", protocol: "tcp", cidr: "10.0.0.0/8", port: 80 };

const wrong: readonly WrongRow[] = [
    ["featureGates", ["AntreaProxy"], "must be a map of names to true or false"],
    ...clientConnectionRows("clientConnection"),
    ...clientConnectionRows("antreaClientConnection"),
    ["cniSocket", "cni.sock", rules.path],
    ["ovsBridge", "br int", rules.ownInterface],
    ["ovsDatapathType", "kernel", "must be one of system, netdev"],
    ["ovsRunDir", "", rules.path],
    ["hostGateway", "antrea-gateway-0", rules.ownInterface],
    ["hostProcPathPrefix", 7, rules.path],
    ["trafficEncapMode", "overlay", "must be one of encap, noEncap, hybrid, networkPolicyOnly"],
    ["podCIDRs", "10.0.0.0/8,10", "must be CIDRs separated by commas"],
    ["noSNAT", "yes", rules.flag],
    ["snatFullyRandomPorts", 1, rules.flag],
    ["tunnelType", "Geneve", "must be one of geneve, vxlan, gre, stt"],
    ["tunnelPort", 65536, "must be a whole number from 0 to 65535"],
    ["tunnelCsum", "true", rules.flag],
    ["defaultMTU", 500, "must be 0 (discover it) or a whole number from 576 to 65535"],
    ["serviceCIDR", "fd00::/108", "must be an IPv4 CIDR or empty"],
    ["serviceCIDRv6", "10.96.0.0/12", "must be an IPv6 CIDR or empty"],
    ["trafficEncryptionMode", "tls", "must be one of none, ipsec, wireGuard"],
    ["wireGuard.port", 0, rules.port],
    ["enableBridgingMode", "on", rules.flag],
    ["ipam.cooldown", 30, rules.duration],
    ["uplink.checkTimeout", "soon", rules.check],
    ["disableTXChecksumOffload", 0, rules.flag],
    ["apiPort", 0, rules.port],
    ["clusterPort", "10351", rules.port],
    ["memberlist.gossipVerifyOutgoing", "on", rules.flag],
    ["memberlist.gossipVerifyIncoming", "off", rules.flag],
    ["enablePrometheusMetrics", "no", rules.flag],
    ["flowCollectorAddr", "host:4739:sctp", rules.collector],
    ["flowPollInterval", "999ms", rules.poll],
    ["activeFlowExportTimeout", 5, rules.duration],
    ["idleFlowExportTimeout", "-1s", rules.duration],
    ["flowExporter.enable", "x", rules.flag],
    ["flowExporter.flowCollectorAddr", "", rules.collector],
    ["flowExporter.flowPollInterval", "1", rules.poll],
    ["flowExporter.activeFlowExportTimeout", "5 s", rules.duration],
    ["flowExporter.idleFlowExportTimeout", "soon", rules.duration],
    ["flowExporter.protocolFilter", "tcp", rules.list],
    ["nodePortLocal.enable", "x", rules.flag],
    ["nodePortLocal.portRange", "62000-61000", "must be two ports, the first below the last, such as 61000-62000"],
    ["kubeAPIServerOverride", "10.0.0.256", rules.server],
    ["dnsServerOverride", "dns.example.org", "must be an IP address with or without port, or empty"],
    ["fqdnCacheMinTTL", -1, "must be a whole number from 0 to 2147483647"],
    ["tlsCipherSuites", "TLS_NULL", rules.ciphers],
    ["tlsMinVersion", "1.2", rules.version],
    ["transportInterface", "eth0:1", rules.interfaceOrEmpty],
    ["transportInterfaceCIDRs", ["192.168.1.0"], rules.cidr, ["transportInterfaceCIDRs[0]", "192.168.1.0"]],
    ["multicast.enable", 1, rules.flag],
    ["multicast.multicastInterfaces", "eth0", rules.list],
    ["multicast.igmpQueryInterval", "0s", rules.poll],
    [
        "multicast.igmpQueryVersions",
        [3, 4],
        "must be a whole number from 1 to 3",
        ["multicast.igmpQueryVersions[1]", 4],
    ],
    ["antreaProxy.enable", "x", rules.flag],
    ["antreaProxy.proxyAll", "x", rules.flag],
    ["antreaProxy.proxyLoadBalancerIPs", "x", rules.flag],
    ["antreaProxy.nodePortAddresses", ["eth0"], rules.cidr, ["antreaProxy.nodePortAddresses[0]", "eth0"]],
    ["antreaProxy.skipServices", "kube-system/kube-dns", rules.list],
    ...["", "kube-dns", "a/b/c", "Kube-system/dns", "kube-system/", "10.96.0.010", "::ffff:10.0.0.1", "10.0.0.0/8"].map(
        (entry): WrongRow => [
            "antreaProxy.skipServices",
            [entry],
            "must be namespace/name of a Service or an IP address",
            ["antreaProxy.skipServices[0]", entry],
        ],
    ),
    ["antreaProxy.serviceProxyName", 1, rules.text],
    ["antreaProxy.defaultLoadBalancerMode", "snat", "must be one of nat, dsr"],
    ["antreaProxy.disableServiceHealthCheckServer", "x", rules.flag],
    ...[
        10_256,
        "10256",
        "localhost:10256",
        "0.0.0.0:0",
        "0.0.0.0:65536",
        "::1:10256",
        "[10.0.0.1]:1",
        "1.2.3.04:1",
    ].map((value): WrongRow => [
        "antreaProxy.serviceHealthCheckServerBindAddress",
        value,
        "must be an IP address with a port, such as 0.0.0.0:10256, or empty",
    ]),
    ["egress.exceptCIDRs", ["10.0.0.0/33"], rules.cidr, ["egress.exceptCIDRs[0]", "10.0.0.0/33"]],
    ["egress.maxEgressIPsPerNode", 256, "must be a whole number from 1 to 255"],
    ["egress.snatFullyRandomPorts", "x", rules.flag],
    ["egress.uniqueMACForSubInterfaces", "x", rules.flag],
    ["ipsec.authenticationMode", "rsa", "must be one of psk, cert"],
    ["multicluster.enable", "x", rules.flag],
    ["multicluster.enableGateway", "x", rules.flag],
    ["multicluster.namespace", 1, rules.text],
    ["multicluster.enableStretchedNetworkPolicy", "x", rules.flag],
    ["multicluster.enablePodToPodConnectivity", "x", rules.flag],
    ["multicluster.wireGuard.port", 70000, rules.port],
    ["multicluster.trafficEncryptionMode", "ipsec", "must be one of none, wireGuard"],
    ["nodeType", "vm", "must be one of k8sNode, externalNode"],
    ["externalNode.externalNodeNamespace", 1, rules.text],
    [
        "externalNode.policyBypassRules",
        [rule, { ...rule, protocol: "sctp" }],
        "must be one of tcp, udp, icmp, ip",
        ["externalNode.policyBypassRules[1].protocol", "sctp"],
    ],
    ["auditLogging.maxSize", -1, rules.million],
    ["auditLogging.maxBackups", "3", rules.million],
    ["auditLogging.maxAge", 0.5, rules.million],
    ["auditLogging.compress", "x", rules.flag],
    ["secondaryNetwork.ovsBridges", {}, "must be a list of at most 1 bridge; list all NICs in it"],
    ["packetInRate", 0, "must be a whole number from 1 to 1000000"],
    ["hostNetworkAcceleration.enable", "x", rules.flag],
    ["hostNetworkMode", "ebpf", "must be one of iptables, nftables"],
];

describe("antrea-agent.conf", () => {
    it.each(withFinding(wrong))("refuses %s: %j", (key, value, finding) => {
        expect(findingsOf(() => loadAgentConfig(fileWith(key, value, mode)))).toEqual([finding]);
    });

    it.each(["0", "0s", "999ms", "0.9s", "10m1ms", "600.001s", "11m", "2h", "2147483648ms", "-1s"])(
        "refuses an uplink.checkTimeout of %s",
        (text) => {
            expect(findingsOf(() => loadAgentConfig(fileWith("uplink.checkTimeout", text, mode)))).toEqual([
                `uplink.checkTimeout: "${text}": ${rules.check}`,
            ]);
        },
    );

    it.each([
        ["1s", 1_000],
        ["1000ms", 1_000],
        ["15s", 15_000],
        ["1m30s", 90_000],
        ["600s", 600_000],
        ["10m", 600_000],
    ])("takes an uplink.checkTimeout of %s", (text, ms) => {
        expect(loadAgentConfig(fileWith("uplink.checkTimeout", text, mode)).config.uplink.checkTimeout).toBe(ms);
    });

    it("has a wrong value above for every key", () => {
        const keys = knownKeys(agentSchema).map((key) => key.replace(/\[\].*$/, ""));
        expect(new Set(wrong.map(([key]) => key))).toEqual(new Set(leavesOf(keys)));
    });

    it("has Antrea's defaults", () => {
        expect(loadAgentConfig("trafficEncapMode: noEncap").config).toEqual({
            featureGates: {},
            clientConnection: { kubeconfig: "", acceptContentTypes: "", contentType: "", qps: 0, burst: 0 },
            antreaClientConnection: { kubeconfig: "", acceptContentTypes: "", contentType: "", qps: 0, burst: 0 },
            cniSocket: "/var/run/antrea/cni.sock",
            ovsBridge: "br-int",
            ovsDatapathType: "system",
            ovsRunDir: "/var/run/openvswitch",
            hostGateway: "antrea-gw0",
            hostProcPathPrefix: "/host",
            trafficEncapMode: "noEncap",
            podCIDRs: [],
            noSNAT: false,
            snatFullyRandomPorts: false,
            tunnelType: "geneve",
            tunnelPort: 0,
            tunnelCsum: false,
            defaultMTU: 0,
            serviceCIDR: { family: 4, base: 0x0a60_0000n, length: 12 },
            serviceCIDRv6: undefined,
            trafficEncryptionMode: "none",
            wireGuard: { port: 51820 },
            enableBridgingMode: false,
            uplink: { checkTimeout: 15_000 },
            ipam: { cooldown: 30_000 },
            disableTXChecksumOffload: false,
            apiPort: 10350,
            clusterPort: 10351,
            memberlist: { gossipVerifyOutgoing: true, gossipVerifyIncoming: true },
            enablePrometheusMetrics: true,
            flowExporter: {
                enable: false,
                flowCollectorAddr: "flow-aggregator/flow-aggregator:4739:tls",
                flowPollInterval: 5000,
                activeFlowExportTimeout: 5000,
                idleFlowExportTimeout: 15000,
                protocolFilter: [],
            },
            nodePortLocal: { enable: false, portRange: { first: 61000, last: 62000 } },
            kubeAPIServerOverride: undefined,
            dnsServerOverride: undefined,
            fqdnCacheMinTTL: 0,
            tlsCipherSuites: undefined,
            tlsMinVersion: undefined,
            transportInterface: undefined,
            transportInterfaceCIDRs: [],
            multicast: {
                enable: false,
                multicastInterfaces: [],
                igmpQueryInterval: 125_000,
                igmpQueryVersions: [1, 2, 3],
            },
            antreaProxy: {
                enable: true,
                proxyAll: false,
                proxyLoadBalancerIPs: true,
                nodePortAddresses: [],
                skipServices: [],
                serviceProxyName: "",
                defaultLoadBalancerMode: "nat",
                disableServiceHealthCheckServer: false,
                serviceHealthCheckServerBindAddress: "0.0.0.0:10256",
            },
            egress: { exceptCIDRs: [], maxEgressIPsPerNode: 255, uniqueMACForSubInterfaces: true },
            ipsec: { authenticationMode: "psk" },
            multicluster: {
                enableGateway: false,
                namespace: "",
                enableStretchedNetworkPolicy: false,
                enablePodToPodConnectivity: false,
                wireGuard: { port: 51821 },
                trafficEncryptionMode: "none",
            },
            nodeType: "k8sNode",
            externalNode: { externalNodeNamespace: "default", policyBypassRules: [] },
            auditLogging: { maxSize: 500, maxBackups: 3, maxAge: 28, compress: true },
            secondaryNetwork: { ovsBridges: [] },
            packetInRate: 5000,
            hostNetworkAcceleration: { enable: true },
            hostNetworkMode: "iptables",
        });
    });

    it.each([
        ["trafficEncapMode", "NOENCAP", "noEncap"],
        ["ovsDatapathType", "netdev", "netdev"],
        ["kubeAPIServerOverride", "10.0.0.1", "https://10.0.0.1:443"],
        ["kubeAPIServerOverride", "api.example.org:6443", "https://api.example.org:6443"],
        ["kubeAPIServerOverride", "https://[fd00::1]:6443/", "https://[fd00::1]:6443"],
        ["kubeAPIServerOverride", "fd00::1", "https://[fd00::1]:443"],
        ["kubeAPIServerOverride", "http://fd00::1", "http://[fd00::1]:80"],
        ["kubeAPIServerOverride", "", undefined],
        ["dnsServerOverride", "10.96.0.10", "10.96.0.10:53"],
        ["dnsServerOverride", "[fd00::a]:5353", "[fd00::a]:5353"],
        ["serviceCIDR", "10.96.1.1/12", { family: 4, base: 0x0a60_0000n, length: 12 }],
        ["serviceCIDR", "", undefined],
        ["serviceCIDRv6", "fd00::/108", { family: 6, base: 0xfd00n << 112n, length: 108 }],
        [
            "podCIDRs",
            "10.0.0.0/8, fd00::/8",
            [
                { family: 4, base: 0x0a00_0000n, length: 8 },
                { family: 6, base: 0xfd00n << 112n, length: 8 },
            ],
        ],
        ["transportInterface", "eth0", "eth0"],
        ["defaultMTU", 1400, 1400],
        ["flowPollInterval", "1m1.5s", 61_500],
        ["tlsMinVersion", "VersionTLS13", "TLSv1.3"],
        [
            "tlsCipherSuites",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256",
        ],
    ])("reads %s: %j as %j", (key, value, expected) => {
        const { config, warnings } = loadAgentConfig(fileWith(key, value, mode));
        expect((config as Readonly<Record<string, unknown>>)[key]).toEqual(expected);
        expect(warnings.filter((line) => !line.startsWith(`${key} has no effect: `))).toEqual([]);
    });
});
