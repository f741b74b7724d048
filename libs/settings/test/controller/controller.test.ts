import { describe, expect, it } from "@jest/globals";
import { formatPrefix } from "@antrea/ip";
import { loadControllerConfig } from "../../src/controller/load.ts";
import { controllerSchema } from "../../src/controller/schema.ts";
import { knownKeys } from "../../src/known-keys.ts";
import { clientConnectionRows, fileWith, findingsOf, leavesOf, rules, withFinding, type WrongRow } from "../tables.ts";

const wrong: readonly WrongRow[] = [
    ["featureGates", 1, "must be a map of names to true or false"],
    ...clientConnectionRows("clientConnection"),
    ["apiPort", 65536, rules.port],
    ["enablePrometheusMetrics", "x", rules.flag],
    ["selfSignedCert", "x", rules.flag],
    ["tlsCipherSuites", "AES", rules.ciphers],
    ["tlsMinVersion", "VersionTLS14", rules.version],
    ["clientCAFile", 1, rules.text],
    ["kubeAPIServerOverride", "ftp://10.0.0.1", rules.server],
    ["nodeIPAM.enableNodeIPAM", "x", rules.flag],
    ["nodeIPAM.clusterCIDRs", ["10.0.0.0/8", "fd00::"], rules.cidr, ["nodeIPAM.clusterCIDRs[1]", "fd00::"]],
    ["nodeIPAM.serviceCIDR", "fd00::/108", "must be an IPv4 CIDR or empty"],
    ["nodeIPAM.serviceCIDRv6", "10.96.0.0/12", "must be an IPv6 CIDR or empty"],
    ["nodeIPAM.nodeCIDRMaskSizeIPv4", 15, "must be a whole number from 16 to 30"],
    ["nodeIPAM.nodeCIDRMaskSizeIPv6", 127, "must be a whole number from 64 to 126"],
    ["ipam.cleanInterval", "999ms", rules.poll],
    ["leaderElection.leaseDuration", "0s", rules.poll],
    ["leaderElection.renewDeadline", 10, rules.poll],
    ["leaderElection.retryPeriod", "99ms", "must be a duration of at least 100ms, such as 1m30s"],
    [
        "leaderElection.resourceName",
        "my-antrea",
        "must be antrea-controller: the controller's Role and the admission policy antrea-own-objects allow no other Lease",
    ],
    ["ipsecCSRSigner.selfSignedCA", "x", rules.flag],
    ["ipsecCSRSigner.autoApprove", "x", rules.flag],
    ["multicluster.enableStretchedNetworkPolicy", "x", rules.flag],
    ["multicluster.namespace", 1, rules.text],
];

describe("antrea-controller.conf", () => {
    it.each(withFinding(wrong))("refuses %s: %j", (key, value, finding) => {
        expect(findingsOf(() => loadControllerConfig(fileWith(key, value)))).toEqual([finding]);
    });

    it("has a wrong value above for every key", () => {
        expect(new Set(wrong.map(([key]) => key))).toEqual(new Set(leavesOf(knownKeys(controllerSchema))));
    });

    it("has Antrea's defaults, also for an empty file", () => {
        expect(loadControllerConfig("").config).toEqual({
            featureGates: {},
            clientConnection: { kubeconfig: "", acceptContentTypes: "", contentType: "", qps: 50, burst: 100 },
            apiPort: 10349,
            enablePrometheusMetrics: true,
            selfSignedCert: true,
            tlsCipherSuites: undefined,
            tlsMinVersion: undefined,
            clientCAFile: "",
            kubeAPIServerOverride: undefined,
            nodeIPAM: {
                enableNodeIPAM: false,
                clusterCIDRs: [],
                serviceCIDR: undefined,
                serviceCIDRv6: undefined,
                nodeCIDRMaskSizeIPv4: 24,
                nodeCIDRMaskSizeIPv6: 64,
            },
            ipam: { cleanInterval: 60_000 },
            leaderElection: {
                leaseDuration: 15_000,
                renewDeadline: 10_000,
                retryPeriod: 2000,
                resourceName: "antrea-controller",
            },
            ipsecCSRSigner: { selfSignedCA: true, autoApprove: true },
            multicluster: { enableStretchedNetworkPolicy: false, namespace: "" },
        });
    });
});

