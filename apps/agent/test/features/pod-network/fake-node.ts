import { bridgingTables, nodeTables, Pipeline } from "@antrea/flows";
import { ManualClock } from "@antrea/async/testing";
import { AntreaError } from "@antrea/errors";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import { OpenFlowError } from "@antrea/openflow";
import { NetlinkError, type Link, type Neighbour, type Netlink } from "@antrea/netlink";
import { FlowTable, type FlowLink } from "../../../src/platform/ovs/flow-table/index.ts";
import { HostRoutes } from "../../../src/features/pod-network/host-routes.ts";
import {
    NodeSubnet,
    PodNetwork,
    PodReconciler,
    type KnownPod,
    type PodNetworkComponents,
    type PodPools,
    type StoredPort,
} from "../../../src/features/pod-network/index.ts";
import type { PodBridging, PodPorts } from "../../../src/features/pod-network/types.ts";
import { FakeSwitch } from "../../platform/ovs/flow-table/fake-switch.ts";
import { silentLogger } from "../../support/logger.ts";
import { testBootId } from "../../support/records.ts";
import { FakeNamespaces } from "./fake-namespaces.ts";
import { Steps } from "./steps.ts";
import { PodInterfaces, type AddRequest } from "../../../src/platform/pod-interfaces/index.ts";

export interface FakeNodeOptions {
    /** Addresses come from an IPPool. */
    readonly pools?: boolean;
    /** Pods of pools are bridged. */
    readonly bridging?: boolean;
    /** OVS serves Services. */
    readonly services?: boolean;
    readonly podCidrs?: readonly string[];
    readonly logger?: typeof silentLogger;
    /** Makes what makes the interfaces on other networks; default: there are none. */
    readonly networks?: (
        node: FakeNode,
    ) => Pick<PodNetworkComponents, "further" | "planNetworks" | "networksHash" | "networksFailed" | "reportNetworks">;
}

/** A link of the Node, with the alias that it has. */
export type FakeLink = Pick<
    Link,
    "index" | "name" | "kind" | "up" | "mtu" | "group" | "mac" | "peerIndex" | "peerNetnsId"
> & {
    readonly alias: string;
    /** The other end of a veth pair. */
    readonly podEnd?: { readonly netns: string; readonly ifName: string };
};

/** Ends of veth pairs in a Pod's namespace whose other end is not on this Node's own. */
type ForeignEnd = Pick<Link, "index" | "name" | "kind" | "peerIndex"> & { readonly netns: string };

/** What `taken` shows of a Node without Pods. */
export const nothingTaken = {
    addresses: 0,
    interfaces: 0,
    ports: [],
    flows: 0,
    desired: 0,
    links: [],
    routes: [],
    allocations: [],
    vlanPods: [],
};

const poolAddress = { ip: parseIp("10.20.0.7"), prefixLength: 24, gateway: parseIp("10.20.0.1"), pool: "pool1" };

/**
 * A Node as the Pod network sees it: links, OVSDB, a switch with its flow table, routes, allocations, bridged Pods. Every call
 * to it is a step that can fail. What it holds outlives the Pod network, so that `restart` can begin from it.
 */
export class FakeNode {
    readonly steps = new Steps();
    readonly clock = new ManualClock();
    readonly ovs = new FakeSwitch();
    readonly links = new Map<string, FakeLink>([["antrea-gw0", linkOf(2, "antrea-gw0", "openvswitch", "")]]);
    readonly stored = new Map<string, StoredPort>();
    readonly routes = new Set<string>();
    readonly allocations = new Set<string>();
    readonly vlanPods = new Set<string>();
    readonly namespaces = new Set<string>();
    /** Addresses that somebody outside this Node has claimed. */
    readonly claimedElsewhere = new Set<string>();
    /** Numbers that OVS does not give, and gives another for. */
    readonly foreignOfPorts = new Set<number>();
    pods: readonly KnownPod[] = [];
    /** How often the API server was asked for them. */
    podsAsked = 0;
    /** What each Pod's namespace knows of its neighbours, and those that were forgotten. */
    neighbours: Neighbour[] = [];
    readonly foreignEnds: ForeignEnd[] = [];
    readonly forgotten: string[] = [];
    /** What is inside of `namespaces`. */
    readonly inside = new FakeNamespaces(this);
    netlink!: Netlink;
    subnet!: NodeSubnet;
    flowTable!: FlowTable;
    podInterfaces!: PodInterfaces;
    ports!: PodPorts;
    network!: PodNetwork;
    reconciler!: PodReconciler;
    /** Whether the subnet is this Node's still. */
    confirmSubnet: () => Promise<void> = () => Promise.resolve();
    readonly #options: FakeNodeOptions;
    /** Ids that the Node's namespace has for those of Pods. */
    readonly #netnsIds = new Map<string, number>();
    #nextIndex = 100;

    constructor(options: FakeNodeOptions = {}) {
        this.#options = options;
        this.restart();
    }

