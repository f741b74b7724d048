import { type Family } from "@antrea/ip";
import { podCidrTexts } from "@antrea/ipam";
import { endpointSlices, nodes, services, type Node } from "@antrea/kube";
import {
    ServiceIndex,
    serviceNameLabel,
    slimService,
    slimSlice,
    zoneLabel,
    type NodeObject,
    type NodeView,
    type ServiceObject,
} from "@antrea/services";
import { configuredServices, servesServices } from "@antrea/settings";
import { agentSelector, type Cluster } from "../cluster/index.ts";
import { CliError } from "../errors.ts";
import { type NamedObject } from "../object-ref.ts";
import { ignored } from "./ignored.ts";
import { readNodeProblems, type NodeProblem } from "./node-problems.ts";
import { notServing, readSettings } from "./settings.ts";

/** The state of the cluster that the report on a Service is computed from. */
export interface Facts {
    /** `namespace/name`. */
    readonly key: string;
    readonly service: ServiceObject;
    /** With all Services, all Nodes, and the EndpointSlices of this Service. */
    readonly index: ServiceIndex;
    /** Those to report on, by name. */
    readonly views: readonly NodeView[];
    readonly proxyAll: boolean;
    readonly bridge: string;
    /** Of the Nodes to report on; only with `proxyAll` there are any. */
    readonly nodeProblems: readonly NodeProblem[];
    /** What was assumed, as it could not be read; sentences. */
    readonly assumptions: readonly string[];
}

/**
 * Reads what decides about a Service: it, all others, its EndpointSlices, the Nodes, and the configuration of the agents,
 * of which the defaults are assumed where it cannot be read; with `proxyAll` also what agents have reported about it. Rejects with CliError `NOT_FOUND`, with `IGNORED` if
 * AntreaProxy does not serve it, and with KubeError.
 *
 * @param nodeName the only Node to report on; undefined: all
 */
export async function gatherFacts(
    cluster: Cluster,
    { namespace, name }: NamedObject,
    nodeName: string | undefined,
): Promise<Facts> {
    const key = `${namespace}/${name}`;
    const agents = await cluster.pods({ labelSelector: agentSelector });
    const [found, all, slices, nodeObjects, { loaded, assumptions }] = await Promise.all([
        cluster.find(services, { namespace, name }),
        cluster.list(services, slimService),
        cluster.list(endpointSlices, slimSlice, { namespace, labelSelector: `${serviceNameLabel}=${name}` }),
        cluster.list(nodes, reducedNode),
        readSettings(cluster, agents[0]),
    ]);
    if (found === undefined) {
        const next = `kubectl -n ${namespace} get services lists those that there are`;
        throw new CliError("NOT_FOUND", "caller", `there is no Service ${key}`, next);
    }
    const { config } = loaded;
    if (!servesServices(loaded)) throw notServing(loaded);
    const index = new ServiceIndex({
        ...configuredServices(loaded),
        nodeName: "",
        families: [4, 6],
        sctp: true,
    });
    for (const node of nodeObjects) index.setNode(node);
    for (const one of all) index.setService(one);
    for (const slice of slices) index.setSlice(slice);
    const service = slimService(found);
    index.setService(service);
    const reason = index.ignored(key);
    if (reason !== undefined) throw ignored(key, reason, loaded);
    const sctp = config.ovsDatapathType === "system";
    const wanted = nodeObjects.filter(({ metadata }) => nodeName === undefined || metadata?.name === nodeName);
    if (wanted.length === 0) {
        const what = nodeName === undefined ? "the cluster has no Node" : `there is no Node ${nodeName}`;
        throw new CliError("NOT_FOUND", "caller", what, "kubectl get nodes lists those that there are");
    }
    const { proxyAll } = config.antreaProxy;
    const uid = found.metadata?.uid ?? "";
    const reported = proxyAll ? await readNodeProblems(cluster, { namespace, name, uid }, agents) : [];
    const names = new Set(wanted.map(({ metadata }) => metadata?.name));
    return {
        key,
        service,
        index,
        views: wanted.map((node) => ({ node, families: familiesOf(node), sctp })),
        proxyAll,
        bridge: config.ovsBridge,
        nodeProblems: (reported ?? []).filter(({ node }) => names.has(node)),
        assumptions: reported === undefined ? [...assumptions, noEvents] : assumptions,
    };
}

const noEvents = "What only the Nodes know of is not shown: you may not list events.";

function reducedNode(node: Node): NodeObject {
    const { metadata, status } = node;
    const zone = metadata?.labels?.[zoneLabel];
    const podCIDRs = podCidrTexts(node);
    return {
        metadata: {
            ...(metadata?.name === undefined ? {} : { name: metadata.name }),
            ...(zone === undefined ? {} : { labels: { [zoneLabel]: zone } }),
        },
        ...(podCIDRs.length === 0 ? {} : { spec: { podCIDRs } }),
        status: { addresses: status?.addresses ?? [] },
    };
}

function familiesOf({ spec }: NodeObject): readonly Family[] {
    const cidrs = spec?.podCIDRs ?? [];
    return ([4, 6] as const).filter((family) => cidrs.some((cidr) => cidr.includes(":") === (family === 6)));
}
