/**
 * The flow tables. Numbers are fixed for ever, so that flows of an older agent and of another configuration lie in the
 * same tables as ours; the gaps and the names that no flow uses yet are for features to come. `goto_table` only goes
 * up, so the numbers follow the path of a packet: ARP, then IP from its source to its output, then IPv4 multicast.
 */
export const Table = {
    /** Splits ARP, IPv4, IPv6; everything else, and tagged frames, end here. */
    Root: 0,
    /** Bridging mode, frames of the underlay: which VLAN, and whether any Pod here is in it. */
    Underlay: 2,
    /** ARP: the sender's IP, MAC and port belong together. */
    ArpSpoofGuard: 4,
    /** ARP: every request is answered here or dropped. */
    ArpResponder: 6,

    /** IP: who sent it, by the port it came in on. */
    Classifier: 10,
    /** IP: the source's IP, MAC and port belong together. */
    SpoofGuard: 14,
    /** IPv6: what neighbour discovery says is the sender's to say; no other multicast. */
    NdGuard: 16,
    /** IPv6: neighbour discovery goes to the one port it is meant for. */
    NdForward: 18,
    /** Reserved: IPv4 multicast leaves for its own tables. */
    IpClassifier: 20,

    /** Bridging mode: a switch between the uplink, the host port and the bridged Pods. */
    UnderlaySwitch: 22,
    /** Bridging mode: frames for all ports of a VLAN. */
    UnderlayFlood: 23,

    /** Reserved: replies to SNATed connections get their address back. */
    UnSnat: 24,
    /** Looks up the connection. */
    ConntrackZone: 28,
    /** Bridging mode: answers of Services find back into the VLAN of the Pod. */
    ServiceReply: 30,
    /** Drops the invalid, lets the established pass by the policies. */
    ConntrackState: 32,

    /** Reserved: Services (AntreaProxy). */
    PreRoutingClassifier: 40,
    NodePortMark: 42,
    SessionAffinity: 44,
    ServiceLb: 46,
    DsrServiceMark: 48,
    EndpointDnat: 50,

    /** Reserved: egress rules of network policies. */
    EgressSecurityClassifier: 60,
    AntreaPolicyEgressRule: 62,
    EgressRule: 64,
    EgressDefaultRule: 66,
    EgressMetric: 68,

    /** Bridging mode: chooses the way of what bridged Pods send. */
    BridgedForwarding: 78,
    /** Chooses the next hop by IP address and sets its MAC address. */
    L3Forwarding: 80,
    /** Reserved: Egress. */
    EgressMark: 84,
    EgressQos: 86,
    /** What OVS routes itself loses one of its time to live. */
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
    /** Makes the connection known, with the mark of who began it. */
    ConntrackCommit: 130,
    /** Bridging mode: what bridged Pods send to Services gets a virtual source address. */
    ServiceSnat: 136,
    /** Bridging mode: tags what goes to the underlay. */
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

/** The name of a table. */
export type TableName = keyof typeof Table;
/** The number of a table. */
export type TableId = (typeof Table)[TableName];

const names: ReadonlyMap<number, TableName> = new Map(
    (Object.keys(Table) as TableName[]).map((name) => [Table[name], name]),
);

/** The name of a table number, if the pipeline has such a table: for logs and for people. */
export function tableName(table: number): TableName | undefined {
    return names.get(table);
}

/** Flow priorities by their meaning; network policies use numbers of their own in their own tables. */
export const Priority = {
    top: 220,
    high: 210,
    normal: 200,
    low: 190,
    lower: 187,
    lowest: 184,
    last: 180,
    miss: 0,
} as const;
