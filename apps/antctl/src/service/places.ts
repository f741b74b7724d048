import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import { type Endpoint, type Protocol, type Scope, type ServedPort, type ServedService } from "@antrea/services";

/** What becomes of new connections: one of these endpoints gets each (`ADDRESS:PORT`, sorted), or none. */
export type Outcome =
    | { readonly kind: "endpoints"; readonly endpoints: readonly string[] }
    /** Only in OVS: a group that is too large to be listed, and its number of buckets, unless there are too many for that. */
    | { readonly kind: "group"; readonly buckets?: number }
    /** The agent answers that there is nobody. */
    | { readonly kind: "rejected" }
    | { readonly kind: "dropped" };

/** An address, or all of a Node's own, with protocol and port. */
export interface Place {
    /** Undefined: a NodePort. */
    readonly ip: IpAddress | undefined;
    readonly family: Family;
    readonly protocol: Protocol;
    readonly port: number;
    /** Whether it is a ClusterIP, which has no ports of other Services. */
    readonly isClusterIp: boolean;
    /** For clients inside, then, if it is another one, for all others; then for those without permission. */
    readonly outcomes: readonly Outcome[];
}

/** The places at which a Service is to be served. Without `proxyAll` all clients are inside. */
export function placesOf({ ports }: ServedService, proxyAll: boolean): readonly Place[] {
    return ports.flatMap((port) => {
        const { family, protocol, addresses, nodePort } = port;
        const outcomesAt = (inside: Scope, outside: Scope): readonly Outcome[] =>
            distinct([inside, ...(proxyAll ? [outside] : [])].map((scope) => outcomeOf(port, scope)));
        const ofAddresses = addresses.map(({ kind, ip, inside, outside }): Place => {
            const ranges = kind === "loadBalancer" ? port.sourceRanges : undefined;
            const permitted = ranges?.length === 0 ? [] : outcomesAt(inside, outside);
            const outcomes = distinct([...permitted, ...(ranges === undefined ? [] : [{ kind: "dropped" } as const])]);
            return { ip, family, protocol, port: port.port, isClusterIp: kind === "cluster", outcomes };
        });
        if (nodePort === undefined) return ofAddresses;
        const outcomes = outcomesAt(nodePort.inside, nodePort.outside);
        return [...ofAddresses, { ip: undefined, family, protocol, port: nodePort.port, isClusterIp: false, outcomes }];
    });
}

/** The place as part of a sentence: `10.96.0.10 TCP 80`, `NodePort TCP 30080 of IPv4`. */
export function placeText({ ip, family, protocol, port }: Omit<Place, "isClusterIp" | "outcomes">): string {
    return ip === undefined ? `NodePort ${protocol} ${port} of IPv${family}` : `${formatIp(ip)} ${protocol} ${port}`;
}

/** `10.10.1.5:8080`, `[fd00::5]:8080`. */
export function endpointText(ip: IpAddress, port: number): string {
    return ip.family === 4 ? `${formatIp(ip)}:${port}` : `[${formatIp(ip)}]:${port}`;
}

/** Without those that equal the one before. */
export function distinct(outcomes: readonly Outcome[]): readonly Outcome[] {
    return outcomes.filter((one, at) => JSON.stringify(one) !== JSON.stringify(outcomes[at - 1]));
}

function outcomeOf({ endpoints }: Pick<ServedPort, "endpoints">, scope: Scope): Outcome {
    const chosen = endpoints[scope];
    if (chosen.length > 0) return { kind: "endpoints", endpoints: chosen.map(textOf).sort() };
    return { kind: endpoints.cluster.length === 0 ? "rejected" : "dropped" };
}

function textOf({ ip, port }: Endpoint): string {
    return endpointText(ip, port);
}
