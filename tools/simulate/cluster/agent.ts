import { type Clock } from "@antrea/async";
import { type CniCmdArgs } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import { bridgingTables, nodeTables, Pipeline } from "@antrea/flows";
import { parseIp, type Prefix } from "@antrea/ip";
import { Informer, nodes as nodeResource, type EventInput, type Node } from "@antrea/kube";
import { type Address, type Link, type Netlink } from "@antrea/netlink";
import { Jobs, type Job, type Logger } from "@antrea/runtime";
import { BridgedPods } from "@antrea/agent/features/bridging/bridged-pods";
import { createCniBackend } from "@antrea/agent/compose/cni-backend";
import { podsOf } from "@antrea/agent/features/pod-network/node-pods";
import { changesPodCidrs, slimNode } from "@antrea/agent/platform/node/slim-node";
import { podUidOf } from "@antrea/agent/platform/pod-object";
import { CniCalls, type CniCommand } from "@antrea/agent/features/cni-server";
import { IpPools } from "@antrea/agent/features/ip-pools";
import {
    awaitOwnNode,
    followOwnNode,
    OwnSubnet,
    parseGoneAt,
    parseRemembered,
    rememberedAfter,
    type NodeConfig,
} from "@antrea/agent/platform/node/config";
import { type NodeObject } from "@antrea/agent/platform/node/node-object";
import { CheckError, HostRoutes, NodeSubnet, PodNetwork, PodReconciler } from "@antrea/agent/features/pod-network";
import {
    claimProblem,
    guardedPrefixes,
    poolWiring,
    recordClaims,
    subnetWiring,
} from "@antrea/agent/compose/pool-wiring";
import { Readiness } from "@antrea/agent/platform/readiness";
import { RefusedToken } from "@antrea/agent/platform/refused-token";
import { type Line } from "../api/line.ts";
import { LocalIo } from "../machine/io.ts";
import { type Machine } from "../machine/machine.ts";
import { MachineLinks } from "../machine/netlink.ts";
import { MachineFlows, MachinePorts } from "../machine/ovs.ts";
import { namespacesOf } from "../machine/pod-end.ts";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { noMetrics } from "./quiet.ts";

export interface AgentComponents {
    readonly machine: Machine;
    readonly line: Line;
    readonly time: VirtualTime;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
    readonly record: (event: EventInput) => void;
    /** Bridging mode. */
    readonly isBridged: boolean;
    /** The process ends by itself, to be started again. */
    readonly exit: () => void;
}

const resyncMs = 60_000;
const ownNodeLookMs = 5_000;
const tokenLookMs = 5_000;
const callLimitMs = 60_000;
const claimsSoonMs = 3_000;
const claimsJob = { timeoutMs: 600_000, backoff: { initialMs: 1_000, maxMs: 10_000 } };

