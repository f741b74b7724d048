/** Metadata of an object as far as this library reads it (metav1.ObjectMeta). */
export interface ObjectMetadata {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    /** RFC 3339 in UTC, by which Services of one address are ordered. */
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
}

/** A port of a Service. */
export interface ServicePortObject {
    readonly name?: string;
    /** Default TCP. */
    readonly protocol?: string;
    readonly port: number;
    readonly nodePort?: number;
}

/** An entry of the status of a Service of type LoadBalancer; one with a host name only has no `ip`. */
export interface IngressObject {
    readonly ip?: string;
    /** `VIP` (default): the load balancer leaves the destination as it is. `Proxy`: it does not. */
    readonly ipMode?: string;
}

/** The spec of a Service as far as this library reads it. */
export interface ServiceSpecObject {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly externalIPs?: readonly string[];
    readonly ports?: readonly ServicePortObject[];
    readonly internalTrafficPolicy?: string;
    readonly externalTrafficPolicy?: string;
    readonly sessionAffinity?: string;
    readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } };
    readonly loadBalancerSourceRanges?: readonly string[];
    readonly healthCheckNodePort?: number;
}

/** A Service of core/v1: one of the API server fits, and so does what `slimService` keeps of it. */
export interface ServiceObject {
    readonly metadata?: ObjectMetadata;
    readonly spec?: ServiceSpecObject;
    readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly IngressObject[] } };
}

/** A port of an EndpointSlice, for all its endpoints. */
export interface SlicePortObject {
    readonly name?: string;
    /** Default TCP. */
    readonly protocol?: string;
    readonly port?: number;
}

/** Something that a hint names: a Node or a zone. */
export interface HintObject {
    readonly name: string;
}

/** An endpoint of an EndpointSlice. Only the first of its addresses counts, as for kube-proxy. */
export interface EndpointObject {
    readonly addresses: readonly string[];
    /** An absent `ready` or `serving` is true, an absent `terminating` is false. */
    readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
    readonly nodeName?: string;
    readonly hints?: { readonly forNodes?: readonly HintObject[]; readonly forZones?: readonly HintObject[] };
}

/** An EndpointSlice of discovery.k8s.io/v1: one of the API server fits, and so does what `slimSlice` keeps of it. */
export interface SliceObject {
    readonly metadata?: ObjectMetadata;
    /** `IPv4`, `IPv6` or `FQDN`. */
    readonly addressType: string;
    readonly endpoints?: readonly EndpointObject[];
    readonly ports?: readonly SlicePortObject[];
}

/** A Service with its EndpointSlices. */
export interface ServiceObjects {
    readonly service: ServiceObject;
    readonly slices: readonly SliceObject[];
}

/** A Node of core/v1 as far as this library reads it. */
export interface NodeObject {
    readonly metadata?: ObjectMetadata;
    readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
    readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/** The label of a Service that another program serves; its value names the program. */
export const serviceProxyNameLabel = "service.kubernetes.io/service-proxy-name";
/** The label of a Service, or an EndpointSlice of one, that nobody serves. */
export const headlessLabel = "service.kubernetes.io/headless";
/** The label of an EndpointSlice that names its Service. */
export const serviceNameLabel = "kubernetes.io/service-name";
/** The label of a Node with its zone. */
export const zoneLabel = "topology.kubernetes.io/zone";
/** The annotation of a Service by which it chooses between DNAT and direct server return: `nat` or `dsr`. */
export const loadBalancerModeAnnotation = "service.antrea.io/load-balancer-mode";
/** The annotation of an EndpointSlice with the time of the change that led to its last update, in RFC 3339. */
export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

/** Returns `namespace/name` of an object, or its name if it is of no namespace. */
export function keyOf({ metadata }: { readonly metadata?: ObjectMetadata }): string {
    const { namespace, name = "" } = metadata ?? {};
    return namespace === undefined ? name : `${namespace}/${name}`;
}

/**
 * Returns `namespace/name` of the Service of an EndpointSlice; undefined if its labels name none, or say that it is of
 * a headless one.
 */
export function serviceKeyOf({ metadata }: SliceObject): string | undefined {
    const service = metadata?.labels?.[serviceNameLabel];
    if (service === undefined || service === "" || metadata?.labels?.[headlessLabel] !== undefined) return undefined;
    return `${metadata?.namespace ?? ""}/${service}`;
}

/** Whether Services of this type have NodePorts. */
export function hasNodePorts({ spec }: ServiceObject): boolean {
    return spec?.type === "NodePort" || spec?.type === "LoadBalancer";
}
