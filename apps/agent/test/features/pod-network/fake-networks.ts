import { formatIp } from "@antrea/ip";
import { NetlinkError } from "@antrea/netlink";
import {
    CheckError,
    FunctionWiring,
    FurtherInterfaces,
    SingleNetworks,
    type FunctionLinks,
    type FurtherInterfacesComponents,
    type NetworkPorts,
    type PodNetworkComponents,
} from "../../../src/features/pod-network/index.ts";
import type { NetworksOfPods } from "../../../src/features/pod-network/feature.ts";
import type { NetworkPort } from "../../../src/features/pod-network/further-types.ts";
import { OvsBridgeError } from "../../../src/platform/ovs/bridge/index.ts";
import {
    NetworkInterfaces,
    toExternalIds,
    type FunctionDevice,
    type NetworkCall,
    type NetworkRecord,
    type PlannedNetwork,
} from "../../../src/platform/pod-interfaces/index.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { FakeNetworkAllocations } from "../../support/network-allocations.ts";
import { testBootId } from "../../support/records.ts";
import { FakeNode, type FakeNodeOptions } from "./fake-node.ts";
import { plannedNetwork } from "../../support/planned-network.ts";

/** A virtual function of the Node. */
export const device: FunctionDevice = { bus: "pci", id: "0000:af:06.0", linkName: "ens1f0v0", linkMtu: 9000 };

/** The network of this interface, as a meta plugin's call carries it. */
export function askedFor(ifName: string, network = `default/${ifName}`): NetworkCall["asked"] {
    const unset = { mtu: undefined, vlan: undefined, resourceName: undefined, deviceId: undefined, ipam: undefined };
    return { kind: "vlan", network, ignored: [], ...unset };
}

/**
 * A Node whose Pods get interfaces on other networks: the bridge of these with its ports, their allocations and virtual
 * functions outlive the agent, as all that FakeNode holds. Their calls are steps of the Node.
 */
export class FakeNetworks {
    readonly node: FakeNode;
    readonly log: LogEntry[] = [];
    /** The ports of the bridge. */
    readonly ports = new Map<string, NetworkPort>();
    readonly allocations = new FakeNetworkAllocations();
    /** The namespaces that have virtual functions, by the device; the Node has the others. */
    readonly taken = new Map<string, string>();
    /** "number MAC addresses" of each announcement. */
    readonly announced: string[] = [];
    /** The interfaces that Pods get in their ADD. */
    plans: readonly PlannedNetwork[] = [];
    /** The messages of errors that were recorded on Pods. */
    readonly failed: string[] = [];
    /** What was reported of Pods: name and interfaces, with `ofPods` also MTU and DNS domains. */
    readonly reported: string[] = [];
    /** The network that the known allocations name. */
    networkOf = "";
    serviceCidrs: ReturnType<FurtherInterfacesComponents["serviceCidrs"]> = [];
    /** Whether the API server has answered with them. */
    areServiceCidrsKnown = false;
    /** Whether the agent has a bridge for networks, IPPools. */
    hasBridge = true;
    hasPools = true;
    further!: FurtherInterfaces;
    table!: NetworkInterfaces;
    #single: SingleNetworks | undefined;
    #nextPort = 1;

    constructor(options: FakeNodeOptions = {}) {
        this.node = new FakeNode({
            logger: listLogger(this.log),
            ...options,
            networks: (node) => this.#begin(node),
        });
    }