/** One start of antrea-agent, as compose.ts of the agent puts it together, on a simulated Node. */
export class Agent {
    readonly pools: IpPools;
    readonly #components: AgentComponents;
    readonly #io: LocalIo;
    readonly #stop = new AbortController();
    readonly #calls: CniCalls;
    readonly #token: RefusedToken;
    readonly #readiness: Readiness = new Readiness({
        node: "the Node's podCIDRs are not known",
        records: "the Pod interfaces of this Node are not rebuilt",
    });
    #isKilled = false;
    /** Rejects when the process is killed: the connections of its callers break. */
    readonly #died = Promise.withResolvers<never>();
    /** The CNI socket is there. */
    #serves = false;
    #flowTable: MachineFlows | undefined;
    #ovsJob: Job | undefined;

    constructor(components: AgentComponents) {
        const { machine, line, time, clock, random, logger, record, isBridged, exit } = components;
        this.#components = components;
        this.#io = new LocalIo(time, random);
        const io = this.#io;
        const { api } = line;
        const nodes = new Informer<Node>(
            { api, clock, logger: logger.child("nodes") },
            { resource: nodeResource, transform: slimNode },
        );
        this.pools = new IpPools(
            { api, nodes, clock, record, metrics: noMetrics, random: random.next, logger: logger.child("ip-pools") },
            { nodeName: machine.name, bridged: isBridged },
        );
        const token = new RefusedToken({ api, clock, logger: logger.child("kube"), metrics: noMetrics });
        this.#token = token;
        this.#lookAtToken();
        const readiness = this.#readiness;
        let network: PodNetwork | undefined;
        const backend = createCniBackend({
            readiness,
            network: () => network,
            netnsPath: (path) => path,
            networkName: "antrea",
            isNodeNetns: () => false,
            podUid: (namespace, name) => podUidOf(api, namespace, name),
            check: async ({ record }) => {
                const problem = await claimProblem(this.pools, record);
                if (problem !== undefined) throw new CheckError("CLAIM", "environment", problem);
            },
        });
        this.#calls = new CniCalls({
            backend,
            logger: logger.child("cni"),
            observe: () => undefined,
            now: () => time.now,
        });
        this.#died.promise.catch(() => undefined);
        const { signal } = this.#stop;
        const start = async (): Promise<void> => {
            nodes.start(signal);
            this.pools.start(signal);
            await machine.ovs(signal);
            await io.call(() => (this.#serves = true), { lowMs: 20, highMs: 500 });
            const fail = (error: unknown): void => {
                logger.warn("the agent ends", { error });
                exit();
            };
            const node = await this.#ownNode(nodes, logger, fail);
            const { podPrefixes } = node;
            const ownSubnet = new OwnSubnet({ api, nodes, clock, fail, logger }, node);
            const built = this.#build(podPrefixes, () => ownSubnet.confirm());
            this.#flowTable = built.flowTable;
            const { reconciler, flowTable } = built;
            await reconciler.rebuild(signal);
            await flowTable.replay(signal);
            network = built.network;
            await reconciler.restoreAll(signal);
            await flowTable.deleteEarlier(signal);
            backend.networkBuilt();
            const jobs = new Jobs({ logger: logger.child("jobs"), clock });
            this.#ovsJob = jobs.every("ovs", resyncMs, (limit) => reconciler.reconcile(limit));
            const wiring = poolWiring(built.network, built.netlink);
            const claims = jobs.every("claims", resyncMs, (limit) => this.pools.reconcile(wiring, limit), claimsJob);
            this.pools.onReconcileDue(() => claims.trigger());
            const ofSubnet = subnetWiring(built.network, built.netlink);
            const look = (limit: AbortSignal): Promise<void> => this.pools.lookAtSubnets(ofSubnet, limit);
            const subnetClaims = jobs.every("subnet-claims", resyncMs, look);
            this.pools.onSubnetClaim(() => subnetClaims.trigger());
            jobs.every("own-node", ownNodeLookMs, (limit) => this.pools.lookAtOwnNode(wiring, limit));
            nodes.onChange((type, name, node, old) => {
                const hasOtherPodCidrs = changesPodCidrs(type, node, old);
                if (hasOtherPodCidrs || (type === "added" && name === machine.name)) claims.trigger();
                if (hasOtherPodCidrs) subnetClaims.trigger();
            });
            jobs.start(signal);
            await reconciler.holdKnownAddresses(signal);
            await this.pools
                .guard(
                    guardedPrefixes(podPrefixes, built.network, built.subnet),
                    AbortSignal.any([signal, AbortSignal.timeout(claimsSoonMs)]),
                )
                .catch(() => undefined);
            readiness.met("records");
        };
        start().catch((error: unknown) => {
            if (this.#isKilled) return;
            logger.error("the agent could not start", { error });
            exit();
        });
    }

    /** Waits until the Node has podCIDRs, or takes what is remembered; other ones later end this start. */
    async #ownNode(nodes: Informer<Node>, logger: Logger, fail: (error: unknown) => void): Promise<NodeConfig> {
        const { machine, clock } = this.#components;
        const { signal } = this.#stop;
        const goneAt = parseGoneAt(machine.remembered, machine.name);
        const remembered = (): NodeObject | undefined => parseRemembered(machine.remembered, machine.name);
        const uplink = { index: 2, name: "eth0" } as Link;
        const netlink = {
            links: () => Promise.resolve([uplink]),
            addresses: () => Promise.resolve([{ index: 2, ip: parseIp(machine.address) } as Address]),
        };
        const config = {
            hostGateway: "antrea-gw0",
            ovsBridge: "br-int",
            transportInterface: "",
            transportInterfaceCIDRs: [],
        };
        const node = await awaitOwnNode(
            { nodes, remembered, netlink, logger },
            { nodeName: machine.name, config },
            signal,
        );
        if (goneAt !== undefined) this.pools.recallGone(goneAt);
        const look = followOwnNode({ nodes, goneAt, readiness: this.#readiness, fail, logger }, node);
        void nodes.synced(signal).then(look, () => undefined);
        const remember = (): void => {
            const own = nodes.list().find(({ metadata }) => metadata?.name === machine.name);
            const goneAt = this.pools.nodeGoneAt ?? clock.now();
            machine.remembered = rememberedAfter(machine.remembered, own, { nodeName: machine.name, goneAt });
        };
        nodes.onChange((_type, name) => {
            if (name === machine.name) remember();
        });
        void nodes.synced(signal).then(remember, () => undefined);
        return node;
    }

    #build(
        podPrefixes: readonly Prefix[],
        confirmSubnet: () => Promise<void>,
    ): {
        readonly network: PodNetwork;
        readonly reconciler: PodReconciler;
        readonly flowTable: MachineFlows;
        readonly netlink: Netlink;
        readonly subnet: NodeSubnet;
    } {
        const { machine, time, clock, random, logger, line, isBridged } = this.#components;
        const { bootId } = machine;
        const netlink = MachineLinks.of(machine, this.#io);
        const ports = new MachinePorts(machine, this.#io);
        const flowTable = new MachineFlows(machine, this.#io);
        const subnet = new NodeSubnet(
            podPrefixes,
            (size) => BigInt(random.below(Number(size))),
            (ip) => this.pools.isClaimed(ip),
        );
        const hostRoutes = new HostRoutes(
            { netlink, logger, clock },
            { gatewayName: "antrea-gw0", bridged: isBridged },
        );
        const announcer = { announce: () => undefined };
        const next = new Pipeline([...nodeTables, ...bridgingTables]);
        const bridged = new BridgedPods({ flowTable, next, announcer, hostMac: () => Uint8Array.of(2, 0, 0, 0, 0, 2) });
        const bridging = isBridged ? Object.assign(bridged, { announce: () => undefined }) : undefined;
        const network = new PodNetwork(
            { ports, flowTable, next, netlink, subnet, hostRoutes, pools: this.pools, confirmSubnet, bridging, logger },
            {
                mtu: 1450,
                disableTxChecksumOffload: false,
                bootId,
                now: () => time.now,
                gatewayMac: () => Uint8Array.of(2, 0, 0, 0, 0, 1),
                namespaces: namespacesOf(machine),
            },
        );
        const reconciler = new PodReconciler(
            {
                network,
                netlink,
                subnet,
                hostRoutes,
                ports,
                logger: logger.child("reconcile"),
                poolOf: (ip) => this.pools.poolOf(ip),
                claims: recordClaims(this.pools),
                pods: (limit) => podsOf(line.api, machine.name, limit),
            },
            { bootId, podPrefixes },
        );
        return { network, reconciler, flowTable, netlink, subnet };
    }

    /** OVS answers again, with what it still has. */
    ovsIsBack(): void {
        if (this.#isKilled) return;
        void this.#flowTable?.replay(this.#stop.signal).catch(() => undefined);
        this.#ovsJob?.trigger();
    }

    /** What it answers a CNI STATUS. */
    get isReady(): boolean {
        return !this.#isKilled && this.#readiness.missing() === undefined;
    }

    /** Why /readyz fails because of its token. */
    get tokenProblem(): string | undefined {
        return this.#token.problem;
    }

    #lookAtToken(): void {
        this.#components.time.after(tokenLookMs, () => {
            if (this.#isKilled) return;
            this.#token.look();
            this.#lookAtToken();
        });
    }

    get isKilled(): boolean {
        return this.#isKilled;
    }

    /** kill -9. */
    kill(): void {
        this.#isKilled = true;
        this.#components.line.kill();
        this.#io.kill();
        // What it did is over; ending its loops only spares work.
        this.#stop.abort();
        this.#died.reject(new AgentAway());
    }

    /** One CNI call by the shim: what comes back, or never anything if the agent is killed meanwhile. */
    async call(command: CniCommand, args: CniCmdArgs, cancelled: AbortSignal): Promise<Uint8Array> {
        if (this.#isKilled || !this.#serves) throw new AgentAway();
        const limit = AbortSignal.any([cancelled, AbortSignal.timeout(callLimitMs)]);
        return Promise.race([this.#calls.call(command, args, limit), this.#died.promise]);
    }
}

/** Nobody listens on the CNI socket. */
export class AgentAway extends AntreaError<"AGENT_AWAY"> {
    constructor() {
        super("AGENT_AWAY", "environment", "nobody listens on the CNI socket");
    }
}
