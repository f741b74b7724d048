import { settleAll } from "@antrea/async";
import { bridgedPeerFlows, tunnelPeerFlows, type FlowSet } from "@antrea/flows";
import { formatIp, formatMac, formatPrefix } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { NodeObject } from "../../platform/node/node-object.ts";
import { KernelWays, sameWay, type Links } from "./kernel-ways.ts";
import { waysToPeers, type OwnPods, type PeerWay, type Underlay } from "./ways.ts";

/** The desired flows by owner. */
export interface PeerFlowTable {
    stage(owner: string, flows: FlowSet): void;
    set(owner: string, flows: FlowSet, signal?: AbortSignal): Promise<void>;
    remove(owner: string, signal?: AbortSignal): Promise<void>;
}

export interface PeersComponents {
    readonly netlink: Netlink;
    readonly flowTable: PeerFlowTable;
    readonly logger: Logger;
    readonly nodes: () => readonly NodeObject[];
    readonly underlay: () => Underlay;
    /** The link to the other Nodes. */
    readonly transportIndex: () => number;
    readonly gatewayMac: () => Uint8Array;
}

export interface PeersOptions extends OwnPods {
    readonly gatewayName: string;
}

/**
 * Keeps the ways to the Pods of the other Nodes: a flow into the tunnel and a route to the gateway, or a route to the
 * Node. What changed is written and nothing else; routes without our mark are never touched.
 */
export class Peers {
    readonly #components: PeersComponents;
    readonly #options: PeersOptions;
    readonly #kernel: KernelWays;
    /** What is in place, by podCIDR. */
    #ways = new Map<string, PeerWay>();
    /** Of these Nodes flows are in the table, in the form of the ways they were made of. */
    readonly #flows = new Map<string, string>();
    #links: Links | undefined;
    #problems = "";
    #ignored = "";

    constructor(components: PeersComponents, options: PeersOptions) {
        this.#components = components;
        this.#options = options;
        this.#kernel = new KernelWays(components);
    }

    /** Hands the flows to all Nodes to the table before the first replay, which brings them into OVS. */
    stage(): void {
        const { ways } = this.#wanted();
        for (const [node, ofNode] of flowWaysByNode(ways)) {
            this.#components.flowTable.stage(ownerOf(node), this.#flowsOf(ofNode));
            this.#flows.set(node, textOf(ofNode));
        }
    }

    /** Brings what changed since the last call into OVS and into the kernel, without a look at what is there. */
    async update(signal?: AbortSignal): Promise<void> {
        const links = await this.#currentLinks();
        if (this.#links === undefined || !sameLinks(this.#links, links)) return this.reconcile(signal);
        const { ways, problems, ignored } = this.#wanted();
        const wanted = byPodCidr(ways);
        const changed = [...wanted].flatMap(([key, way]) => {
            const before = this.#ways.get(key);
            return sameWay(before, way) ? [] : [{ way, before }];
        });
        const gone = this.#goneFrom(wanted);
        await this.#setFlows(ways, signal);
        const refused = await this.#kernel.set(changed, links);
        await this.#kernel.remove(gone, links);
        this.#ways = withoutRefused(wanted, refused);
        this.#tell(
            changed.map(({ way }) => way).filter(({ node }) => !refused.some((one) => one.node === node)),
            gone,
            { problems: [...problems, ...refused], ignored },
        );
    }

    /** The same after a look at what the kernel has; puts right what somebody else changed, or an earlier agent left. */
    async reconcile(signal?: AbortSignal): Promise<void> {
        const links = await this.#currentLinks();
        const { ways, problems, ignored } = this.#wanted();
        const { missing, stale, staleNeighbours } = await this.#kernel.compare(ways, links);
        await this.#setFlows(ways, signal);
        // A changed gateway takes the place of the old one of IPv4; of IPv6 the old one must go before.
        const wanted = byPodCidr(ways);
        const superfluous = stale.filter(({ family, dst }) => family === 6 || !wanted.has(formatPrefix(dst)));
        await this.#kernel.removeStale(superfluous, staleNeighbours, links.gateway);
        const added = missing.map((way) => ({ way, before: undefined }));
        const refused = await this.#kernel.set(added, links);
        const gone = this.#goneFrom(wanted);
        this.#ways = withoutRefused(wanted, refused);
        this.#links = links;
        const set = missing.filter(({ node }) => !refused.some((one) => one.node === node));
        this.#tell(set, gone, { problems: [...problems, ...refused], ignored });
    }

