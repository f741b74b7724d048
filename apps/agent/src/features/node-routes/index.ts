/** The ways to the Pods of other Nodes: tunnels and routes. */
export { LookPlan } from "./look-plan.ts";
export { Peers, type PeerFlowTable, type PeersComponents, type PeersOptions } from "./peers.ts";
export { RouteWatch, type RouteWatchOptions } from "./route-watch.ts";
export { allPodPrefixes, waysToPeers, type PeerWay, type PeerWays, type Underlay } from "./ways.ts";
