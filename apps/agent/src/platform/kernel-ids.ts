// What marks things of ours in the kernel, in one place, so that no two features use the same.

/** The protocols (rtm_protocol) of our routes, by which they are known from others'. */
/** Routes to the podCIDRs of other Nodes. */
export const antreaRouteProtocol = 178;
/** Routes to Pods that have an address outside the podCIDRs of their Node. */
export const podRouteProtocol = 179;
/** The routes of Services' answers to bridged Pods. */
export const serviceRouteProtocol = 180;

/** The group of the Node's ends of Pods' veth pairs, by which nftables and a restart know them. */
export const podLinkGroup = 178;