describe("nodeIPAM", () => {
    const on = (more: Record<string, unknown>): string =>
        JSON.stringify({ nodeIPAM: { enableNodeIPAM: true, ...more } });
    const cidrs = "nodeIPAM.clusterCIDRs";
    const mask4 = "nodeIPAM.nodeCIDRMaskSizeIPv4";
    const mask6 = "nodeIPAM.nodeCIDRMaskSizeIPv6";

    it.each<[string, Record<string, unknown>, readonly string[]]>([
        [
            "no cluster CIDR",
            {},
            [`${cidrs}: [] (default): must have at least one CIDR when nodeIPAM.enableNodeIPAM is true`],
        ],
        [
            "two of one family",
            { clusterCIDRs: ["10.0.0.0/16", "10.1.0.0/16"] },
            [`${cidrs}: ["10.0.0.0/16","10.1.0.0/16"]: must have at most one IPv4 and one IPv6 CIDR`],
        ],
        [
            "three",
            { clusterCIDRs: ["10.0.0.0/16", "fd00::/56", "fd01::/56"] },
            [`${cidrs}: ["10.0.0.0/16","fd00::/56","fd01::/56"]: must have at most one IPv4 and one IPv6 CIDR`],
        ],
        [
            "IPv4 mask shorter than the cluster's",
            { clusterCIDRs: ["10.0.0.0/25"] },
            [`${mask4}: 24 (default): must be at least 25, the length of the cluster CIDR`],
        ],
        [
            "IPv6 mask shorter than the cluster's",
            { clusterCIDRs: ["fd00::/80"], nodeCIDRMaskSizeIPv6: 79 },
            [`${mask6}: 79: must be at least 80, the length of the cluster CIDR`],
        ],
        [
            "IPv6 masks more than 16 apart",
            { clusterCIDRs: ["fd00::/47"] },
            [`${mask6}: 64 (default): must be at most 63, 16 more than the length of the cluster CIDR`],
        ],
        [
            "IPv4 masks more than 22 apart",
            { clusterCIDRs: ["10.0.0.0/7"], nodeCIDRMaskSizeIPv4: 30 },
            [`${mask4}: 30: must be at most 29, 22 more than the length of the cluster CIDR`],
        ],
        ...(
            [
                ["127.0.0.0/8", "loopback addresses (127.0.0.0/8)"],
                ["127.4.0.0/16", "loopback addresses (127.0.0.0/8)"],
                ["96.0.0.0/3", "loopback addresses (127.0.0.0/8)"],
                ["224.0.0.0/8", "multicast addresses (224.0.0.0/4)"],
                ["169.254.0.0/16", "link-local addresses, which no router forwards (169.254.0.0/16)"],
                ["255.255.0.0/16", "the limited broadcast address (255.255.255.255/32)"],
                ["0.1.0.0/16", 'addresses of "this network" (RFC 6890) (0.0.0.0/8)'],
                ["ff02::/48", "multicast addresses (ff00::/8)"],
                ["fe80::/48", "link-local addresses, which no router forwards (fe80::/10)"],
                ["::/48", "the unspecified address (::/128)"],
            ] as const
        ).map(([range, what]): [string, Record<string, unknown>, readonly string[]] => [
            `${range}, of which no Pod can have an address`,
            { clusterCIDRs: [range] },
            [`${cidrs}: ["${range}"]: must not hold ${what}`],
        ]),
        [
            "a mask that is wrong by itself is not judged again",
            {
                clusterCIDRs: ["10.0.0.0/25"],
                nodeCIDRMaskSizeIPv4: 31,
            },
            [`${mask4}: 31: must be a whole number from 16 to 30`],
        ],
    ])("refuses %s", (_name, more, findings) => {
        expect(findingsOf(() => loadControllerConfig(on(more)))).toEqual(findings);
    });

    it.each([
        ["equal masks", { clusterCIDRs: ["10.0.0.0/24", "fd00::/64"] }],
        ["IPv6 masks 16 apart", { clusterCIDRs: ["fd00::/48"] }],
        ["IPv4 masks more than 16 apart", { clusterCIDRs: ["10.0.0.0/8"], nodeCIDRMaskSizeIPv4: 26 }],
        ["IPv4 masks 22 apart", { clusterCIDRs: ["10.0.0.0/8"], nodeCIDRMaskSizeIPv4: 30 }],
        ["rules of an allocator that is off", { enableNodeIPAM: false, clusterCIDRs: ["10.0.0.0/25"] }],
        ["special addresses of an allocator that is off", { enableNodeIPAM: false, clusterCIDRs: ["127.0.0.0/8"] }],
    ])("accepts %s", (_name, more) => {
        expect(loadControllerConfig(on(more)).warnings).toEqual([]);
    });

    it("warns of a range with host bits, and takes it without", () => {
        const { config, warnings } = loadControllerConfig(
            on({ clusterCIDRs: ["10.244.0.1/16", "fd00::/56"], nodeCIDRMaskSizeIPv6: 64 }),
        );
        expect(config.nodeIPAM.clusterCIDRs.map(formatPrefix)).toEqual(["10.244.0.0/16", "fd00::/56"]);
        expect(warnings).toEqual([
            "nodeIPAM.clusterCIDRs: 10.244.0.1/16 has bits set behind its prefix length and is taken as 10.244.0.0/16",
        ]);
    });

    it("is off, with a warning, when its gate is off", () => {
        const { gates, warnings } = loadControllerConfig(
            "nodeIPAM: {enableNodeIPAM: true}\nfeatureGates: {NodeIPAM: false}",
        );
        expect(gates.enabled("NodeIPAM")).toBe(false);
        expect(warnings).toEqual(["nodeIPAM.enableNodeIPAM has no effect: featureGates.NodeIPAM is off"]);
    });
});

describe("leaderElection", () => {
    it.each([
        [
            { leaseDuration: "10s" },
            'leaderElection.leaseDuration: "10s": must be longer than leaderElection.renewDeadline',
        ],
        [
            { retryPeriod: "9s" },
            "leaderElection.renewDeadline: 10000 (default): must be longer than 1.2 times leaderElection.retryPeriod",
        ],
    ])("%j is refused", (leaderElection, finding) => {
        expect(findingsOf(() => loadControllerConfig(JSON.stringify({ leaderElection })))).toEqual([finding]);
    });
});
