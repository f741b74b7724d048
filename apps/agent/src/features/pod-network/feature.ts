import type { IpAddress, Prefix } from "@antrea/ip";
import type { Feature } from "../../platform/feature.ts";
import { OwnSubnet } from "../../platform/node/config/index.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import type {
    AddRequest,
    NetworkCall,
    NetworkAllocations,
    NetworkInterfaces,
    NetworkRecord,
    PlannedNetwork,
    PodInterface,
    PodRecord,
    WiredNetworks,
} from "../../platform/pod-interfaces/index.ts";
import { type checkInterface, type CheckInput } from "./check.ts";
import { type checkNetworkInterface } from "./check-network.ts";
import { FurtherInterfaces } from "./further-interfaces.ts";
import type { FurtherInterfacesComponents, NetworkPorts } from "./further-types.ts";
import { FunctionWiring, type FunctionLinks } from "./function-wiring.ts";
import { HostRoutes } from "./host-routes.ts";
import { addBandwidthJob, addLockJob, addOvsJob } from "./jobs.ts";
import type { PodNamespaces } from "./link.ts";
import { declarePodMetrics } from "./metrics.ts";
import { podsOf, unwiredEvent } from "./node-pods.ts";
import { NodeSubnet } from "./node-subnet.ts";
import { flowOwner, portSpec } from "./parts.ts";
import { PodNetwork } from "./pod-network.ts";
import { PodReconciler } from "./reconciler.ts";
import { SingleNetworks } from "./single-networks.ts";
import type { RecordAllocations } from "./take-over.ts";
import { isRoutedToPod } from "./routed.ts";
import type { PodBridging, PodNetworkComponents, PodPools } from "./types.ts";

/** The IPPools, as the Pod network uses them. */
export interface NetworkPools extends PodPools {
    readonly podCidrs: {
        /** Whether an address of the podCIDRs is allocated from a pool; undefined while that is being read. */
        isClaimed(ip: IpAddress): boolean | undefined;
    };
    /** The pool that an address of this Node is allocated from; undefined while the allocations are not synced. */
    poolOf(ip: IpAddress): string | undefined;
}

/** What the Pod network needs of other features. */
export interface PodNetworkNeeds {
    /** Undefined without IPPools, as `allocations`. */
    readonly pools: NetworkPools | undefined;
    /** The allocations of this Node. */
    readonly allocations: RecordAllocations | undefined;
    /** Undefined outside bridging mode. */
    readonly bridging: PodBridging | undefined;
    /** The networks other than the Pod network; undefined if the feature gate SecondaryNetwork is disabled. */
    readonly networks?: NetworksOfPods | undefined;
    /** A problem with the allocations of a record; undefined if there is none. */
    readonly allocationProblem: (record: PodRecord | NetworkRecord) => Promise<string | undefined>;
}

/** The networks other than the Pod network, as the Pod network uses them. */
export interface NetworksOfPods {
    /** Filled by Pod wiring. */
    readonly table: NetworkInterfaces;
    /** The ports of their bridge; undefined if none is configured, and Pods get virtual functions only. */
    readonly ports: NetworkPorts | undefined;
    /** The links of virtual functions. */
    readonly functionLinks: FunctionLinks;
    /** Undefined without IPPools. */
    readonly allocations: NetworkAllocations | undefined;
    /** Announces the addresses of a port of `ports` in its VLAN; never throws. */
    readonly announce: FurtherInterfacesComponents["announce"];
    /** The interfaces that a Pod is to get, checked; rejects with the error that ADD returns. */
    readonly plan: (request: AddRequest, signal: AbortSignal) => Promise<readonly PlannedNetwork[]>;
    /** The fingerprint of the annotation that the plan of the request was made from; undefined if none was read. */
    readonly hashOf: (request: AddRequest) => string | undefined;
    /** The one that a meta plugin asks for; rejects as `plan`. */
    readonly planCall: (call: NetworkCall, signal: AbortSignal) => Promise<PlannedNetwork>;
    /** Reports the interfaces of a Pod; resolves after one second at the latest, never rejects. */
    readonly report: (wired: WiredNetworks) => Promise<void>;
    /** Counts a failure, and records on the Pod why its networks were not attached; never rejects. */
    readonly failed: (request: AddRequest, error: unknown) => Promise<void>;
}

