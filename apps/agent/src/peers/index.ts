/** The ways to the Pods of other Nodes: tunnels and routes. */
export { antreaRouteProtocol } from "./kernel-ways.ts";
export { Peers, type PeerFlowTable, type PeersComponents, type PeersOptions } from "./peers.ts";
export { allPodPrefixes, waysToPeers, type PeerWay, type PeerWays, type Underlay } from "./ways.ts";
