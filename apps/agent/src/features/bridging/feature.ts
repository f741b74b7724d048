import { bridgingParts, bridgingTables } from "@antrea/flows";
import { parseMac, type IpAddress } from "@antrea/ip";
import type { Feature } from "../../platform/feature.ts";
import { mayHaveLostRoutes } from "../../platform/host/gateway/index.ts";
import { serviceRouteProtocol } from "../../platform/kernel-ids.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import { attachmentKey, isAddCompleted } from "../../platform/pod-interfaces/index.ts";
import { BridgedPods, ServiceRoute, serviceSources } from "./bridged-pods/index.ts";
import { Announcer } from "../../platform/ovs/announcer.ts";

const resyncMs = 60_000;

/** The feature, and what it provides to others; `pods` and `sources` are undefined outside bridging mode. */
export interface Bridging extends Feature {
    /** The VLANs of bridged Pods. */
    readonly pods: BridgedPods | undefined;
    /** For masquerading. */
    readonly sources: BridgedSources | undefined;
}

/** The source addresses of traffic from bridged Pods. */
export interface BridgedSources {
    /** Virtual addresses that OVS substitutes for those of Pods towards Services. */
    readonly serviceSources: readonly IpAddress[];
    /** The current addresses of Pods with a VLAN. */
    readonly taggedPods: () => readonly IpAddress[];
    /** Registers a listener, for good, that is called when `taggedPods` may have changed. */
    readonly onTaggedChange: (listener: () => void) => void;
}

/**
 * In bridging mode: the flows of bridged Pods and of the uplink, the routes for replies from Services, and the
 * announcement of Pods whose ADD has completed. Outside: removes what an earlier start in it left.
 */
export function bridging(platform: NodePlatform): Bridging {
    const { bridgedMac, config, jobs, netlink, servesNode } = platform;
    const route = new ServiceRoute({ netlink }, { gatewayName: config.hostGateway });
    if (bridgedMac !== undefined) return inBridgingMode(platform, parseMac(bridgedMac), route);
    return {
        name: "bridging",
        pods: undefined,
        sources: undefined,
        start: () => void jobs.once("bridging/service-routes", () => route.remove({ keepsNeighbours: servesNode })),
    };
}

function inBridgingMode(
    {
        clock,
        config,
        flowTable,
        jobs,
        logger: parent,
        metrics,
        netlink,
        node,
        openflow,
        pipeline,
        pipelineInput,
        podInterfaces,
        servesNode,
        services,
    }: NodePlatform,
    hostMac: Uint8Array,
    route: ServiceRoute,
): Bridging {
    const logger = parent.child("bridging");
    const families = node.podPrefixes.map(({ family }) => family);
    const announcer = new Announcer({ packetOut: (packet) => openflow.packetOut(packet), logger, clock });
    const pods = new BridgedPods({
        flowTable,
        next: pipeline,
        announcer,
        hostMac: () => hostMac,
        logger,
        clock,
        metrics,
    });
    const listeners = new DisposableStack();
    listeners.use(announcer);
    return {
        name: "bridging",
        pods,
        sources: {
            serviceSources: serviceSources(families),
            taggedPods: () => pods.tagged().flatMap(({ ips }) => ips),
            onTaggedChange: (listener) => pods.onTaggedChange(listener),
        },
        pipeline: {
            tables: bridgingTables,
            parts: () => Promise.resolve(bridgingParts(pipelineInput())),
            // The flows to Services.
            isComplete: () => services?.serviceCidrs !== undefined,
        },
        start: () => {
            const routing = jobs.every("bridging/service-routes", resyncMs, () =>
                route.ensure(families, { sparesProxyRoutes: servesNode }),
            );
            openflow.onReady(() => routing.trigger());
            listeners.use(
                netlink.subscribe(["link", "route"], (event) => {
                    const routes = { gatewayName: config.hostGateway, protocol: serviceRouteProtocol };
                    if (mayHaveLostRoutes(event, routes)) routing.trigger();
                }),
            );
            // Retries VLAN flows that could not be set or removed when a Pod was added or removed.
            const retrying = jobs.every("bridging/vlans", resyncMs, (limit) => pods.pass(limit));
            openflow.onReady(() => retrying.trigger());
            listeners.use(
                podInterfaces.subscribe((change) => {
                    if (isAddCompleted(change)) pods.announce(attachmentKey(change.known.record));
                }),
            );
        },
        stop: () => listeners.dispose(),
    };
}
