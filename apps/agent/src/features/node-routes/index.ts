/** Routes to the Pods of other Nodes: through tunnels, and through the kernel. */
export {
    allPodPrefixes,
    routesToPeers,
    type PeerContext,
    type PeerProblem,
    type PeerRoute,
    type PeerRoutes,
} from "./peer-routes.ts";
export { Peers, type PeersComponents, type PeersOptions, type PeersResult } from "./peers.ts";
export { RouteWatch, type RouteWatchOptions } from "./route-watch.ts";
