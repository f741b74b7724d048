// Identifiers of kernel objects that the agent owns, in one place to prevent conflicts between features.

// The protocols (rtm_protocol, linux/rtnetlink.h) distinguish our routes from others.

/** Protocol (rtm_protocol, linux/rtnetlink.h) by which the agent finds its routes to the podCIDRs of other Nodes. */
export const antreaRouteProtocol = 178;
/**
 * Protocol (rtm_protocol, linux/rtnetlink.h) by which the agent finds its routes to Pods with an address outside the
 * podCIDRs of their Node.
 */
export const podRouteProtocol = 179;
/**
 * Protocol (rtm_protocol, linux/rtnetlink.h) by which the agent finds its routes for Service replies to bridged Pods.
 */
export const serviceRouteProtocol = 180;
/**
 * Protocol (rtm_protocol, linux/rtnetlink.h) by which the agent finds its routes and rules to Services with
 * `antreaProxy.proxyAll`.
 */
export const proxyRouteProtocol = 181;
/**
 * Protocol (rtm_protocol, linux/rtnetlink.h) by which the agent finds, in the network namespaces of Pods, its routes to the
 * Service CIDRs of Pods whose default route leads to another network.
 */
export const podServiceRouteProtocol = 182;

/** The routing table of packets to external addresses of Services, which `serviceMark` marks. */
export const serviceTable = 181;

/** The priority of the rule that leads marked packets to `serviceTable`: after the table `local`, before all others. */
export const serviceRulePriority = 181;

/** The bit of the mark (SO_MARK, socket(7)) of packets to a Service in OVS. kube-proxy uses 0x4000 and 0x8000. */
export const serviceMark = 0x800_0000;

/**
 * The link group (IFLA_GROUP, linux/if_link.h) of the host ends of Pods' veth pairs, by which nftables and a restarted
 * agent identify them.
 */
export const podLinkGroup = 178;