    /** What meta plugins ask for, with the plan of the interface's name. */
    get single(): SingleNetworks {
        const { node, further } = this;
        this.#single ??= new SingleNetworks({
            network: node.network,
            further,
            netlink: node.netlink,
            plan: (call) => node.steps.run("plan", () => this.#planOf(call)),
            check: ({ ifName }) => Promise.reject(new CheckError("MAC", "environment", `${ifName} was compared`)),
            failed: (_, error) => this.#failed(error),
            clock: node.clock,
            logger: listLogger(this.log),
            namespaces: node.inside,
        });
        return this.#single;
    }

    call(ifName: string, { asked, mac, wanted, ...request }: Partial<NetworkCall> = {}): NetworkCall {
        return { ...this.node.request({ ifName, ...request }), asked: asked ?? askedFor(ifName), mac, wanted };
    }

    /** A meta plugin's ADD. */
    addOne(ifName: string, changes: Partial<NetworkCall> = {}): Promise<NetworkRecord> {
        return this.single.add(this.call(ifName, changes), new AbortController().signal);
    }

    /** The agent begins anew, and does what it does before it serves ADDs. */
    async restart(): Promise<void> {
        const { signal } = new AbortController();
        this.node.restart();
        await this.node.reconciler.rebuild(signal);
        await this.node.reconciler.restoreAll(signal);
    }

    /** A round of the reconcile. */
    async round(): Promise<void> {
        await this.node.reconciler.reconcile(new AbortController().signal);
    }

    /** The container's end as the kernel does it: its links go. */
    endNamespace(netns = this.node.request().netns): void {
        this.node.namespaces.delete(netns);
        for (const { name, podEnd } of this.node.links.values())
            if (podEnd?.netns === netns) this.node.links.delete(name);
    }

    /** The interfaces of a container in its namespace, with their addresses. */
    inside(netns = this.node.request().netns): Readonly<Record<string, readonly string[]>> {
        const ends = this.node.inside.endsIn(netns);
        return Object.fromEntries(
            ends.map(({ name, addresses }) => [
                name,
                addresses.map(({ ip, prefixLength }) => `${formatIp(ip)}/${prefixLength}`),
            ]),
        );
    }

    /** All that is taken for interfaces on other networks. */
    held(): Readonly<Record<string, unknown>> {
        return {
            interfaces: this.table.list().map(({ record }) => record.ifName),
            ports: [...this.ports.values()].map(({ externalIds }) => externalIds.get("if-dev")),
            addresses: [...this.allocations.held.keys()],
            functions: [...this.taken.keys()],
        };
    }

    /** The warnings, with their reasons. */
    warnings(): readonly (readonly [string, unknown])[] {
        return this.log
            .filter(({ level }) => level === "warn")
            .map(({ message, fields }) => [message, fields["reason"]]);
    }

    /** All of it, for an agent that begins with `node`. */
    ofPods(node = this.node): NetworksOfPods {
        this.table = new NetworkInterfaces();
        return {
            table: this.table,
            ports: this.hasBridge ? this.#bridge(node) : undefined,
            functionLinks: this.#functionLinks(node),
            allocations: this.hasPools ? this.#allocations(node) : undefined,
            announce: ({ ofPort, mac, ips }) =>
                void this.announced.push(`${ofPort} ${mac} ${ips.map(formatIp).join(" ")}`),
            plan: () => node.steps.run("plan", () => this.plans),
            hashOf: () => "0123456789abcdef",
            planCall: (call) => node.steps.run("plan", () => this.#planOf(call)),
            report: ({ own, mtu, networks }) => {
                const texts = networks.map(({ record, dns }) => `${record.ifName} ${dns?.domain ?? "-"}`);
                this.reported.push([own.podName, mtu, ...texts].join(" "));
                return Promise.resolve();
            },
            failed: (_, error) => this.#failed(error),
        };
    }

    #begin(
        node: FakeNode,
    ): Pick<PodNetworkComponents, "further" | "planNetworks" | "networksHash" | "networksFailed" | "reportNetworks"> {
        const { podInterfaces, inside: namespaces, clock, netlink } = node;
        const logger = listLogger(this.log);
        const {
            table,
            ports,
            functionLinks: links,
            allocations: pools,
            announce,
            plan,
            hashOf,
            failed,
        } = this.ofPods(node);
        this.#single = undefined;
        const functions = new FunctionWiring(
            {
                table,
                podInterfaces,
                writeRecord: ({ record, ofPort }, signal) =>
                    node.steps.run(
                        "write record",
                        () => {
                            const externalIds = new Map(Object.entries(toExternalIds(record)));
                            node.stored.set(record.hostIfName, { name: record.hostIfName, ofPort, externalIds });
                        },
                        signal,
                    ),
                links,
                logger,
            },
            { namespaces },
        );
        const serviceCidrs = (): FakeNetworks["serviceCidrs"] => this.serviceCidrs;
        const parts = {
            table,
            podInterfaces,
            netlink,
            functions,
            ports,
            pools,
            announce,
            serviceCidrs,
            areServiceCidrsKnown: () => this.areServiceCidrsKnown,
            clock,
            logger,
        };
        const options = { bootId: testBootId, disableTxChecksumOffload: true, namespaces };
        this.further = new FurtherInterfaces(parts, options);
        return {
            further: this.further,
            planNetworks: plan,
            networksHash: hashOf,
            networksFailed: failed,
            reportNetworks: (own, planned) => {
                this.reported.push([own.podName, ...planned.map(({ ifName }) => ifName)].join(" "));
                return Promise.resolve();
            },
        };
    }

    #planOf({ ifName }: NetworkCall): PlannedNetwork {
        return this.plans.find((one) => one.ifName === ifName) ?? plannedNetwork(ifName, { pool: "100" });
    }

    #failed(error: unknown): Promise<void> {
        this.failed.push(error instanceof Error ? error.message : String(error));
        return Promise.resolve();
    }

    #bridge({ steps, links }: FakeNode): NetworkPorts {
        const { ports } = this;
        return {
            ports: () => [...ports.values()],
            ensurePorts: (wanted, signal) =>
                steps.run(
                    "ensure network ports",
                    () => {
                        for (const { name, vlan, externalIds } of wanted) {
                            const isThere = links.has(name);
                            const known = ports.get(name)?.ofPort ?? -1;
                            const ofPort = !isThere ? -1 : known > 0 ? known : this.#nextPort++;
                            const error = isThere ? undefined : "could not open network device";
                            ports.set(name, {
                                name,
                                ofPort,
                                error,
                                vlan,
                                externalIds: new Map(Object.entries(externalIds)),
                            });
                        }
                    },
                    signal,
                ),
            deletePorts: (names, signal) =>
                steps.run("delete network ports", () => names.forEach((name) => ports.delete(name)), signal),
            opened: (names, _, signal) =>
                steps.run(
                    "network ports opened",
                    () =>
                        names.map((name) => {
                            const port = ports.get(name);
                            if ((port?.ofPort ?? -1) > 0 && port !== undefined) return port;
                            const reason = `could not open network device ${name} (No such device)`;
                            throw new OvsBridgeError("PORT_REFUSED", "environment", `${name} is not opened`, {
                                details: { port: name, reason },
                            });
                        }),
                    signal,
                ),
        };
    }

    #allocations({ steps }: FakeNode): FurtherInterfacesComponents["pools"] {
        const { allocations } = this;
        return {
            claimForNetwork: (asked, signal) =>
                steps.run("claim network", () => allocations.claimForNetwork(asked, signal), signal),
            // Never rejects: what it cannot do, the reconcile of allocations does.
            release: (attachment) =>
                steps.run("release network", () => allocations.release(attachment)).catch(() => undefined),
            hasAllocations: (holder, ips) => allocations.hasAllocations(holder, ips),
            networkInterfacesOf: (containerId) => allocations.networkInterfacesOf(containerId),
            networkOf: () => this.networkOf,
            addressesFor: (attachment) => allocations.addressesFor(attachment),
        };
    }

    #functionLinks({ steps, inside, namespaces }: FakeNode): FunctionLinks {
        return {
            take: ({ netns, ifName, device: { id }, mtu }) =>
                steps.run("take function", () => {
                    if (inside.end(netns, ifName) !== undefined) return;
                    if (this.taken.has(id)) throw new NetlinkError("ENODEV", "environment", `${id} has no link`);
                    this.taken.set(id, netns);
                    inside.put({ netns, name: ifName, index: 7, host: undefined, mac: "", mtu });
                }),
            bringHome: ({ netns, ifName, device: { id } }) =>
                steps.run("bring function home", () => {
                    if (namespaces.has(netns)) inside.remove(netns, ifName);
                    this.taken.delete(id);
                }),
        };
    }
}
