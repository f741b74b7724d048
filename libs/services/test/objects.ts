import { formatIp } from "@antrea/ip";
import {
    headlessLabel,
    serviceNameLabel,
    ServiceIndex,
    zoneLabel,
    type EndpointObject,
    type NodeObject,
    type ServedPort,
    type ServedService,
    type ServiceObject,
    type ServiceSettings,
    type ServiceSpecObject,
    type SliceObject,
    type SlicePortObject,
} from "../src/index.ts";

/** The Node of the tests is `here`. */
export const settings: ServiceSettings = {
    nodeName: "here",
    families: [4, 6],
    proxyAll: true,
    proxyLoadBalancerIps: true,
    serviceProxyName: "",
    skipServices: [],
    defaultLoadBalancerMode: "nat",
    dsr: true,
    nodeHints: true,
    sctp: true,
};

export interface ServiceInput extends ServiceSpecObject {
    readonly name?: string;
    readonly uid?: string;
    readonly created?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ingress?: readonly (
        string | { readonly ip?: string; readonly ipMode?: string; readonly hostname?: string }
    )[];
}

/** The Service default/web at 10.96.0.1, TCP port 80 without a name. */
export function service(input: ServiceInput = {}): ServiceObject {
    const {
        name = "web",
        uid = `uid-${name}`,
        created = "2026-01-01T00:00:00Z",
        labels,
        annotations,
        ingress,
        ...spec
    } = input;
    return {
        metadata: {
            name,
            namespace: "default",
            uid,
            creationTimestamp: created,
            ...(labels && { labels }),
            ...(annotations && { annotations }),
        },
        spec: { type: "ClusterIP", clusterIPs: ["10.96.0.1"], ports: [{ protocol: "TCP", port: 80 }], ...spec },
        ...(ingress && {
            status: { loadBalancer: { ingress: ingress.map((one) => (typeof one === "string" ? { ip: one } : one)) } },
        }),
    };
}

export interface SliceInput {
    readonly name?: string;
    readonly of?: string;
    readonly type?: string;
    readonly headless?: boolean;
    readonly ports?: readonly SlicePortObject[];
}

/** The EndpointSlice default/web-1 of web with these endpoints at TCP port 8080. */
export function slice(
    endpoints: readonly EndpointObject[],
    { of = "web", name = `${of}-1`, type = "IPv4", headless = false, ports }: SliceInput = {},
): SliceObject {
    return {
        metadata: {
            name,
            namespace: "default",
            labels: { [serviceNameLabel]: of, ...(headless && { [headlessLabel]: "" }) },
        },
        addressType: type,
        endpoints,
        ports: ports ?? [{ protocol: "TCP", port: 8080 }],
    };
}

/**
 * An endpoint from words after its address: `here` or `there` is its Node; `unready`, `terminating` (serving),
 * `stopped` (terminating, not serving) its state; `for-node:NAME` and `for-zone:NAME` its hints.
 */
export function endpoint(text: string): EndpointObject {
    const [address = "", ...words] = text.split(" ");
    const hints = (prefix: string): readonly { readonly name: string }[] =>
        words.filter((word) => word.startsWith(prefix)).map((word) => ({ name: word.slice(prefix.length) }));
    const [forNodes, forZones] = [hints("for-node:"), hints("for-zone:")];
    const nodeName = words.find((word) => word === "here" || word === "there");
    const conditions = {
        unready: { ready: false, serving: false, terminating: false },
        terminating: { ready: false, serving: true, terminating: true },
        stopped: { ready: false, serving: false, terminating: true },
    };
    const state = words.find((word): word is keyof typeof conditions => word in conditions);
    return {
        addresses: [address],
        ...(state !== undefined && { conditions: conditions[state] }),
        ...(nodeName !== undefined && { nodeName }),
        ...((forNodes.length > 0 || forZones.length > 0) && {
            hints: { ...(forNodes.length > 0 && { forNodes }), ...(forZones.length > 0 && { forZones }) },
        }),
    };
}

export interface NodeInput {
    readonly zone?: string;
    readonly podCidrs?: readonly string[];
    readonly addresses?: readonly string[];
}

export function node(name: string, { zone, podCidrs, addresses = [] }: NodeInput = {}): NodeObject {
    return {
        metadata: { name, ...(zone !== undefined && { labels: { [zoneLabel]: zone } }) },
        ...(podCidrs && { spec: { podCIDRs: podCidrs } }),
        status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
    };
}

/** An index with these objects. */
export function indexOf(
    {
        services = [],
        slices = [],
        nodes = [],
    }: {
        readonly services?: readonly ServiceObject[];
        readonly slices?: readonly SliceObject[];
        readonly nodes?: readonly NodeObject[];
    },
    changed: Partial<ServiceSettings> = {},
): ServiceIndex {
    const index = new ServiceIndex({ ...settings, ...changed });
    for (const one of services) index.setService(one);
    for (const one of slices) index.setSlice(one);
    for (const one of nodes) index.setNode(one);
    return index;
}

/** What is served of default/web, or of the Service of another name; fails if nothing is. */
export function servedOf(index: ServiceIndex, name = "web"): ServedService {
    const served = index.served(`default/${name}`);
    if (served === undefined) throw new TypeError(`nothing is served of ${name}`);
    return served;
}

/** The endpoints of a scope as `ADDRESS:PORT`. */
export function endpointTexts(port: ServedPort | undefined, scope: "cluster" | "local"): readonly string[] {
    return (port?.endpoints[scope] ?? []).map(({ ip, port: number }) => `${formatIp(ip)}:${number}`);
}

/** Where a Service is served: `KIND ADDRESS PROTOCOL/PORT INSIDE/OUTSIDE`. */
export function placesOf({ ports }: ServedService): readonly string[] {
    return ports.flatMap(({ addresses, family, protocol, port, nodePort }) => [
        ...addresses.map(
            ({ kind, ip, inside, outside }) => `${kind} ${formatIp(ip)} ${protocol}/${port} ${inside}/${outside}`,
        ),
        ...(nodePort === undefined
            ? []
            : [`nodePort IPv${family} ${protocol}/${nodePort.port} ${nodePort.inside}/${nodePort.outside}`]),
    ]);
}
