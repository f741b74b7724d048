import { z } from "zod";
import { absolutePath, flag, listOf, oneOf, oneOfAnyCase, port, wholeNumber } from "../leaves.ts";
import { cidr, cidrOrEmpty, cidrsInText } from "../leaves/cidr.ts";
import { duration, durationFrom } from "../leaves/duration.ts";
import { group, member, type DeepReadonly } from "../leaves/group.ts";
import { interfaceNameOrEmpty, ownInterfaceName } from "../leaves/interface-name.ts";
import { apiServer, dnsServer } from "../leaves/server.ts";
import { clientConnection, featureGates, prometheus } from "../shared.ts";
import { tlsCipherSuites, tlsMinVersion } from "../tls.ts";
import { valueTests } from "../value-tests.ts";
import {
    antreaProxy,
    auditLogging,
    egress,
    externalNode,
    flatFlowExporter,
    flowExporter,
    ipsec,
    memberlist,
    multicast,
    multicluster,
    nodePortLocal,
    secondaryNetwork,
} from "./groups.ts";

const mtuRule = "must be 0 (discover it) or a whole number from 576 to 65535";
const mtu = valueTests.keep(
    z.int({ error: mtuRule }).refine((value) => value === 0 || (value >= 576 && value <= 65_535), { error: mtuRule }),
    mtuRule,
    {
        kind: "number",
        ranges: [
            [0, 0],
            [576, 65_535],
        ],
    },
);

/** Schema of antrea-agent.conf, with defaults. Parsed durations are in milliseconds. */
export const agentSchema = member({
    featureGates,
    clientConnection: clientConnection(0, 0),
    antreaClientConnection: clientConnection(0, 0),

    /** Path of the Unix socket of the CNI server. */
    cniSocket: absolutePath.default("/var/run/antrea/cni.sock"),
    ovsBridge: ownInterfaceName.default("br-int"),
    /** `system`: kernel datapath; `netdev`: userspace datapath of ovs-vswitchd. */
    ovsDatapathType: oneOf("system", "netdev").default("system"),
    ovsRunDir: absolutePath.default("/var/run/openvswitch"),
    /** Name of the Node's gateway interface to its Pods. */
    hostGateway: ownInterfaceName.default("antrea-gw0"),
    /** Path of the Node's root file system in the container, for /proc; "/" for an agent outside a container. */
    hostProcPathPrefix: absolutePath.default("/host"),

    trafficEncapMode: oneOfAnyCase("encap", "noEncap", "hybrid", "networkPolicyOnly").default("encap"),
    podCIDRs: cidrsInText.default([]),
    /** Disables masquerading: Pods keep their address in traffic that leaves the cluster. */
    noSNAT: flag.default(false),
    snatFullyRandomPorts: flag.default(false),
    tunnelType: oneOf("geneve", "vxlan", "gre", "stt").default("geneve"),
    /** Destination port of tunnels; 0: the port that IANA assigned to the tunnel type. */
    tunnelPort: wholeNumber(0, 65_535).default(0),
    tunnelCsum: flag.default(false),
    /** Bytes, 576 to 65,535; 0: derived from the transport interface. */
    defaultMTU: mtu.default(0),
    serviceCIDR: cidrOrEmpty(4).prefault("10.96.0.0/12"),
    serviceCIDRv6: cidrOrEmpty(6).prefault(""),
    trafficEncryptionMode: oneOfAnyCase("none", "ipsec", "wireGuard").default("none"),
    wireGuard: group({ port: port.default(51_820) }),
    /**
     * Connects the Node's uplink interface to the OVS bridge, so that Pods of IPPools are in the network of the Nodes.
     */
    enableBridgingMode: flag.default(false),
    uplink: group({
        /**
         * Milliseconds (in the file a duration, 1s to 10m): the uplink move is rolled back if gateway and API server
         * are unreachable for this long.
         */
        checkTimeout: durationFrom("1s", "10m").default(15_000),
    }),
    /** IPAM with IPPools (feature gate AntreaIPAM). */
    ipam: group({
        /**
         * Milliseconds (in the file a duration): a released address is not reused for this long, unless no other is
         * free.
         */
        cooldown: duration().default(30_000),
    }),
    disableTXChecksumOffload: flag.default(false),

    apiPort: port.default(10_350),
    clusterPort: port.default(10_351),
    memberlist,
    enablePrometheusMetrics: prometheus,
    ...flatFlowExporter,
    flowExporter,
    nodePortLocal,
    /** URL of the API server, whatever the form in the file; undefined: from the environment or the kubeconfig. */
    kubeAPIServerOverride: apiServer.prefault(""),
    /** `IP:port` or `[IP]:port`; undefined if not set. */
    dnsServerOverride: dnsServer.prefault(""),
    /** Seconds. */
    fqdnCacheMinTTL: wholeNumber(0, 2 ** 31 - 1).default(0),
    /** OpenSSL cipher names separated by colons; undefined: the defaults of Node.js. */
    tlsCipherSuites: tlsCipherSuites.prefault(""),
    tlsMinVersion: tlsMinVersion.prefault(""),
    /** Name of the interface to other Nodes; undefined: by transportInterfaceCIDRs, else that of the Node's address. */
    transportInterface: interfaceNameOrEmpty.prefault(""),
    transportInterfaceCIDRs: listOf(cidr()).default([]),

    multicast,
    antreaProxy,
    egress,
    ipsec,
    multicluster,
    nodeType: oneOf("k8sNode", "externalNode").default("k8sNode"),
    externalNode,
    auditLogging,
    secondaryNetwork,
    /** Packets per second. */
    packetInRate: wholeNumber(1, 1_000_000).default(5000),
    hostNetworkAcceleration: group({ enable: flag.default(true) }),
    hostNetworkMode: oneOfAnyCase("iptables", "nftables").default("iptables"),
});

/**
 * antrea-agent.conf with its defaults, keys as in the file. Durations are in milliseconds; keys for which "" means "not
 * set" are then undefined.
 */
export type AgentConfig = DeepReadonly<z.output<typeof agentSchema>>;