    /** The agent begins anew, with what the Node holds. */
    restart(): void {
        const { steps, clock } = this;
        const { podCidrs = ["10.10.1.0/24"], logger = silentLogger } = this.#options;
        const podPrefixes = podCidrs.map((cidr) => parsePrefix(cidr));
        this.subnet = new NodeSubnet(
            podPrefixes,
            () => 0n,
            (ip) => this.claimedElsewhere.has(formatIp(ip)),
        );
        const link: FlowLink = {
            bundle: (mods, { signal } = {}) => {
                const isRemoval = mods.length > 0 && mods.every(({ command }) => command !== "add");
                return asOpenFlow(() =>
                    steps.run(isRemoval ? "remove flows" : "set flows", () => this.ovs.direct.bundle(mods), signal),
                );
            },
            dumpFlows: (filter) => steps.run("dump flows", () => this.ovs.direct.dumpFlows(filter)),
            countFlows: (filter) => steps.run("count flows", () => this.ovs.direct.countFlows(filter)),
            dumpGroups: (id) => steps.run("dump groups", () => this.ovs.direct.dumpGroups(id)),
            groupCounters: () => steps.run("list groups", () => this.ovs.direct.groupCounters()),
        };
        this.flowTable = new FlowTable({ link, logger });
        this.flowTable.useRound(1);
        const netlink = (this.netlink = this.#netlink());
        const hostRoutes = new HostRoutes(
            { netlink, logger, clock },
            { gatewayName: "antrea-gw0", bridged: this.#isBridging },
        );
        const ports = (this.ports = this.#ports());
        this.podInterfaces = new PodInterfaces();
        const { inside } = this;
        this.network = new PodNetwork(
            {
                podInterfaces: this.podInterfaces,
                ports,
                netlink,
                hostRoutes,
                clock,
                logger,
                subnet: this.subnet,
                flowTable: this.flowTable,
                next: new Pipeline([...nodeTables, ...bridgingTables]),
                pools: this.#options.pools === true ? this.#pools() : undefined,
                bridging: this.#isBridging ? this.#bridging() : undefined,
                confirmSubnet: () => this.confirmSubnet(),
                ...this.#options.networks?.(this),
            },
            {
                mtu: 1450,
                disableTxChecksumOffload: true,
                bootId: testBootId,
                now: () => clock.monotonic(),
                gatewayMac: () => Uint8Array.of(2, 0, 0, 0, 0, 1),
                namespaces: inside,
                servesServices: this.#options.services === true,
            },
        );
        this.reconciler = new PodReconciler(
            {
                network: this.network,
                netlink,
                hostRoutes,
                clock,
                logger,
                subnet: this.subnet,
                allocations: undefined,
                ports: { ports: () => [...this.stored.values()], deletePort: ports.deletePort },
                poolOf: () => (this.#options.pools === true ? "pool1" : undefined),
                pods: (limit) => {
                    this.podsAsked += 1;
                    return steps.run("pods", () => this.pods, limit);
                },
            },
            { bootId: testBootId, podPrefixes },
        );
    }

    request(changes: Partial<AddRequest> = {}): AddRequest {
        const containerId = changes.containerId ?? "ab12".repeat(16);
        const netns = `/run/netns/${containerId.slice(0, 8)}`;
        this.namespaces.add(changes.netns ?? netns);
        return {
            containerId,
            netns,
            ifName: "eth0",
            podNamespace: "default",
            podName: "web-0",
            podUid: "uid-web-0",
            network: "antrea",
            receivedAt: this.clock.monotonic(),
            ...changes,
        };
    }

    add(changes: Partial<AddRequest> = {}, signal: AbortSignal = new AbortController().signal): Promise<unknown> {
        return this.network.add(this.request(changes), signal);
    }

    /** A host end that is there already. */
    putLink(name: string, alias: string, podEnd?: FakeLink["podEnd"]): void {
        const link = linkOf(this.#nextIndex++, name, "veth", alias, podEnd);
        this.links.set(name, link);
        if (podEnd !== undefined) this.#putPodEnd(link, podEnd, "");
    }

    /** All that is taken for Pods, by what it is. */
    taken(): Readonly<Record<string, unknown>> {
        return {
            addresses: this.subnet.usage().reduce((sum, { used }) => sum + used, 0),
            interfaces: this.network.interfaces().length,
            ports: [...this.stored.keys()],
            flows: this.ovs.flows.length,
            desired: this.flowTable.size,
            links: [...this.links.values()].filter(({ kind }) => kind === "veth").map(({ alias }) => alias),
            routes: [...this.routes],
            allocations: [...this.allocations],
            vlanPods: [...this.vlanPods],
        };
    }

    get #isBridging(): boolean {
        return this.#options.bridging === true;
    }

    #ports(): PodPorts {
        const { steps } = this;
        return {
            ensurePort: ({ name, ofPortRequest, externalIds }, signal) =>
                steps.run(
                    "ensurePort",
                    () => {
                        const ofPort = this.foreignOfPorts.has(ofPortRequest) ? 7 : ofPortRequest;
                        this.stored.set(name, { name, ofPort, externalIds: new Map(Object.entries(externalIds)) });
                    },
                    signal,
                ),
            deletePort: (name, signal) => steps.run("deletePort", () => void this.stored.delete(name), signal),
            ofPort: (name, _, signal) =>
                steps.run("ofPort", () => this.stored.get(name)?.ofPort ?? Promise.reject(new Error(name)), signal),
        };
    }

    #netlink(): Netlink {
        const { steps, links } = this;
        const byIndex = (index: number | string): FakeLink => {
            const found = [...links.values()].find((link) => link.index === index);
            if (found === undefined) throw new NetlinkError("ENODEV", "environment", `no link ${index}`);
            return found;
        };
        const netlink: Partial<Netlink> = {
            links: () => steps.run("links", () => [...links.values()] as unknown as Link[]),
            link: (key) =>
                steps.run("link", () => {
                    const found = [...links.values()].find(({ index, name }) => index === key || name === key);
                    const netns = found?.podEnd?.netns;
                    const id = netns === undefined ? {} : { peerNetnsId: this.#netnsIdOf(netns) };
                    return found === undefined ? undefined : ({ ...found, ...id } as unknown as Link);
                }),
            // As of the kernel, none before a link was read whose other end is there.
            netnsId: (netns) => steps.run("netnsId", () => this.#netnsIds.get(netns)),
            createVeth: ({ name, alias = "", mtu = 1500, peer, up = false }) =>
                steps.run("createVeth", () => {
                    if (links.has(name)) throw new NetlinkError("EEXIST", "environment", name);
                    if (!this.namespaces.has(peer.netnsPath ?? ""))
                        throw new NetlinkError("ENOENT", "environment", name);
                    const podEnd = { netns: peer.netnsPath ?? "", ifName: peer.name };
                    const link = { ...linkOf(this.#nextIndex++, name, "veth", alias, podEnd), up, mtu };
                    links.set(name, link);
                    this.#putPodEnd(link, podEnd, peer.mac ?? "");
                }),
            setLink: (index, changes) =>
                steps.run(changes.up === false ? "close link" : "setLink", () => {
                    const link = byIndex(index);
                    links.set(link.name, { ...link, ...(changes as Partial<FakeLink>) });
                }),
            deleteLink: (index) => steps.run("deleteLink", () => links.delete(byIndex(index).name)),
            routes: () => Promise.resolve([]),
            replaceRoute: ({ dst }) => steps.run("set route", () => void this.routes.add(routeOf(dst))),
            deleteRoute: ({ dst }) => steps.run("remove route", () => this.routes.delete(routeOf(dst))),
        };
        return netlink as Netlink;
    }

    #netnsIdOf(netns: string): number {
        const id = this.#netnsIds.get(netns) ?? this.#netnsIds.size;
        this.#netnsIds.set(netns, id);
        return id;
    }

    #putPodEnd({ index, mtu }: FakeLink, { netns, ifName }: NonNullable<FakeLink["podEnd"]>, mac: string): void {
        this.inside.put({ netns, name: ifName, index: index + 1000, host: index, mac, mtu });
    }

    #pools(): PodPools {
        const { steps, allocations } = this;
        return {
            requestOf: ({ containerId }) =>
                steps.run("request", () => ({
                    claim: () =>
                        steps.run("claim", () => {
                            allocations.add(containerId);
                            return { addresses: [poolAddress], vlan: this.#isBridging ? 5 : 0 };
                        }),
                })),
            hasAllocations: ({ containerId }) => allocations.has(containerId),
            // Never rejects: what it cannot do, the reconcile of allocations does.
            release: ({ containerId }) =>
                steps.run("release", () => void allocations.delete(containerId)).catch(() => undefined),
        };
    }

    #bridging(): PodBridging {
        const { steps, vlanPods } = this;
        return {
            hostMac: Uint8Array.of(2, 0, 0, 0, 0, 2),
            stage: ({ key }) => void vlanPods.add(key),
            add: ({ key }, signal) => steps.run("join VLAN", () => void vlanPods.add(key), signal),
            remove: (key, signal) => steps.run("leave VLAN", () => void vlanPods.delete(key), signal),
        };
    }
}

function linkOf(index: number, name: string, kind: string, alias: string, podEnd?: FakeLink["podEnd"]): FakeLink {
    const pair = podEnd === undefined ? {} : { podEnd, peerIndex: index + 1000 };
    return { index, name, kind, alias, up: true, mtu: 1450, group: 178, mac: "", ...pair };
}

function routeOf(dst: "default" | { readonly family: 4 | 6; readonly base: bigint }): string {
    return dst === "default" ? dst : formatIp({ family: dst.family, value: dst.base });
}

/** A bundle of which the answer is lost: the connection to OVS has errors of its own, which report that a part was applied. */
async function asOpenFlow(work: () => Promise<void>): Promise<void> {
    try {
        await work();
    } catch (error) {
        if (!(error instanceof AntreaError) || (error.details as { partial?: boolean }).partial !== true) throw error;
        throw new OpenFlowError("REFUSED", error.fault, error.message, { details: { partial: true }, cause: error });
    }
}
