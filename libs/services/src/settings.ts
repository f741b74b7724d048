import { type Family } from "@antrea/ip";
import { canonical, clusterIpTexts } from "./cluster-ips.ts";
import { headlessLabel, keyOf, serviceProxyNameLabel, type ServiceObject } from "./objects.ts";

/** How packets get to an endpoint behind an external address: by DNAT, or untranslated to a Node that has one. */
export type LoadBalancerMode = "nat" | "dsr";

/** What the configuration of the agent and its Node decide about Services; fixed while the agent runs. */
export interface ServiceSettings {
    /** Name of the own Node. */
    readonly nodeName: string;
    /** The families that Pods of this Node have. */
    readonly families: readonly Family[];
    /** `antreaProxy.proxyAll`: externalIPs, NodePorts and health check node ports are served. */
    readonly proxyAll: boolean;
    /** `antreaProxy.proxyLoadBalancerIPs`: addresses of load balancers are served. */
    readonly proxyLoadBalancerIps: boolean;
    /** `antreaProxy.serviceProxyName`: only Services with this value of the label are served; "": those without it. */
    readonly serviceProxyName: string;
    /** `antreaProxy.skipServices`: `namespace/name` or a ClusterIP each. */
    readonly skipServices: readonly string[];
    /** `antreaProxy.defaultLoadBalancerMode`. */
    readonly defaultLoadBalancerMode: LoadBalancerMode;
    /** Whether direct server return is possible: feature gate LoadBalancerModeDSR, and traffic mode encap. */
    readonly dsr: boolean;
    /** Feature gate PreferSameTrafficDistribution: hints that name Nodes count. */
    readonly nodeHints: boolean;
    /** Whether the datapath can translate SCTP; the one in userspace cannot. */
    readonly sctp: boolean;
}

/** Why nothing of a Service is served. */
export type IgnoredReason = "ExternalName" | "Headless" | "OtherProxy" | "Skipped";

/** Decides which Services are served. */
export class ServiceFilter {
    readonly #proxyName: string;
    readonly #skipped: ReadonlySet<string>;

    /** Entries of `skipServices` that are neither `namespace/name` nor an address have no effect. */
    constructor({ serviceProxyName, skipServices }: Pick<ServiceSettings, "serviceProxyName" | "skipServices">) {
        this.#proxyName = serviceProxyName;
        this.#skipped = new Set(skipServices.map(canonical));
    }

    /** Returns why nothing of the Service is served; undefined if it is served. */
    ignored(service: ServiceObject): IgnoredReason | undefined {
        const { type } = service.spec ?? {};
        const labels = service.metadata?.labels;
        const clusterIps = clusterIpTexts(service);
        if (type === "ExternalName") return "ExternalName";
        if (labels?.[headlessLabel] !== undefined || clusterIps.includes("None")) return "Headless";
        // without a name, a label with an empty value counts too
        const proxyName = labels?.[serviceProxyNameLabel];
        if (this.#proxyName === "" ? proxyName !== undefined : proxyName !== this.#proxyName) return "OtherProxy";
        if (this.#skipped.size === 0) return undefined;
        const names = [keyOf(service), ...clusterIps.map(canonical)];
        return names.some((name) => this.#skipped.has(name)) ? "Skipped" : undefined;
    }
}
