import { z } from "zod";
import { anyText, flag, listOf, oneOfAnyCase, port, portRange, wholeNumber } from "../leaves.ts";
import { cidr } from "../leaves/cidr.ts";
import { duration } from "../leaves/duration.ts";
import { group, member } from "../leaves/group.ts";
import { interfaceName, ownInterfaceName } from "../leaves/interface-name.ts";
import { readable } from "../leaves/readable.ts";
import { bindAddress, serviceOrAddress } from "../leaves/server.ts";

// Groups of keys of antrea-agent.conf. Of most the features are not available yet: they are accepted, so that a file of
// upstream Antrea is valid, and without effect until then.

/** HOST[:PORT][:PROTO]; HOST may be namespace/service, a name, IPv4 or [IPv6]. */
const collector = readable("must be HOST[:PORT][:PROTO] with PROTO one of grpc, tls, tcp, udp", (text) =>
    /^(\[[0-9a-fA-F:.]+\]|[^\s:[\]]+)(:\d{1,5})?(:(grpc|tls|tcp|udp))?$/.test(text) ? text : undefined,
);

/** Schema of the group flowExporter: accepted for compatibility, without effect in this version. Durations in ms. */
export const flowExporter = group({
    enable: flag.default(false),
    flowCollectorAddr: collector.default("flow-aggregator/flow-aggregator:4739:tls"),
    flowPollInterval: duration(1000, "1s").default(5000),
    activeFlowExportTimeout: duration().default(5000),
    idleFlowExportTimeout: duration().default(15_000),
    protocolFilter: listOf(anyText).default([]),
});

/** Former names of keys of flowExporter, at the top level; durations are in milliseconds. */
export const flatFlowExporter = {
    flowCollectorAddr: collector.optional(),
    flowPollInterval: duration(1000, "1s").optional(),
    activeFlowExportTimeout: duration().optional(),
    idleFlowExportTimeout: duration().optional(),
};

/** Schema of the group nodePortLocal: accepted for compatibility, without effect in this version. */
export const nodePortLocal = group({
    enable: flag.default(false),
    portRange: portRange.default({ first: 61_000, last: 62_000 }),
});

/** Schema of the group multicast: accepted for compatibility, without effect in this version. Durations in ms. */
export const multicast = group({
    enable: flag.default(false),
    multicastInterfaces: listOf(interfaceName).default([]),
    igmpQueryInterval: duration(1000, "1s").default(125_000),
    igmpQueryVersions: listOf(wholeNumber(1, 3)).default([1, 2, 3]),
});

/** Where kube-proxy serves its health by default. */
export const usualHealthAddress = "0.0.0.0:10256";

/** Schema of the group antreaProxy: Services in OVS. The rules refuse what is not available yet. */
export const antreaProxy = group({
    enable: flag.default(true),
    /** True: the Node itself and clients outside are served too, by all addresses of Services. */
    proxyAll: flag.default(false),
    /** False: addresses of load balancers are left to the balancer outside. */
    proxyLoadBalancerIPs: flag.default(true),
    /** For proxyAll: addresses of the Node at which NodePorts are served; empty: all but loopback. */
    nodePortAddresses: listOf(cidr()).default([]),
    /** Services that are left to kube-proxy: `namespace/name` or a ClusterIP each. */
    skipServices: listOf(serviceOrAddress).default([]),
    /** Value of the label service.kubernetes.io/service-proxy-name of the Services to serve; "": those without it. */
    serviceProxyName: anyText.default(""),
    /** `dsr` is refused. */
    defaultLoadBalancerMode: oneOfAnyCase("nat", "dsr").default("nat"),
    /** For proxyAll: health check node ports and the health of AntreaProxy are left to kube-proxy. */
    disableServiceHealthCheckServer: flag.default(false),
    /** For proxyAll: where the health of AntreaProxy is served, with the port. */
    serviceHealthCheckServerBindAddress: bindAddress(usualHealthAddress).prefault(""),
});

/** Schema of the group egress: accepted for compatibility, without effect in this version. */
export const egress = group({
    exceptCIDRs: listOf(cidr()).default([]),
    maxEgressIPsPerNode: wholeNumber(1, 255).default(255),
    snatFullyRandomPorts: flag.optional(),
    uniqueMACForSubInterfaces: flag.default(true),
});

/** Schema of the group ipsec: accepted for compatibility, without effect in this version. */
export const ipsec = group({ authenticationMode: oneOfAnyCase("psk", "cert").default("psk") });

/** Schema of the group multicluster: accepted for compatibility, without effect in this version. */
export const multicluster = group({
    /** Former name of enableGateway. */
    enable: flag.optional(),
    enableGateway: flag.default(false),
    namespace: anyText.default(""),
    enableStretchedNetworkPolicy: flag.default(false),
    enablePodToPodConnectivity: flag.default(false),
    wireGuard: group({ port: port.default(51_821) }),
    trafficEncryptionMode: oneOfAnyCase("none", "wireGuard").default("none"),
});

/** Schema of the group externalNode: accepted for compatibility, without effect in this version. */
export const externalNode = group({
    externalNodeNamespace: anyText.default("default"),
    policyBypassRules: listOf(
        member({
            direction: oneOfAnyCase("ingress", "egress"),
            protocol: oneOfAnyCase("tcp", "udp", "icmp", "ip"),
            cidr: cidr(),
            port: port.optional(),
        }),
    ).default([]),
});

/** Schema of the group auditLogging: accepted for compatibility, without effect in this version. */
export const auditLogging = group({
    /** Megabytes. */
    maxSize: wholeNumber(0, 1_000_000).default(500),
    maxBackups: wholeNumber(0, 1_000_000).default(3),
    /** Days. */
    maxAge: wholeNumber(0, 1_000_000).default(28),
    compress: flag.default(true),
});

const maxBridges = "must be a list of at most 1 bridge; list all NICs in it";
const interfaces = "must be a list of 1 to 8 interfaces; name the NICs to connect to the bridge";

/** Schema of the group secondaryNetwork: the bridge of networks other than the Pod network. */
export const secondaryNetwork = group({
    ovsBridges: z
        .array(
            member({
                bridgeName: ownInterfaceName,
                physicalInterfaces: z
                    .array(interfaceName, { error: interfaces })
                    .min(1, { error: interfaces })
                    .max(8, { error: interfaces }),
                enableMulticastSnooping: flag.default(false),
            }),
            { error: maxBridges },
        )
        .max(1, { error: maxBridges })
        .default([]),
});

/** Schema of the group memberlist: accepted for compatibility, without effect in this version. */
export const memberlist = group({
    gossipVerifyOutgoing: flag.default(true),
    gossipVerifyIncoming: flag.default(true),
});
