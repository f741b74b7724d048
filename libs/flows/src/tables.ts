/**
 * The flow tables and their numbers. Numbers never change, so that flows of an earlier agent and of another
 * configuration are in the same tables; gaps and unused names are for future features. As `goto_table` must increase,
 * the numbers follow the path of a packet: ARP, then IP from its source to its output, then IPv4 multicast.
 */
export const Table = {
    /** Splits ARP, IPv4 and IPv6; other and tagged frames are dropped. */
    Root: 0,
    /** Bridging mode, frames of the underlay: VLAN, and whether a Pod of this Node is in it. */
    Underlay: 2,
    /** ARP: checks that the sender's IP, MAC and port belong together. */
    ArpSpoofGuard: 4,
    /** ARP: answers or drops every request. */
    ArpResponder: 6,

    /** IP: identifies the source by ingress port. */
    Classifier: 10,
    /** IP: checks that source IP, MAC and port belong together. */
    SpoofGuard: 14,
    /** IPv6: checks that neighbour discovery messages are the sender's own; drops other multicast. */
    NdGuard: 16,
    /** IPv6: sends neighbour discovery to the one port concerned. */
    NdForward: 18,
    /** Reserved: separates IPv4 multicast. */
    IpClassifier: 20,

    /** Bridging mode: switch between the uplink, the host port and the bridged Pods. */
    UnderlaySwitch: 22,
    /** Bridging mode: floods frames in a VLAN. */
    UnderlayFlood: 23,

    /** Services: restores the address of the client in answers to a translated source. */
    UnSnat: 24,
    /** Looks up the connection. */
    ConntrackZone: 28,
    /** Services: looks up the connection of such an answer; in bridging mode in the VLAN of the Pod. */
    ServiceReply: 30,
    /** Drops invalid packets; established connections skip the policies. */
    ConntrackState: 32,

    /** Services: finds the destination port of datagrams in fragments, in two passes of connection tracking. */
    FragmentPasses: 36,
    /** Services: loads that port for all fragments. */
    FragmentPort: 38,
    /** Reserved. */
    PreRoutingClassifier: 40,
    /** Services: whether the destination, or the source, is an address of this Node. */
    NodePortMark: 42,
    /** Services: endpoints that were chosen for clients with session affinity. */
    SessionAffinity: 44,
    /** Services: chooses an endpoint and translates to it. */
    ServiceLb: 46,
    /** Reserved. */
    DsrServiceMark: 48,
    /** Services with session affinity: translates to the endpoint, and remembers it. */
    EndpointDnat: 50,

    /** Reserved: egress rules of network policies. */
    EgressSecurityClassifier: 60,
    AntreaPolicyEgressRule: 62,
    EgressRule: 64,
    EgressDefaultRule: 66,
    EgressMetric: 68,

    /** Bridging mode: forwards packets of bridged Pods. */
    BridgedForwarding: 78,
    /** Chooses the next hop by IP address and sets its MAC address. */
    L3Forwarding: 80,
    /** Reserved: Egress. */
    EgressMark: 84,
    EgressQos: 86,
    /** Decrements the TTL of packets that OVS itself routes. */
    L3DecTtl: 88,
    /** Reserved: SNAT for Services and Egress. */
    SnatMark: 94,
    Snat: 96,

    /** Chooses the output port by destination MAC address. */
    L2Forwarding: 100,
    /** Reserved: mirroring and redirection. */
    TrafficControl: 104,
    /** Reserved: ingress rules of network policies. */
    IngressSecurityClassifier: 110,
    AntreaPolicyIngressRule: 112,
    IngressRule: 114,
    IngressDefaultRule: 116,
    IngressMetric: 118,
    /** Commits the connection, with its source in the mark. */
    ConntrackCommit: 130,
    /** Services, and those of kube-proxy in bridging mode: another source, without which the answer would not come back. */
    ServiceSnat: 136,
    /** Bridging mode: tags frames to the underlay. */
    Vlan: 140,
    /** Sends the packet out. */
    Output: 150,

    /** Reserved: IPv4 multicast. */
    MulticastEgressRule: 160,
    MulticastEgressMetric: 162,
    MulticastEgressPodMetric: 164,
    MulticastRouting: 170,
    MulticastIngressRule: 174,
    MulticastIngressMetric: 176,
    MulticastIngressPodMetric: 178,
    MulticastOutput: 190,
} as const;

/** Name of a flow table. */
export type TableName = keyof typeof Table;
/** Number of a flow table. */
export type TableId = (typeof Table)[TableName];

/**
 * Flow priorities by meaning; the highest wins. `miss` is that of table-miss flows. Network policies use their own
 * numbers in their own tables.
 */
export const Priority = {
    top: 220,
    high: 210,
    normal: 200,
    low: 190,
    lower: 187,
    belowLower: 186,
    lowest: 184,
    last: 180,
    miss: 0,
} as const;
