// The values of upstream Antrea's chart that this chart lacks: a values file of Antrea can be used as it is, as long as
// it enables nothing unsupported.

/** A value that is accepted if it is Antrea's default or enables nothing. */
export interface AntreaValue {
    readonly path: string;
    /** The accepted values. */
    readonly accepted: readonly unknown[];
    /** The accepted values that enable something, for which the notes state that they have no effect. */
    readonly noted: readonly unknown[];
}

const off = (paths: string): readonly AntreaValue[] => each(paths, [false]);
/** Enabled by default in Antrea. */
const on = (paths: string): readonly AntreaValue[] => each(paths, [true, false], [true]);
const empty = (paths: string): readonly AntreaValue[] => each(paths, ["", null, [], {}]);

function each(paths: string, accepted: readonly unknown[], noted: readonly unknown[] = []): readonly AntreaValue[] {
    return paths.split(" ").map((path) => ({ path, accepted, noted }));
}

/** All such values. */
export const antreaValues: readonly AntreaValue[] = [
    ...on("hostNetworkAcceleration.enable auditLogging.compress"),
    ...on(
        "egress.uniqueMACForSubInterfaces agent.memberlist.gossipVerifyIncoming agent.memberlist.gossipVerifyOutgoing",
    ),
    ...on("ipsec.csrSigner.autoApprove ipsec.csrSigner.selfSignedCA"),
    ...off("nodePortLocal.enable multicast.enable"),
    ...off(
        "flowExporter.enable multicluster.enable multicluster.enableGateway multicluster.enablePodToPodConnectivity",
    ),
    ...off("multicluster.enableStretchedNetworkPolicy webhooks.labelsMutator.enable testing.coverage"),
    ...off("testing.simulator.enable ovs.hwOffload agent.antreaSysctlInit.enable"),
    ...empty("image podCIDRs dnsServerOverride clientCAFile multicluster.namespace"),
    ...empty(
        "egress.exceptCIDRs egress.snatFullyRandomPorts multicast.multicastInterfaces flowExporter.protocolFilter",
    ),
    ...empty("agent.antreaOVS.extraArgs agent.antreaAgent.securityContext.capabilities"),
    ...each("trafficEncryptionMode multicluster.trafficEncryptionMode", ["none"]),
    ...each("hostNetworkMode", ["iptables", "nftables"], ["iptables"]),
    ...each("ipsec.authenticationMode", ["psk"]),
    ...each("ipsec.psk", ["changeme", ""]),
    ...each("wireGuard.port", [51_820]),
    ...each("multicluster.wireGuard.port", [51_821]),
    ...each("packetInRate", [5000]),
    ...each("fqdnCacheMinTTL controller.apiNodePort", [0]),
    ...each("egress.maxEgressIPsPerNode", [255]),
    ...each("nodePortLocal.portRange", ["61000-62000"]),
    ...each("multicast.igmpQueryInterval", ["125s"]),
    ...each("multicast.igmpQueryVersions", [[1, 2, 3]]),
    ...each("flowExporter.flowCollectorAddr", ["flow-aggregator/flow-aggregator:14739:grpc", ""]),
    ...each("flowExporter.flowPollInterval flowExporter.activeFlowExportTimeout", ["5s"]),
    ...each("flowExporter.idleFlowExportTimeout", ["15s"]),
    ...each("auditLogging.maxSize", [500]),
    ...each("auditLogging.maxBackups", [3]),
    ...each("auditLogging.maxAge", [28]),
    ...each("agent.clusterPort", [10_351]),
    ...each("agent.kubeletRootDir", ["/var/lib/kubelet"]),
    ...each("agent.antreaSysctlInit.hostSysctlDir", ["/etc/sysctl.d"]),
    ...each("agent.antreaSysctlInit.resources agent.antreaIPsec.resources", [{ requests: { cpu: "50m" } }, {}]),
    ...each("agent.antreaSysctlInit.securityContext.privileged agent.antreaAgent.securityContext.privileged", [true]),
    ...each("agent.antreaSysctlInit.securityContext.capabilities", [[]]),
    ...each("agent.antreaIPsec.securityContext.capabilities", [["NET_ADMIN"]]),
    ...off("agent.antreaIPsec.securityContext.privileged agent.installCNI.securityContext.privileged"),
    ...each("agent.installCNI.securityContext.capabilities", [["SYS_MODULE"]]),
    // logs are written to standard output, and the container runtime limits their size
    ...["agent.antreaAgent", "agent.antreaOVS", "controller.antreaController"].flatMap((path) => [
        ...each(`${path}.logFileMaxNum`, [4, 0]),
        ...each(`${path}.logFileMaxSize`, [100, 0]),
    ]),
];
