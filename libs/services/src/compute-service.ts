import { type IpAddress } from "@antrea/ip";
import { chooseEndpoints } from "./choice.ts";
import { candidatesOf, type OwnNode } from "./endpoints.ts";
import { healthCheck } from "./health-check.ts";
import { modeOf } from "./load-balancer-mode.ts";
import { keyOf, type ServiceObject, type SliceObject } from "./objects.ts";
import { planService, type AddressUse, type PlannedFamily, type PlannedPort } from "./plan.ts";
import { type AddressKind } from "./planned-addresses.ts";
import { type ProblemList } from "./problem.ts";
import { type ClientScopes, type ServedPort, type ServedService } from "./served.ts";
import { affinitySeconds } from "./session-affinity.ts";
import { type ServiceSettings } from "./settings.ts";
import { readSlices } from "./slices.ts";
import { readSourceRanges } from "./source-ranges.ts";
import { tripleOf } from "./triple.ts";

/** What `computeService` reads beside the Service itself. */
export interface ServiceContext {
    readonly settings: ServiceSettings;
    readonly node: OwnNode;
    readonly use: AddressUse;
    /** The key of the Service that has a triple. */
    ownerOf(triple: string): string | undefined;
}

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
