import { type Family } from "@antrea/ip";
import { endpointSlices, nodes, refOf, services, type Node } from "@antrea/kube";
import {
    ServiceIndex,
    serviceNameLabel,
    slimService,
    slimSlice,
    zoneLabel,
    type IgnoredReason,
    type NodeObject,
    type NodeView,
    type ServiceObject,
} from "@antrea/services";
import {
    configuredServices,
    loadAgentConfig,
    servesServices,
    SettingsError,
    type AgentConfig,
    type Loaded,
} from "@antrea/settings";
import { agentSelector, readAgentConfig, type Cluster, type PodInfo } from "../cluster/index.ts";
import { CliError } from "../errors.ts";
import { type NamedObject } from "../object-ref.ts";
import { oneLine } from "../output/index.ts";
import { readNodeProblems, type NodeProblem } from "./node-problems.ts";

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
        cluster.list(nodes, slimNode),
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

interface Settings {
    readonly loaded: Loaded<AgentConfig>;
    readonly assumptions: readonly string[];
}

async function readSettings(cluster: Pick<Cluster, "find">, agent: PodInfo | undefined): Promise<Settings> {
    const read = await readAgentConfig(cluster, agent?.namespace ?? "kube-system");
    const byDefault = (reason: string): Settings => ({
        loaded: loadAgentConfig(""),
        assumptions: [`The settings of the agents are taken to be the defaults: ${reason}.`],
    });
    if (!("text" in read)) return byDefault(read.reason);
    try {
        return { loaded: loadAgentConfig(read.text), assumptions: [] };
    } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        return byDefault(`this version of antctl cannot use theirs: ${oneLine(error.message)}`);
    }
}

function notServing({ gates }: Loaded<AgentConfig>): CliError {
    const [why, next] = gates.enabled("AntreaProxy")
        ? ["antreaProxy.enable is false", "set antreaProxy.enable to true in the values of the chart"]
        : ["the feature gate AntreaProxy is off", "set featureGates.AntreaProxy to true in the values of the chart"];
    return new CliError(
        "IGNORED",
        "environment",
        `AntreaProxy serves no Service, because ${why}; kube-proxy does`,
        next,
    );
}

function ignored(key: string, reason: IgnoredReason, { config }: Loaded<AgentConfig>): CliError {
    const [why, next] = whyIgnored(key, reason, config.antreaProxy);
    return new CliError("IGNORED", "caller", `AntreaProxy does not serve Service ${key}: ${why}`, next);
}

function whyIgnored(
    key: string,
    reason: IgnoredReason,
    { proxyAll, serviceProxyName: proxyName }: AgentConfig["antreaProxy"],
): readonly [why: string, next: string] {
    const { namespace, name } = refOf(key);
    switch (reason) {
        case "ExternalName":
            return ["it is of type ExternalName, an alias in DNS", "look at the name in its spec.externalName"];
        case "Headless": {
            const next = `kubectl -n ${namespace} get endpointslices -l ${serviceNameLabel}=${name} lists their addresses`;
            return ["it is headless: its clients get the addresses of its endpoints from DNS", next];
        }
        case "OtherProxy": {
            const label = "label service.kubernetes.io/service-proxy-name";
            const why =
                proxyName === ""
                    ? `its ${label} names another program`
                    : `its ${label} is not ${proxyName}, as antreaProxy.serviceProxyName asks`;
            return [why, "look at the program that the label names, or change the label"];
        }
        case "Skipped":
            return [
                "antreaProxy.skipServices names it",
                proxyAll
                    ? "look at kube-proxy, if it runs beside antreaProxy.proxyAll: else nobody serves it until you take it " +
                      "from antreaProxy.skipServices"
                    : "look at kube-proxy, or take it from antreaProxy.skipServices",
            ];
    }
}

function slimNode({ metadata, spec, status }: Node): NodeObject {
    const zone = metadata?.labels?.[zoneLabel];
    const { podCIDRs } = spec ?? {};
    return {
        metadata: {
            ...(metadata?.name === undefined ? {} : { name: metadata.name }),
            ...(zone === undefined ? {} : { labels: { [zoneLabel]: zone } }),
        },
        ...(podCIDRs === undefined ? {} : { spec: { podCIDRs } }),
        status: { addresses: status?.addresses ?? [] },
    };
}

function familiesOf({ spec }: NodeObject): readonly Family[] {
    const cidrs = spec?.podCIDRs ?? [];
    return ([4, 6] as const).filter((family) => cidrs.some((cidr) => cidr.includes(":") === (family === 6)));
}
