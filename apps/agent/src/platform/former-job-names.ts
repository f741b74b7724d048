/**
 * Names of jobs in the previous release, by current name, for `Jobs` (`formerNames`): their metrics keep the old names
 * for one release (docs/upgrading.md). A job without an entry has kept its name or is new.
 */
export const formerJobNames: Readonly<Record<string, string>> = {
    "bridging/service-routes": "service-way",
    "bridging/uplink": "uplink",
    "bridging/uplink-report": "uplink-report",
    "cni-server/conflist": "conflist",
    "host-filter/firewall": "host-firewall",
    "host-filter/pod-frames": "host-guard",
    "ip-pools/allocations": "claims",
    "ip-pools/ignored-annotations": "ignored-annotations",
    "ip-pools/isolated-pods": "isolated-pods",
    "ip-pools/own-node": "own-node",
    "ip-pools/subnet-allocations": "subnet-claims",
    "node/cached-node": "remember-node",
    "node-routes/peers": "peers",
    "node-routes/transport": "transport",
    "node-routes/transport-addresses": "transport-addresses",
    "pod-network/lost-bandwidth": "lost-bandwidth",
    "pod-network/ovs": "ovs",
    "pod-network/ovsdb-lock": "ovsdb-lock",
    "readiness/token": "token",
    "secondary-networks/ignored-networks": "ignored-networks",
};
