import { onlyKeys, present } from "@antrea/errors";
import {
    headlessLabel,
    loadBalancerModeAnnotation,
    serviceNameLabel,
    serviceProxyNameLabel,
    triggerTimeAnnotation,
    type EndpointObject,
    type ObjectMetadata,
    type ServiceObject,
    type SliceObject,
} from "./objects.ts";

/**
 * Reduces a Service to the fields that decide what is served, for an informer and a journal. Fields that it lacks stay
 * absent.
 */
export function slimService({ metadata, spec = {}, status }: ServiceObject): ServiceObject {
    const { type, clusterIP, clusterIPs, externalIPs, internalTrafficPolicy, externalTrafficPolicy } = spec;
    const { sessionAffinity, sessionAffinityConfig, loadBalancerSourceRanges, healthCheckNodePort } = spec;
    const ingress = (status?.loadBalancer?.ingress ?? []).filter(({ ip }) => ip !== undefined && ip !== "");
    return present<ServiceObject>({
        metadata: slimMetadata(metadata, {
            labels: [serviceProxyNameLabel, headlessLabel],
            annotations: [loadBalancerModeAnnotation],
        }),
        spec: present({
            type,
            clusterIP: clusterIPs === undefined ? clusterIP : undefined,
            clusterIPs,
            externalIPs,
            ports: spec.ports?.map(({ name, protocol, port, nodePort }) => present({ name, protocol, port, nodePort })),
            internalTrafficPolicy,
            externalTrafficPolicy,
            sessionAffinity,
            sessionAffinityConfig,
            loadBalancerSourceRanges,
            healthCheckNodePort,
        }),
        status:
            ingress.length === 0
                ? undefined
                : { loadBalancer: { ingress: ingress.map(({ ip, ipMode }) => present({ ip, ipMode })) } },
    });
}

/**
 * Reduces an EndpointSlice to the fields that decide what is served, and the time of the change that led to it: of each
 * endpoint its first address, Node and hints, and conditions that differ from their defaults. Fields that it lacks stay
 * absent.
 */
export function slimSlice({ metadata, addressType, endpoints, ports }: SliceObject): SliceObject {
    return present<SliceObject>({
        metadata: slimMetadata(metadata, {
            labels: [serviceNameLabel, headlessLabel],
            annotations: [triggerTimeAnnotation],
        }),
        addressType,
        endpoints: endpoints?.map(slimEndpoint),
        ports: ports?.map(({ name, protocol, port }) => present({ name, protocol, port })),
    });
}

function slimEndpoint({ addresses: all, conditions = {}, nodeName, hints = {} }: EndpointObject): EndpointObject {
    const { ready = true, serving = true, terminating = false } = conditions;
    const { forNodes, forZones } = hints;
    const addresses = all.length > 1 ? all.slice(0, 1) : all;
    const isPlain = ready && serving && !terminating;
    // most are of this kind, and a literal takes least memory
    if (isPlain && forNodes === undefined && forZones === undefined) {
        return nodeName === undefined ? { addresses } : { addresses, nodeName };
    }
    const differing = {
        ready: ready ? undefined : false,
        serving: serving ? undefined : false,
        terminating: terminating ? true : undefined,
    };
    return present<EndpointObject>({
        addresses,
        conditions: isPlain ? undefined : present(differing),
        nodeName,
        hints: forNodes === undefined && forZones === undefined ? undefined : present({ forNodes, forZones }),
    });
}

function slimMetadata(
    metadata: ObjectMetadata = {},
    kept: { readonly labels: readonly string[]; readonly annotations: readonly string[] },
): ObjectMetadata {
    const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
    return present({
        name,
        namespace,
        uid,
        resourceVersion,
        creationTimestamp,
        deletionTimestamp,
        labels: onlyKeys(metadata.labels, kept.labels),
        annotations: onlyKeys(metadata.annotations, kept.annotations),
    });
}
