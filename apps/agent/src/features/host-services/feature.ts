import { isErrorOf, messageOf } from "@antrea/errors";
import { nodeAddressFlows } from "@antrea/flows";
import { nodeAddressesOf } from "@antrea/ipam";
import type { Prefix } from "@antrea/ip";
import type { Feature } from "../../platform/feature.ts";
import { mayHaveLostRoutes } from "../../platform/host/gateway/index.ts";
import { proxyRouteProtocol } from "../../platform/kernel-ids.ts";
import { changesRoutes } from "../../platform/node/node-changes.ts";
import type { NodePlatform, ServiceCidrs } from "../../platform/node-platform.ts";
import { NftError } from "../../platform/nftables.ts";
import { reporting } from "../../platform/reporting.ts";
import { ServiceCidrWatch } from "../../platform/service-cidr-watch.ts";
import { HostServiceRoutes } from "./host-routes.ts";
import { HostRules, removeHostRules } from "./host-rules.ts";
import { HostStack } from "./host-stack.ts";
import { readListeningPorts } from "./listening.ts";
import { NodeAddresses } from "./node-addresses.ts";
import { NodePortReport } from "./node-port-report.ts";
import { RoutedServiceCidrs } from "./service-cidrs.ts";

const resyncMs = 60_000;
/** A program that begins or ends to listen at a port of a Service is noticed within this time. */
const portsMs = 10_000;

/** The owner of the flows of the Node's addresses in the flow table. */
const addressOwner = "host-services/addresses";

/** What the feature needs of the platform. */
export type HostServicesPlatform = Pick<
    NodePlatform,
    | "bridgedMac"
    | "clock"
    | "config"
    | "environment"
    | "events"
    | "flowTable"
    | "health"
    | "host"
    | "jobs"
    | "kube"
    | "logger"
    | "netlink"
    | "node"
    | "nodes"
    | "pipeline"
    | "servesNode"
    | "sysctls"
>;

/** The feature, and what the Services need of it. */
export interface HostServicesFeature extends Feature {
    /** Undefined without `proxyAll`. */
    readonly stack: HostStack | undefined;
    /** The same. */
    readonly cidrs: RoutedServiceCidrs | undefined;
}

/**
 * AntreaProxy for the Node itself and for clients outside (`antreaProxy.proxyAll`): nftables rules, routes and a routing
 * rule that lead packets to Services into OVS. They stay when the agent stops, and those of an earlier start stay until
 * OVS has all Services. Without `proxyAll` it removes them.
 *
 * @param cidrs a watch of the ServiceCIDRs that others own; undefined: the feature watches them itself
 */
export function hostServices(platform: HostServicesPlatform, cidrs: ServiceCidrs | undefined): HostServicesFeature {
    const { bridgedMac, config, host, jobs, netlink, node, sysctls } = platform;
    const logger = platform.logger.child("host-services");
    const families = node.podPrefixes.map(({ family }) => family);
    const routes = new HostServiceRoutes({ logger, netlink, sysctls }, { gatewayName: config.hostGateway, families });
    if (platform.servesNode) return serving(platform, routes, cidrs);
    return {
        name: "host-services",
        stack: undefined,
        cidrs: undefined,
        start: () => {
            jobs.once("host-services/removal", async () => {
                await removeHostRules({ logger, nft: host.nft });
                await routes.remove({ keepsNeighbours: bridgedMac !== undefined });
            });
        },
    };
}

