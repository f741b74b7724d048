/* eslint-disable @nx/enforce-module-boundaries -- what is simulated is the own code of the programs, which no library has */
import { type Clock } from "@antrea/async";
import { parsePrefix, type Prefix } from "@antrea/ip";
import { Informer, LeaderElection, nodes as nodeResource, type EventInput, type Node } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { ClaimBook, ClaimWriter, reclaimMetrics } from "../../../apps/controller/src/claims/index.ts";
import { ClaimCleaner } from "../../../apps/controller/src/claim-cleaner/index.ts";
import { IpPools } from "../../../apps/controller/src/ip-pools/index.ts";
import { leadership } from "../../../apps/controller/src/leadership.ts";
import { slimNode } from "../../../apps/controller/src/nodes.ts";
import { PoolBook } from "../../../apps/controller/src/pools/index.ts";
import { Reservations, SetBook } from "../../../apps/controller/src/reservations/index.ts";
import { NodeIpam, PoolAddresses, type NodeIpamSettings } from "../../../apps/controller/src/node-ipam/index.ts";
import { type Line } from "../api/line.ts";
import { noMetrics } from "./quiet.ts";

export interface ControllerComponents {
    readonly line: Line;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly record: (event: EventInput) => void;
}

export interface ControllerOptions {
    readonly identity: string;
    /** `ipam.cleanInterval`. */
    readonly intervalMs: number;
    readonly withoutCleaner?: boolean | undefined;
    readonly withoutPoolAddresses?: boolean | undefined;
    /** How long subnets of Nodes that are gone rest; default 1 min. */
    readonly coolingMs?: number;
}

export const clusterCidr = "10.50.0.0/22";

/** Few subnets: Nodes come, go and wait for one. */
const nodeSubnets: NodeIpamSettings = {
    clusters: [{ prefix: parsePrefix(clusterCidr), nodeMaskSize: 24 }],
    serviceCidrs: [parsePrefix("10.96.0.0/16")],
};

/** The subnets that Nodes can have. */
export const nodePrefixes: readonly Prefix[] = [0, 1, 2, 3].map((at) => parsePrefix(`10.50.${at}.0/24`));

/** One start of antrea-controller with the gate AntreaIPAM and NodeIPAM, as its compose.ts puts it together. */
export class Controller {
    readonly #line: Line;
    readonly #stop = new AbortController();
    readonly #election: LeaderElection;

    constructor(
        { line, clock, logger, record }: ControllerComponents,
        { identity, intervalMs, withoutCleaner = false, withoutPoolAddresses, coolingMs = 60_000 }: ControllerOptions,
    ) {
        this.#line = line;
        const { api } = line;
        const { signal } = this.#stop;
        const nodes = new Informer<Node>(
            { api, clock, logger: logger.child("nodes") },
            { resource: nodeResource, transform: slimNode },
        );
        const claims = new ClaimBook({ api, clock, logger: logger.child("claims") });
        const pools = new PoolBook({ api, nodes, clock, logger: logger.child("ip-pools") });
        const sets = new SetBook({ api, clock, logger: logger.child("stateful-sets") });
        const writer = new ClaimWriter({ api });
        const reclaims = reclaimMetrics(noMetrics);
        const recorder = { record };
        const common = { api, nodes, recorder, metrics: noMetrics, clock };
        const shared = { ...common, claims, pools, sets, writer, reclaims };
        const ipPools = new IpPools({ ...shared, logger: logger.child("ip-pools") }, { intervalMs });
        this.#election = new LeaderElection(
            { api, clock, logger: logger.child("leader-election") },
            { namespace: "kube-system", name: "antrea-controller", identity },
        );
        const cleaner = (): ClaimCleaner =>
            new ClaimCleaner({ ...shared, logger: logger.child("claim-cleaner") }, { intervalMs });
        const poolAddresses =
            withoutPoolAddresses === true
                ? undefined
                : new PoolAddresses({ api, pools, claims, clock, logger: logger.child("node-ipam") });
        const nodeIpam = new NodeIpam(
            { ...common, poolAddresses, logger: logger.child("node-ipam") },
            { settings: { ...nodeSubnets, coolingMs }, namespace: "kube-system", identity },
        );
        const part = leadership({ election: this.#election, metrics: noMetrics }, [
            (term) => nodeIpam.lead(term),
            (term) => ipPools.tell(term),
            (term) => ipPools.hold(term),
            (term) => new Reservations({ ...shared, logger: logger.child("reservations") }, { intervalMs }).run(term),
            ...(withoutCleaner ? [] : [(term: AbortSignal) => cleaner().run(term)]),
        ]);
        nodes.start(signal);
        for (const book of [claims, pools, sets]) void book.part.start?.(signal);
        void part.start?.(signal);
        signal.addEventListener("abort", () => void part.stop?.(), { once: true });
    }

    get leads(): boolean {
        return this.#election.leading && !this.#line.isDead;
    }

    /** kill -9. */
    kill(): void {
        this.#line.kill();
        this.#stop.abort();
    }
}