    #wanted(): ReturnType<typeof waysToPeers> {
        const { nodes, underlay } = this.#components;
        return waysToPeers(this.#options, nodes(), underlay());
    }

    /** The ways in place that are not wanted any more. */
    #goneFrom(wanted: ReadonlyMap<string, PeerWay>): readonly PeerWay[] {
        return [...this.#ways].flatMap(([key, way]) => (wanted.has(key) ? [] : [way]));
    }

    async #currentLinks(): Promise<Links> {
        const gateway = await this.#components.netlink.link(this.#options.gatewayName);
        return { transport: this.#components.transportIndex(), gateway: gateway?.index };
    }

    /** Before the kernel's routes: what these bring into OVS must find its way on. */
    async #setFlows(ways: readonly PeerWay[], signal: AbortSignal | undefined): Promise<void> {
        const { flowTable } = this.#components;
        const nodes = flowWaysByNode(ways);
        const work: Promise<void>[] = [];
        for (const [node, ofNode] of nodes) {
            const text = textOf(ofNode);
            if (this.#flows.get(node) === text) continue;
            const done = flowTable.set(ownerOf(node), this.#flowsOf(ofNode), signal);
            work.push(done.then(() => void this.#flows.set(node, text)));
        }
        for (const node of this.#flows.keys()) {
            if (nodes.has(node)) continue;
            work.push(flowTable.remove(ownerOf(node), signal).then(() => void this.#flows.delete(node)));
        }
        await settleAll(work);
    }

    #flowsOf(ways: readonly [PeerWay, ...PeerWay[]]): FlowSet {
        const [{ remote, mac }] = ways;
        const podPrefixes = ways.map(({ dst }) => dst);
        if (mac !== undefined) return bridgedPeerFlows({ podPrefixes, mac });
        return tunnelPeerFlows({ podPrefixes, remote, gatewayMac: this.#components.gatewayMac() });
    }

    #tell(
        set: readonly PeerWay[],
        gone: readonly PeerWay[],
        { problems, ignored }: Pick<ReturnType<typeof waysToPeers>, "problems" | "ignored">,
    ): void {
        const { logger } = this.#components;
        for (const { node, podCidr, kind, remote } of set) {
            logger.info("way to the Pods of a Node set", {
                node,
                podCIDR: podCidr,
                kind,
                via: formatIp(remote),
            });
        }
        for (const { node, podCidr } of gone)
            logger.info("way to the Pods of a Node removed", { node, podCIDR: podCidr });
        const [unreached, unheard] = [textOfProblems(problems), textOfProblems(ignored)];
        if (unreached !== "" && unreached !== this.#problems)
            logger.warn("Nodes whose Pods cannot be reached", { problems: unreached });
        if (unheard !== "" && unheard !== this.#ignored)
            logger.warn("what Nodes announce is ignored; bridged Pods reach their Pods by the underlay's router", {
                problems: unheard,
            });
        this.#problems = unreached;
        this.#ignored = unheard;
    }
}

function textOfProblems(problems: ReturnType<typeof waysToPeers>["problems"]): string {
    return problems.map(({ node, problem }) => `${node}: ${problem}`).join("; ");
}

function ownerOf(node: string): string {
    return `peer/${node}`;
}

function byPodCidr(ways: readonly PeerWay[]): Map<string, PeerWay> {
    return new Map(ways.map((way) => [way.podCidr, way]));
}

/** What the kernel refused is not in place, and so is tried again. */
function withoutRefused(
    ways: ReadonlyMap<string, PeerWay>,
    refused: readonly { readonly node: string }[],
): Map<string, PeerWay> {
    return new Map([...ways].filter(([, { node }]) => !refused.some((one) => one.node === node)));
}

/** The ways that take flows: tunnels, of one Node all to one address, and those of bridged Pods to one MAC address. */
function flowWaysByNode(ways: readonly PeerWay[]): Map<string, [PeerWay, ...PeerWay[]]> {
    const nodes = new Map<string, [PeerWay, ...PeerWay[]]>();
    for (const way of ways) {
        if (way.kind !== "tunnel" && way.mac === undefined) continue;
        const known = nodes.get(way.node);
        if (known === undefined) nodes.set(way.node, [way]);
        else known.push(way);
    }
    return nodes;
}

function textOf(ways: readonly PeerWay[]): string {
    return ways.map(({ podCidr, remote, mac }) => `${podCidr} ${remote.value} ${mac && formatMac(mac)}`).join();
}

function sameLinks(one: Links, other: Links): boolean {
    return one.transport === other.transport && one.gateway === other.gateway;
}
