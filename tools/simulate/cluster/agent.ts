/* eslint-disable @nx/enforce-module-boundaries -- what is simulated is the own code of the programs, which no library has */
import { type CniCmdArgs } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import { parsePrefix } from "@antrea/ip";
import { Informer, nodes as nodeResource, type EventInput, type Node } from "@antrea/kube";
import { Jobs, type Clock, type Logger } from "@antrea/runtime";
import { createCniBackend } from "../../../apps/agent/src/cni-backend.ts";
import { podsOf, podUidOf, slimNode } from "../../../apps/agent/src/cluster.ts";
import { CniCalls, type CniCommand } from "../../../apps/agent/src/cni-server/index.ts";
import { IpPools } from "../../../apps/agent/src/ip-pools/index.ts";
import {
    CheckError,
    HostRoutes,
    NodeSubnet,
    PodNetwork,
    PodReconciler,
} from "../../../apps/agent/src/pod-network/index.ts";
import { claimProblem, poolWiring } from "../../../apps/agent/src/pool-wiring.ts";
import { Readiness } from "../../../apps/agent/src/readiness.ts";
import { type Line } from "../api/line.ts";
import { LocalIo } from "../machine/io.ts";
import { type Machine } from "../machine/machine.ts";
import { MachineLinks } from "../machine/netlink.ts";
import { MachineFlows, MachinePorts } from "../machine/ovs.ts";
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
}

const resyncMs = 60_000;
const callLimitMs = 60_000;
const claimsSoonMs = 3_000;

/** One start of antrea-agent, as compose.ts of the agent puts it together, on a simulated Node. */
export class Agent {
    readonly pools: IpPools;
    readonly network: PodNetwork;
    readonly #components: AgentComponents;
    readonly #io: LocalIo;
    readonly #stop = new AbortController();
    readonly #calls: CniCalls;
    #isKilled = false;
    /** Rejects when the process is killed: the connections of its callers break. */
    readonly #died = Promise.withResolvers<never>();
    /** The CNI socket is there. */
    #serves = false;

    constructor(components: AgentComponents) {
        const { machine, line, time, clock, random, logger, record } = components;
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
            { nodeName: machine.name },
        );
        const netlink = MachineLinks.of(machine, io);
        const ports = new MachinePorts(machine, io);
        const flowTable = new MachineFlows(machine, io);
        const podPrefixes = [parsePrefix(machine.podCidr)];
        const subnet = new NodeSubnet(
            podPrefixes,
            (size) => BigInt(random.below(Number(size))),
            (ip) => this.pools.isClaimed(ip),
        );
        const hostRoutes = new HostRoutes({ netlink }, { gatewayName: "antrea-gw0", bridged: false });
        const { bootId } = machine;
        this.network = new PodNetwork(
            { ports, flowTable, netlink, subnet, hostRoutes, pools: this.pools, bridging: undefined, logger },
            {
                ...{ mtu: 1450, disableTxChecksumOffload: false, bootId, now: () => time.now },
                gatewayMac: () => Uint8Array.of(2, 0, 0, 0, 0, 1),
            },
        );
        const reconciler = new PodReconciler(
            {
                ...{ network: this.network, netlink, subnet, hostRoutes, ports, logger: logger.child("reconcile") },
                poolOf: (ip) => this.pools.poolOf(ip),
                pods: (limit) => podsOf(api, machine.name, limit),
            },
            { bootId, podPrefixes },
        );
        const readiness = new Readiness({ records: "the Pod interfaces of this Node are not rebuilt" });
        let built = false;
        const backend = createCniBackend({
            readiness,
            network: () => (built ? this.network : undefined),
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
            await io.call(() => (this.#serves = true), { lowMs: 20, highMs: 500 });
            await reconciler.rebuild(signal);
            await flowTable.replay();
            built = true;
            await reconciler.restoreAll(signal);
            await flowTable.deleteEarlier();
            backend.networkBuilt();
            const jobs = new Jobs({ logger: logger.child("jobs"), clock });
            jobs.every("ovs", resyncMs, (limit) => reconciler.reconcile(limit));
            const wiring = poolWiring(this.network, netlink);
            const claims = jobs.every("claims", resyncMs, (limit) => this.pools.reconcile(wiring, limit));
            this.pools.own.onGone(() => claims.trigger());
            jobs.start(signal);
            await reconciler.holdKnownAddresses(signal);
            await this.pools
                .guard(podPrefixes, AbortSignal.any([signal, AbortSignal.timeout(claimsSoonMs)]))
                .catch(() => undefined);
            readiness.met("records");
        };
        start().catch((error: unknown) => {
            if (!this.#isKilled) logger.error("the agent could not start", { error });
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
