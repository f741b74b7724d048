import { AntreaError } from "@antrea/errors";
import {
    formatIp,
    formatPrefix,
    prefixAt,
    prefixIndexOf,
    prefixOf,
    prefixSize,
    parseIp,
    type Prefix,
} from "@antrea/ip";
import { type Node, type Service } from "@antrea/kube";

/** The finalizer that keeps a Service until its load balancer is gone, as cloud providers use it. */
export const finalizer = "service.kubernetes.io/load-balancer-cleanup";

/** Where kube-proxy, or who does its work, reports to load balancers whether the Node takes traffic. */
const proxyHealthPort = 10256;

/** True if the Service is to have a load balancer of this program: of no class, not going, IPv4 first. */
export function isBalanced({ metadata, spec }: Service): boolean {
    return (
        spec?.type === "LoadBalancer" &&
        spec.loadBalancerClass === undefined &&
        spec.ipFamilies?.[0] === "IPv4" &&
        metadata?.deletionTimestamp === undefined
    );
}

/** True if the Service waits for this program before it goes. */
export function hasFinalizer(service: Service): boolean {
    return service.metadata?.finalizers?.includes(finalizer) ?? false;
}

/** The addresses in the status of a Service. */
export function ingressOf(service: Service): readonly string[] {
    return (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
}

class NetworkError extends AntreaError<"NETWORK_TOO_SMALL"> {}

/**
 * The high end of a Docker network, which gives its containers addresses from the low end: its last /24. Throws NetworkError
 * `NETWORK_TOO_SMALL` for a network in which that would be the low end too.
 */
export function poolOf(network: Prefix): Prefix {
    if (network.length > 23) {
        const text = `the Docker network kind is ${formatPrefix(network)}, without room for addresses of load balancers`;
        throw new NetworkError("NETWORK_TOO_SMALL", "environment", `${text}: remove it, and create it with a /16`);
    }
    return prefixOf(prefixAt(network, prefixSize(network) - 1n), 24);
}

/**
 * The next free address of the pool, downwards from the one given last (undefined: none yet), so that one that was freed
 * stays unused for long: clients test that it answers no more. Undefined if all are in use.
 */
export function nextAddress(pool: Prefix, used: ReadonlySet<string>, last: string | undefined): string | undefined {
    const hosts = prefixSize(pool) - 2n;
    const start = last === undefined ? hosts : prefixIndexOf(pool, parseIp(last)) - 1n;
    for (let step = 0n; step < hosts; step += 1n) {
        // from 1 to `hosts`: neither the network's address nor that of its broadcast
        const index = ((((start - 1n - step) % hosts) + hosts) % hosts) + 1n;
        const address = formatIp(prefixAt(pool, index));
        if (!used.has(address)) return address;
    }
    return undefined;
}

/** The first internal IPv4 address of each Node, in the order of their names. */
export function nodeAddresses(nodes: readonly Node[]): readonly string[] {
    return [...nodes]
        .sort((one, other) => ((one.metadata?.name ?? "") < (other.metadata?.name ?? "") ? -1 : 1))
        .flatMap(({ status }) => {
            const isIpv4 = ({ type, address }: { readonly type: string; readonly address: string }): boolean =>
                type === "InternalIP" && !address.includes(":");
            return status?.addresses?.find(isIpv4)?.address ?? [];
        });
}

/** The port whose status 200 means that a Node takes traffic of this Service. */
export function healthPort({ spec }: Service): number {
    const own = spec?.externalTrafficPolicy === "Local" ? spec.healthCheckNodePort : undefined;
    return own ?? proxyHealthPort;
}

/**
 * The Nodes to which clients are led, of those that are healthy. With policy Local all, since a Node serves only what it
 * has itself. One with policy Cluster, where each Node serves all, and with affinity, which no other Node would know; it
 * stays while it is healthy. `turn` divides Services among Nodes.
 */
export function nextHops(
    { spec }: Service,
    healthy: readonly string[],
    current: readonly string[],
    turn: number,
): readonly string[] {
    if (spec?.externalTrafficPolicy === "Local" && spec.sessionAffinity !== "ClientIP") return healthy;
    const kept = current.find((node) => healthy.includes(node)) ?? healthy[turn % healthy.length];
    return kept === undefined ? [] : [kept];
}
