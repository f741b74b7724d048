import { formatPrefix, IpError, parsePrefix, quote, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import { tripleOf, type Protocol } from "./addresses.ts";
import { chooseEndpoints, type Scope } from "./choice.ts";
import { candidatesOf, readSlices, type Endpoint, type OwnNode } from "./endpoints.ts";
import { keyOf, loadBalancerModeAnnotation, type ServiceObject, type SliceObject } from "./objects.ts";
import { planService, type AddressKind, type AddressUse, type PlannedFamily, type PlannedPort } from "./plan.ts";
import { type Problem, type ProblemList } from "./problem.ts";
import { type LoadBalancerMode, type ServiceSettings } from "./settings.ts";

/** Which endpoints clients get: those inside, which are the Node itself and its Pods, and all others. */
export interface ClientScopes {
    readonly inside: Scope;
    readonly outside: Scope;
}

/** An address at which a port of a Service is served. */
export interface ServedAddress extends ClientScopes {
    readonly kind: AddressKind;
    readonly ip: IpAddress;
}

/** A port at which a Service is served on the Node's own addresses. */
export interface ServedNodePort extends ClientScopes {
    readonly port: number;
}

/** A port of a Service in one family: where it is served, and with which endpoints. */
export interface ServedPort {
    /** "" if the Service has one port without a name. */
    readonly name: string;
    readonly family: Family;
    readonly protocol: Protocol;
    readonly port: number;
    /** At least one, or a NodePort; no other Service is served at one of them with this protocol and port. */
    readonly addresses: readonly ServedAddress[];
    readonly nodePort: ServedNodePort | undefined;
    /**
     * Sorted by address and port. If `cluster` is empty, connections are rejected; if only `local` is, they are dropped
     * where the scope is `local`.
     */
    readonly endpoints: Readonly<Record<Scope, readonly Endpoint[]>>;
    /**
     * All endpoints that are ready, or serve while they terminate: whatever policies, hints and the state of others say of
     * new connections, those that go to one of these go on. Sorted by address and port.
     */
    readonly serving: readonly Endpoint[];
    /** Applies to clients outside, at all addresses but ClusterIPs. */
    readonly mode: LoadBalancerMode;
    /** Clients of the addresses of kind `loadBalancer`, of this family; undefined: all, empty: none. */
    readonly sourceRanges: readonly Prefix[] | undefined;
}

/** What a health check of a load balancer asks for (`spec.healthCheckNodePort`). */
export interface ServedHealthCheck {
    readonly port: number;
    /** Number of ready endpoints on the Node. */
    readonly localEndpoints: number;
}

/** What is served of a Service. */
export interface ServedService {
    /** `namespace/name`. */
    readonly key: string;
    readonly uid: string;
    /** Connections of a client go to one endpoint until there was no new one for so many seconds, 1 to 65535. */
    readonly affinitySeconds: number | undefined;
    /** For each port of the Service and each family. */
    readonly ports: readonly ServedPort[];
    readonly healthCheck: ServedHealthCheck | undefined;
    readonly problems: readonly Problem[];
}

/** What `computeService` reads beside the Service itself. */
export interface ServiceContext {
    readonly settings: ServiceSettings;
    readonly node: OwnNode;
    readonly use: AddressUse;
    /** The key of the Service that has a triple. */
    ownerOf(triple: string): string | undefined;
}

/** The highest idle timeout of a flow (OpenFlow 1.5, ofp_flow_mod), in seconds. */
const maxAffinitySeconds = 0xffff;
/** Default of `spec.sessionAffinityConfig.clientIP.timeoutSeconds`. */
const defaultAffinitySeconds = 10_800;

/**
 * The most endpoints of all ports of a Service together in a family; the first port has them all. An endpoint of a port is a
 * bucket of a group, which takes tens of microseconds to make and send, while the agent does nothing else.
 */
const maxEndpoints = 32_768;

/** Computes what is served of a Service that is not ignored. */
export function computeService(
    service: ServiceObject,
    slices: Iterable<SliceObject>,
    context: ServiceContext,
): ServedService {
    const { settings, node, use } = context;
    const { families, ports, problems } = planService(service, settings, use);
    const read = readSlices(
        slices,
        families.map(({ family }) => family),
        problems,
    );
    const mode = modeOf(service, settings, problems);
    const sourceRanges = readSourceRanges(service, problems);
    const compute = (port: PlannedPort, { family, addresses }: PlannedFamily): ServedPort | undefined => {
        const won = addresses.filter(({ ip, field }) =>
            isOwn({ ip, port: port.port, field }, port, service, context, problems),
        );
        const { nodePort } = port;
        const field = `${port.field}.nodePort`;
        const hasNodePort =
            nodePort !== undefined &&
            isOwn({ ip: `node${family}`, port: nodePort, field }, port, service, context, problems);
        if (won.length === 0 && !hasNodePort) return undefined;
        const ofFamily = read.filter((slice) => slice.family === family);
        return {
            name: port.name,
            family,
            protocol: port.protocol,
            port: port.port,
            addresses: won.map(({ kind, ip }) => ({ kind, ip, ...scopesOf(service, kind) })),
            nodePort: hasNodePort ? { port: nodePort, ...scopesOf(service, "external") } : undefined,
            ...chooseEndpoints(candidatesOf(port, ofFamily, node), node, settings.nodeHints),
            mode: family === 4 ? mode : "nat",
            sourceRanges: sourceRanges(family),
        };
    };
    const left = new Set<PlannedPort>();
    const served = families.flatMap((family) => firstPorts(ports, (port) => compute(port, family), left));
    for (const port of left) noteBeyond(port, settings, problems);
    return {
        key: keyOf(service),
        uid: service.metadata?.uid ?? "",
        affinitySeconds: affinitySeconds(service, problems),
        ports: served,
        healthCheck: healthCheck(service, settings, served),
        problems: problems.all,
    };
}

/**
 * The served ports of a family, as many as `maxEndpoints` allows; adds the others to `left`. None that follows those is
 * computed, as that alone would take long.
 */
function firstPorts(
    ports: readonly PlannedPort[],
    compute: (port: PlannedPort) => ServedPort | undefined,
    left: Set<PlannedPort>,
): readonly ServedPort[] {
    const served: ServedPort[] = [];
    let endpoints = 0;
    let isFull = false;
    for (const port of ports) {
        const one = isFull ? undefined : compute(port);
        endpoints += one?.serving.length ?? 0;
        isFull ||= endpoints > maxEndpoints && served.length > 0;
        if (isFull) left.add(port);
        else if (one !== undefined) served.push(one);
    }
    return served;
}

function noteBeyond(
    { field, protocol, port }: PlannedPort,
    { proxyAll }: ServiceSettings,
    problems: ProblemList,
): void {
    const effect = proxyAll ? "it is not served, unless another proxy serves it" : "it is left to kube-proxy";
    problems.add({
        reason: "TooManyEndpoints",
        field,
        value: `${protocol} ${port}`,
        rule: `is beyond the ${maxEndpoints} endpoints that the ports of a Service may have together; ${effect}`,
        next: "divide the Service into several",
    });
}

/** True if the Service has the triple; else adds a problem. */
function isOwn(
    { ip, port, field }: { readonly ip: IpAddress | "node4" | "node6"; readonly port: number; readonly field: string },
    { protocol }: PlannedPort,
    service: ServiceObject,
    { ownerOf }: Pick<ServiceContext, "ownerOf">,
    problems: ProblemList,
): boolean {
    const triple = tripleOf(ip, protocol, port);
    const owner = ownerOf(triple);
    if (owner === keyOf(service)) return true;
    problems.add({
        reason: "AddressTaken",
        field,
        value: typeof ip === "string" ? `${protocol} ${port}` : triple,
        rule: `belongs to the Service ${owner ?? ""}, which is older or first by name; it is not served for this one`,
        next: "choose another address or port, or delete the other Service",
    });
    return false;
}

/**
 * ClusterIPs follow the internal policy. At all other addresses clients inside are subject to no policy, as if they came
 * from outside and the load balancer chose a Node with an endpoint.
 */
function scopesOf({ spec }: ServiceObject, kind: AddressKind): ClientScopes {
    if (kind !== "cluster")
        return { inside: "cluster", outside: spec?.externalTrafficPolicy === "Local" ? "local" : "cluster" };
    const scope = spec?.internalTrafficPolicy === "Local" ? "local" : "cluster";
    return { inside: scope, outside: scope };
}

function modeOf({ metadata }: ServiceObject, settings: ServiceSettings, problems: ProblemList): LoadBalancerMode {
    const fallback = settings.dsr ? settings.defaultLoadBalancerMode : "nat";
    const text = metadata?.annotations?.[loadBalancerModeAnnotation];
    if (text === undefined) return fallback;
    const field = `metadata.annotations[${loadBalancerModeAnnotation}]`;
    const mode = text.toLowerCase();
    if (mode !== "nat" && mode !== "dsr") {
        const rule = `must be nat or dsr; ${fallback} is used`;
        problems.add({
            reason: "UnknownLoadBalancerMode",
            field,
            value: quote(text),
            rule,
            next: "correct the annotation",
        });
        return fallback;
    }
    if (mode === "nat" || settings.dsr) return mode;
    problems.add({
        reason: "DsrNotAvailable",
        field,
        value: quote(text),
        rule: "is not available in this version; nat is used",
        next: "remove the annotation",
    });
    return "nat";
}

/**
 * The permitted clients of a family; undefined without restriction. As with kube-proxy, ranges restrict only clients of their
 * own family. A range that cannot be read admits nobody: it may be of either.
 */
function readSourceRanges(
    { spec }: ServiceObject,
    problems: ProblemList,
): (family: Family) => readonly Prefix[] | undefined {
    const texts = (spec?.type === "LoadBalancer" ? spec.loadBalancerSourceRanges : undefined) ?? [];
    const ranges = new Map<string, Prefix>();
    let areAllRead = true;
    texts.forEach((text, at) => {
        try {
            // the API server accepts spaces around a range
            const range = parsePrefix(text.trim(), { hostBits: "mask" });
            ranges.set(formatPrefix(range), range);
        } catch (error) {
            if (!(error instanceof IpError)) throw error;
            areAllRead = false;
            problems.add({
                reason: "InvalidSourceRange",
                field: `spec.loadBalancerSourceRanges[${at}]`,
                value: quote(text),
                rule: `is not a CIDR: ${error.details.rule ?? error.message}; it admits no client`,
                next: "correct or remove the range",
            });
        }
    });
    return (family) => {
        const ofFamily = [...ranges.values()].filter((range) => range.family === family);
        return ofFamily.length === 0 && areAllRead ? undefined : ofFamily;
    };
}

function affinitySeconds({ spec }: ServiceObject, problems: ProblemList): number | undefined {
    if (spec?.sessionAffinity !== "ClientIP") return undefined;
    const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds;
    if (seconds <= maxAffinitySeconds) return Math.max(1, seconds);
    problems.add({
        reason: "AffinityTimeoutCapped",
        field: "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        value: String(seconds),
        rule: `is more than ${maxAffinitySeconds}, the longest idle timeout of a flow; ${maxAffinitySeconds} is used`,
        next: `set at most ${maxAffinitySeconds}`,
    });
    return maxAffinitySeconds;
}

function healthCheck(
    { spec }: ServiceObject,
    { proxyAll }: ServiceSettings,
    ports: readonly ServedPort[],
): ServedHealthCheck | undefined {
    const port = spec?.healthCheckNodePort ?? 0;
    if (!proxyAll || port === 0 || spec?.type !== "LoadBalancer" || spec.externalTrafficPolicy !== "Local")
        return undefined;
    if (ports.length === 0) return undefined;
    // a Pod of two families counts once
    const counts = ([4, 6] as const).map((family) => {
        const ready = ports
            .filter((one) => one.family === family)
            .flatMap(({ endpoints }) => endpoints.local.filter((endpoint) => endpoint.ready));
        return new Set(ready.map(({ ip }) => ip.value)).size;
    });
    return { port, localEndpoints: Math.max(...counts) };
}
