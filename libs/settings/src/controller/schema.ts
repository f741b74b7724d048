import { type z } from "zod";
import { anyText, flag, listOf, port, wholeNumber } from "../leaves.ts";
import { cidr, cidrOrEmpty } from "../leaves/cidr.ts";
import { duration } from "../leaves/duration.ts";
import { group, member, type DeepReadonly } from "../leaves/group.ts";
import { readable } from "../leaves/readable.ts";
import { apiServer } from "../leaves/server.ts";
import { clientConnection, featureGates, prometheus } from "../shared.ts";
import { tlsCipherSuites, tlsMinVersion } from "../tls.ts";

const nodeIPAM = group({
    enableNodeIPAM: flag.default(false),
    /** CIDRs from which Nodes get their podCIDRs: at most one of each IP family. */
    clusterCIDRs: listOf(cidr()).default([]),
    /** Not used for podCIDRs where it overlaps clusterCIDRs. */
    serviceCIDR: cidrOrEmpty(4).prefault(""),
    serviceCIDRv6: cidrOrEmpty(6).prefault(""),
    /** Prefix length of the Nodes' podCIDRs. */
    nodeCIDRMaskSizeIPv4: wholeNumber(16, 30).default(24),
    nodeCIDRMaskSizeIPv6: wholeNumber(64, 126).default(64),
});

// With another name it would never lead: the Role does not permit it, and two Leases would mean two leaders.
const leaseName = readable(
    "must be antrea-controller: the controller's Role and the admission policy antrea-own-objects allow no other Lease",
    (text) => (text === "antrea-controller" ? text : undefined),
);

/** Leader election between replicas, on a Lease. */
const leaderElection = group({
    /**
     * Milliseconds (in the file a duration): after the last renewal, other replicas wait this long before one takes
     * over.
     */
    leaseDuration: duration(1000, "1s").default(15_000),
    /** Milliseconds (in the file a duration): the leader stops if it could not renew for this long. */
    renewDeadline: duration(1000, "1s").default(10_000),
    /** Milliseconds (in the file a duration) between tries. */
    retryPeriod: duration(100, "100ms").default(2000),
    /** Name of the Lease; no other is possible. */
    resourceName: leaseName.default("antrea-controller"),
});

/** Schema of antrea-controller.conf, with defaults. Parsed durations are in milliseconds. */
export const controllerSchema = member({
    featureGates,
    clientConnection: clientConnection(50, 100),
    apiPort: port.default(10_349),
    enablePrometheusMetrics: prometheus,
    /** False: the serving certificate comes from the mounted Secret. */
    selfSignedCert: flag.default(true),
    /** OpenSSL cipher names separated by colons; undefined: the defaults of Node.js. */
    tlsCipherSuites: tlsCipherSuites.prefault(""),
    tlsMinVersion: tlsMinVersion.prefault(""),
    /** Path of a file with CA certificates of clients; "" for none. */
    clientCAFile: anyText.default(""),
    /** URL of the API server, whatever the form in the file; undefined: from the environment or the kubeconfig. */
    kubeAPIServerOverride: apiServer.prefault(""),
    nodeIPAM,
    /** IPAM with IPPools (feature gate AntreaIPAM). */
    ipam: group({
        /** Milliseconds (in the file a duration) between searches for unused allocations and reservations. */
        cleanInterval: duration(1000, "1s").default(60_000),
    }),
    leaderElection,
    ipsecCSRSigner: group({ selfSignedCA: flag.default(true), autoApprove: flag.default(true) }),
    multicluster: group({ enableStretchedNetworkPolicy: flag.default(false), namespace: anyText.default("") }),
});

/**
 * antrea-controller.conf with its defaults, keys as in the file. Durations are in milliseconds; keys for which "" means
 * "not set" are then undefined.
 */
export type ControllerConfig = DeepReadonly<z.output<typeof controllerSchema>>;