/** The parts of Pod wiring that use the network namespaces of Pods; a simulated Node replaces them. */
export interface PodNodeParts {
    /** Compares a wired interface with the kernel and OVS. */
    readonly checkInterface: typeof checkInterface;
    /** Compares an interface on another network with the kernel and OVS. */
    readonly checkNetworkInterface: typeof checkNetworkInterface;
    /** Default: the kernel's namespaces. */
    readonly namespaces?: PodNamespaces;
}

/** Paths and addresses that a CHECK is called with. */
export type CheckedAs = Pick<CheckInput, "netns" | "previous">;

/** The feature, and what it provides to others. */
export interface PodNetworkFeature extends Feature {
    /** Wires Pods. */
    readonly network: PodNetwork;
    /** The addresses of the podCIDRs. */
    readonly subnet: NodeSubnet;
    /** CHECK of an interface, and of those of its container on other networks; rejects with CheckError. */
    check(known: PodInterface, input: CheckedAs): Promise<void>;
    /** The interfaces that a meta plugin asks for; undefined if the agent makes none on other networks. */
    readonly networks: SingleNetworks | undefined;
    /** Whether a Pod of this Node, that is neither being removed nor isolated, needs the route to this destination. */
    isRouted(dst: Prefix): boolean;
    /**
     * Triggers the job that compares gateway, flows, ports and routes with what is desired; no effect before `start`.
     */
    resync(): void;
    /** To be called before any ADD is served: see PodReconciler. */
    holdKnownAddresses(signal: AbortSignal): Promise<void>;
}

/**
 * Wires the Pods of this Node, and keeps their interfaces and the state of OVS as desired. Adds the readiness check
 * `subnet`, and at `start` `bridge-device` and `pod-interfaces`. `stage` rebuilds the interfaces of an earlier start
 * before the first replay, `start` restores them and adds the jobs; it rejects if the links cannot be read.
 */
export function podNetwork(platform: NodePlatform, needs: PodNetworkNeeds, parts: PodNodeParts): PodNetworkFeature {
    const {
        clock,
        config,
        environment,
        events,
        kube,
        logger: parent,
        metrics,
        netlink,
        node,
        podInterfaces,
    } = platform;
    const { podPrefixes } = node;
    const logger = parent.child("pod-network");
    const { pools } = needs;
    const subnet = new NodeSubnet(
        podPrefixes,
        (size) => BigInt(Math.floor(platform.random() * Number(size))),
        (ip) => (pools === undefined ? false : pools.podCidrs.isClaimed(ip)),
    );
    const hostRoutes = new HostRoutes(
        { netlink, logger, metrics, clock },
        { gatewayName: config.hostGateway, bridged: config.enableBridgingMode },
    );
    const { fail, health, nodes } = platform;
    const ownSubnet = new OwnSubnet({ api: kube.api, nodes, clock, fail, logger: parent }, node);
    health.addCheck("subnet", "ready", () => ownSubnet.problem);
    const network = networkOf(platform, needs, { subnet, ownSubnet, hostRoutes, namespaces: parts.namespaces });
    const reconciler = new PodReconciler(
        {
            network,
            netlink,
            subnet,
            hostRoutes,
            ports: platform.bridge,
            clock,
            logger,
            poolOf: (ip) => pools?.poolOf(ip),
            allocations: needs.allocations,
            pods: (limit) => podsOf(kube.api, environment.nodeName, limit),
            reportUnwired: (unwired) => events.record(unwiredEvent(unwired)),
        },
        { bootId: environment.bootId, podPrefixes },
    );
    let resync = (): void => undefined;
    const { further } = network;
    const checkNetwork = (record: NetworkRecord, input: CheckedAs): Promise<void> =>
        parts.checkNetworkInterface(
            {
                netlink,
                port: (name) => needs.networks?.ports?.ports().find((port) => port.name === name),
                allocationProblem: needs.allocationProblem,
            },
            record,
            input,
        );
    return {
        name: "pod-network",
        network,
        subnet,
        networks:
            further &&
            needs.networks &&
            new SingleNetworks({
                network,
                further,
                netlink,
                plan: needs.networks.planCall,
                failed: needs.networks.failed,
                check: checkNetwork,
                clock,
                logger,
                namespaces: parts.namespaces,
            }),
        check: async (known, input) => {
            const { containerId } = known.record;
            await parts.checkInterface(
                {
                    netlink,
                    port: (name) => platform.bridge.port(name),
                    flowsOf: (one) => platform.flowTable.flowsOf(flowOwner(one.record)),
                    dumpFlows: () => platform.openflow.dumpFlows(),
                    allocationProblem: needs.allocationProblem,
                },
                { known, ...input, movedRoutes: further?.defaultFamilies(containerId) },
            );
            for (const { record, leaving } of further?.ofContainer(containerId) ?? []) {
                if (leaving === undefined) await checkNetwork(record, { netns: input.netns, previous: undefined });
            }
        },
        isRouted: (dst) => isRoutedToPod(podInterfaces, dst),
        resync: () => resync(),
        holdKnownAddresses: (signal) => reconciler.holdKnownAddresses(signal),
        stage: (signal) => reconciler.rebuild(signal),
        start: async (signal) => {
            await reconciler.restoreAll(signal);
            const ovs = addOvsJob(platform, reconciler);
            resync = () => ovs.trigger();
            // Pods whose default route leads to another network have routes to them.
            if (further !== undefined) platform.serviceCidrWatch?.onServiceCidrs(resync);
            addLockJob(platform);
            addBandwidthJob(platform);
            declarePodMetrics(metrics, podInterfaces, subnet, platform.flowTable);
        },
        stop: () => ownSubnet[Symbol.dispose](),
    };
}

