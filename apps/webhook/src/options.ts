import { type Prefix } from "@antrea/ip";
import { type CertificateTimes } from "@antrea/serving/certificates";

/** Options of one replica of the webhook. */
export interface WebhookOptions {
    /** Namespace of the CA's Secret and of the Service. */
    readonly namespace: string;
    /** HTTPS port of webhooks, probes and metrics. */
    readonly port: number;
    /** `nodeIPAM.clusterCIDRs`, whose addresses no pool may contain. Default none. */
    readonly clusterCidrs?: readonly Prefix[];
    /** Port on 127.0.0.1 for probes. Default: none. */
    readonly probePort?: number | undefined;
    /**
     * Whether IPPool annotations are in effect (feature gate AntreaIPAM); otherwise none is refused. IPPools are
     * always validated. Default true.
     */
    readonly poolsOn?: boolean;
    /**
     * Whether Antrea attaches networks (feature gate SecondaryNetwork); otherwise no annotation that requests networks
     * is refused. Networks are always reviewed. Default false.
     */
    readonly networksOn?: boolean;
    /** Lifetimes and intervals of certificates, in milliseconds. Default: those of CertificateKeeper. */
    readonly times?: CertificateTimes;
    /** How long it keeps serving after it reports not ready, in milliseconds. Default 3,000. */
    readonly leaveMs?: number;
}
