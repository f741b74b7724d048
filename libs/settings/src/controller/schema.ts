import { type z } from "zod";
import {
    anyText,
    apiServer,
    cidr,
    cidrOrEmpty,
    type DeepReadonly,
    duration,
    flag,
    group,
    listOf,
    member,
    port,
    readable,
    wholeNumber,
} from "../leaves.ts";
import { clientConnection, featureGates, prometheus } from "../shared.ts";
import { tlsCipherSuites, tlsMinVersion } from "../tls.ts";

const nodeIPAM = group({
    enableNodeIPAM: flag.default(false),
    /** Where Nodes get their podCIDRs from: at most one CIDR of each family. */
    clusterCIDRs: listOf(cidr()).default([]),
    /** Carved out of clusterCIDRs where they overlap. */
    serviceCIDR: cidrOrEmpty(4).prefault(""),
    serviceCIDRv6: cidrOrEmpty(6).prefault(""),
    /** The prefix lengths of the Nodes' podCIDRs. */
    nodeCIDRMaskSizeIPv4: wholeNumber(16, 30).default(24),
    nodeCIDRMaskSizeIPv6: wholeNumber(64, 126).default(64),
});

// Another name would never lead: there is no right to it, and two controllers would be two leaders.
const leaseName = readable(
    "must be antrea-controller: the controller's Role and the admission policy antrea-own-objects allow no other Lease",
    (text) => (text === "antrea-controller" ? text : undefined),
);

/** Of several replicas one works; the Lease says which. */
const leaderElection = group({
    /** How long the others wait after the last renewal before one takes over. */
    leaseDuration: duration(1000, "1s").default(15_000),
    /** How long the leader tries to renew before it stops. */
    renewDeadline: duration(1000, "1s").default(10_000),
    /** The pause between tries. */
    retryPeriod: duration(100, "100ms").default(2000),
    /** The name of the Lease; there is no other. */
    resourceName: leaseName.default("antrea-controller"),
});

/** The keys of antrea-controller.conf. */
export const controllerSchema = member({
    featureGates,
    clientConnection: clientConnection(50, 100),
    apiPort: port.default(10_349),
    enablePrometheusMetrics: prometheus,
    /** False: the certificate comes from the Secret that is mounted. */
    selfSignedCert: flag.default(true),
    /** OpenSSL names joined by colons; undefined: the defaults of Node.js. */
    tlsCipherSuites: tlsCipherSuites.prefault(""),
    tlsMinVersion: tlsMinVersion.prefault(""),
    /** Path of a file with certificates of authorities of clients; "" for none. */
    clientCAFile: anyText.default(""),
    /** A URL, whatever the form in the file; undefined: from the environment or the kubeconfig. */
    kubeAPIServerOverride: apiServer.prefault(""),
    nodeIPAM,
    /** Addresses from IPPools (gate AntreaIPAM). */
    ipam: group({
        /** The pause between two looks for claims and reservations that nobody asks for any more. */
        cleanInterval: duration(1000, "1s").default(60_000),
    }),
    leaderElection,
    ipsecCSRSigner: group({ selfSignedCA: flag.default(true), autoApprove: flag.default(true) }),
    multicluster: group({ enableStretchedNetworkPolicy: flag.default(false), namespace: anyText.default("") }),
});

/** antrea-controller.conf with its defaults. Keys are named as in the file; what "" stands for there is undefined here. */
export type ControllerConfig = DeepReadonly<z.output<typeof controllerSchema>>;