function serving(
    platform: HostServicesPlatform,
    routes: HostServiceRoutes,
    others: ServiceCidrs | undefined,
): HostServicesFeature {
    const { clock, config, environment, events, health, jobs, kube, netlink, node, nodes } = platform;
    const logger = platform.logger.child("host-services");
    const own = new ServiceCidrWatch({ api: kube.api, clock, logger });
    const cidrs = new RoutedServiceCidrs(others ?? own);
    const rules = rulesOf(platform);
    const { nodePortAddresses } = config.antreaProxy;
    const addresses = new NodeAddresses({ netlink }, { nodePortAddresses });
    const nodePortReport = new NodePortReport(
        { logger, record: (event) => events.record(event) },
        {
            nodeName: environment.nodeName,
            families: node.podPrefixes.map(({ family }) => family),
            cidrs: nodePortAddresses,
        },
    );
    const gatewayRoutes = { gatewayName: config.hostGateway, protocol: proxyRouteProtocol };
    const listeners = new DisposableStack();
    const triggers = { rules: (): void => undefined, routes: (): void => undefined, addresses: (): void => undefined };
    const onRules = (): void => triggers.rules();
    const stack = new HostStack({ rules, addresses, listening: readListeningPorts, onRules });
    const flows = (): ReturnType<typeof nodeAddressFlows> => {
        const families = node.podPrefixes.map(({ family }) => family);
        const { own: all, nodePorts } = addresses.known;
        return nodeAddressFlows(platform.pipeline, {
            own: all.filter(({ family }) => families.includes(family)),
            nodePorts: nodePorts.filter(({ family }) => families.includes(family)),
        });
    };
    const reserveStandIns = async (): Promise<void> => {
        try {
            stack.reserve(await rules.standIns());
        } catch (error) {
            if (!isErrorOf(NftError, error)) throw error;
            logger.warn("rules of an earlier start cannot be read", { reason: messageOf(error) });
        }
    };
    const start = (): void => {
        let problem: string | undefined;
        health.addCheck("host-services", "ready", () => problem);
        const what = "the Node and clients outside do not reach changed Services";
        const report = (text: string | undefined): void => void (problem = text);
        triggers.addresses = trigger(
            jobs.every("host-services/addresses", resyncMs, async (limit) => {
                const changed = await addresses.read();
                nodePortReport.update(addresses.known.nodePorts);
                stack.addressesChanged(changed);
                if (changed.size > 0) triggers.routes();
                await platform.flowTable.set(addressOwner, flows(), limit);
            }),
        );
        triggers.rules = trigger(
            jobs.every("host-services/rules", resyncMs, async () => {
                if (stack.isComplete) await reporting({ what, report }, () => rules.ensure());
            }),
        );
        triggers.routes = trigger(
            jobs.every("host-services/routes", resyncMs, async () => {
                if (!stack.isComplete) return;
                const own = nodes.get(environment.nodeName);
                const sources = own && nodeAddressesOf(own).filter((ip) => addresses.has(ip));
                const orConfigured = (known: readonly Prefix[] | undefined): readonly Prefix[] | undefined =>
                    known?.length === 0 ? configuredCidrs(config) : known;
                await routes.ensure({
                    serviceCidrs: orConfigured(cidrs.known),
                    lastCidrs: orConfigured(cidrs.last),
                    sources,
                });
            }),
        );
        jobs.every("host-services/used-ports", portsMs, async () => {
            if (stack.isComplete) await stack.checkPorts();
        });
        cidrs.onChange(() => triggers.routes());
        nodes.onChange((type, key, object, old) => {
            if (key === environment.nodeName && changesRoutes(type, object, old)) triggers.routes();
        });
        stack.onComplete(() => {
            triggers.rules();
            triggers.routes();
        });
    };
    return {
        name: "host-services",
        stack,
        cidrs,
        stage: async (signal) => {
            if (others === undefined) own.start(signal);
            listeners.use(addresses);
            addresses.start(() => triggers.addresses());
            listeners.use(
                netlink.subscribe(["link", "route"], (event) => {
                    if (mayHaveLostRoutes(event, gatewayRoutes)) triggers.routes();
                }),
            );
            await addresses.read();
            await reserveStandIns();
            platform.flowTable.stage(addressOwner, flows());
        },
        start,
        stop: async () => {
            listeners.dispose();
            await own.close();
        },
    };
}

function rulesOf({ clock, config, host, logger, node }: HostServicesPlatform): HostRules {
    return new HostRules(
        { clock, generation: host.rulesGeneration, logger: logger.child("host-services"), nft: host.nft },
        {
            families: node.podPrefixes.map(({ family }) => family),
            gatewayName: config.hostGateway,
            nodePortAddresses: config.antreaProxy.nodePortAddresses,
            randomFully: config.snatFullyRandomPorts,
        },
    );
}

/** Those of a cluster that names none. */
function configuredCidrs({ serviceCIDR, serviceCIDRv6 }: HostServicesPlatform["config"]): readonly Prefix[] {
    return [serviceCIDR, serviceCIDRv6].filter((prefix) => prefix !== undefined);
}

function trigger(job: { trigger(): void }): () => void {
    return () => job.trigger();
}