/** What an ADD does about the networks other than the Pod network. */
function networkCallbacks(
    { failed, hashOf, plan, report, table }: NetworksOfPods,
    further: FurtherInterfaces | undefined,
    mtu: () => number,
): Partial<PodNetworkComponents> {
    return {
        further,
        planNetworks: plan,
        networksHash: hashOf,
        networksFailed: failed,
        reportNetworks: (own, planned) =>
            report({
                own,
                mtu: mtu(),
                networks: planned.flatMap(({ ifName, dns }) => {
                    const record = table.get({ containerId: own.containerId, ifName })?.record;
                    return record === undefined ? [] : [{ record, dns }];
                }),
            }),
    };
}

function networkOf(
    platform: NodePlatform,
    { pools, bridging, networks }: PodNetworkNeeds,
    {
        subnet,
        ownSubnet,
        hostRoutes,
        namespaces,
    }: {
        readonly subnet: NodeSubnet;
        readonly ownSubnet: OwnSubnet;
        readonly hostRoutes: HostRoutes;
        readonly namespaces: PodNamespaces | undefined;
    },
): PodNetwork {
    const { bridge, clock, environment, flowTable, gateway, netlink } = platform;
    const { disableTxChecksumOffload, pipeline, podInterfaces, podMtu } = platform;
    const logger = platform.logger.child("pod-network");
    const functions = (of: NetworksOfPods): FunctionWiring =>
        new FunctionWiring(
            {
                table: of.table,
                podInterfaces,
                writeRecord: (known, signal) => bridge.ensurePort(portSpec(known.record, known.ofPort), signal),
                links: of.functionLinks,
                logger,
            },
            { namespaces },
        );
    const further =
        networks &&
        new FurtherInterfaces(
            {
                table: networks.table,
                podInterfaces,
                ports: networks.ports,
                functions: functions(networks),
                netlink,
                pools: networks.allocations,
                announce: networks.announce,
                serviceCidrs: () => platform.serviceCidrs(),
                areServiceCidrsKnown: () => platform.serviceCidrWatch?.serviceCidrs !== undefined,
                clock,
                logger,
            },
            { bootId: environment.bootId, disableTxChecksumOffload, namespaces },
        );
    return new PodNetwork(
        {
            subnet,
            hostRoutes,
            podInterfaces,
            ports: bridge,
            flowTable,
            next: pipeline,
            netlink,
            pools,
            confirmSubnet: () => ownSubnet.confirm(),
            bridging,
            ...(networks && networkCallbacks(networks, further, podMtu)),
            clock,
            logger,
        },
        {
            get mtu() {
                return podMtu();
            },
            disableTxChecksumOffload,
            gatewayMac: () => gateway.mac,
            servesServices: platform.servesServices,
            bootId: environment.bootId,
            now: () => clock.monotonic(),
            namespaces,
        },
    );
}
