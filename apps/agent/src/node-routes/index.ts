export { antreaRouteProtocol, NodeRoutes, type NodeRoutesComponents, type NodeRoutesOptions } from "./node-routes.ts";
export { allPodPrefixes, peerRoutes, type PeerRoute, type PeerRoutes } from "./peers.ts";
