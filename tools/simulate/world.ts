import { formatIp, parsePrefix, type Prefix } from "@antrea/ip";
import { type ApiClient, type EventInput, type Node } from "@antrea/kube";
import { type RequestFaults, type WatchFaults, noFaults, noWatchFaults } from "./api/faults.ts";
import { FlowControl } from "./api/flow-control.ts";
import { Line } from "./api/line.ts";
import { shapeByChance } from "./api/priority-levels.ts";
import { Refusal } from "./api/answer.ts";
import { agentUser, checkPolicies, controllerUser, webhookUser, type User, type Write } from "./api/rules.ts";
import { ApiServer, kindOf, type ApiRequest } from "./api/server.ts";
import { type Change } from "./api/store.ts";
import { Checks } from "./check/checks.ts";
import { Counters } from "./check/counters.ts";
import { Truth, type Container } from "./check/truth.ts";
import { Agent } from "./cluster/agent.ts";
import { clusterCidr, Controller } from "./cluster/controller.ts";
import { Kubelet } from "./cluster/kubelet.ts";
import { noRuntimeFaults, type RuntimeFaults } from "./cluster/runtime-faults.ts";
import { NamespaceEnds } from "./cluster/namespaces.ts";
import { historyLogger } from "./cluster/quiet.ts";
import { Webhook } from "./cluster/webhook.ts";
import { Workloads } from "./cluster/workloads.ts";
import { Machine } from "./machine/machine.ts";
import { Random } from "./time/random.ts";
import { VirtualTime } from "./time/virtual-time.ts";
import { type Replica, type Station } from "./station.ts";

export type { Replica, Station } from "./station.ts";

export interface WorldOptions {
    readonly seed: number;
    /** Called with each line of the history. Default: no history. */
    readonly tell?: ((line: string) => void) | undefined;
    /** Changes a part of the product, to test whether that is found. */
    readonly plant?: Plant | undefined;
}

/** A seeded bug. */
export interface Plant {
    /** Called with each start of an agent. */
    readonly agent?: (agent: Agent, world: World, station: Station) => void;
    /** Called with the cluster before it is started. */
    readonly world?: (world: World) => void;
    /** Called with each start of a controller and its API client. */
    readonly controller?: (api: ApiClient, world: World) => void;
    /** Replaces parts of the product until disposed of; called before the start. */
    readonly product?: () => Disposable;
    /** Subnets of deleted Nodes are never released. */
    readonly keepsSubnets?: boolean;
    /** Called with each start of the webhook and its API client. */
    readonly webhook?: (api: ApiClient) => void;
}

const claimKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const nodeKind = kindOf("v1", "nodes");
const reviewMs = { ippools: 5_000, others: 2_000 } as const;
const restartMs = 1_000;

/** A cluster in one process: API server, Nodes, Antrea's programs and their environment. */
export class World {
    readonly time: VirtualTime = new VirtualTime();
    readonly random: Random;
    readonly server: ApiServer;
    readonly flows: FlowControl;
    readonly truth: Truth = new Truth({
        isClaimed: (name, container) => this.#isClaimed(name, container),
        isForeign: (name, node) => this.checks.foreignSubnets.holderOf(name, node) !== undefined,
        isUnheard: (node) => this.checks.goneNodes.isUnheard(node),
        mayReturn: (name, container) => this.checks.forcedClaims.mayReturn(name, container),
    });
    readonly checks: Checks;
    /** All agents are in bridging mode. */
    readonly isBridged: boolean;
    readonly counters: Counters = new Counters();
    readonly stations: Station[] = [];
    readonly controllers: readonly Replica<Controller>[];
    readonly webhooks: readonly Replica<Webhook>[];
    readonly workloads: Workloads;
    requests: RequestFaults = noFaults;
    watches: WatchFaults = noWatchFaults;
    runtime: RuntimeFaults = noRuntimeFaults;
    /** The webhooks are configured in the API server. */
    hasWebhooks = true;
    /** Other clients fill the queues of Antrea's priority levels. */
    isFlooded = false;
    steps = 0;
    readonly #seed: number;
    readonly #tell: ((line: string) => void) | undefined;
    readonly #plant: Plant;
    readonly #namespaceEnds: NamespaceEnds;
    /** The webhook's configuration of Node subnets. */
    readonly #clusterCidrs: readonly Prefix[];
    readonly #replaced: Disposable | undefined;
    #starts = 0;

    constructor({ seed, tell, plant = {} }: WorldOptions) {
        this.#seed = seed;
        this.#tell = tell;
        this.#plant = plant;
        this.random = new Random(seed, 1);
        this.server = new ApiServer(this.time, new Random(seed, 2));
        const { store } = this.server;
        this.flows = new FlowControl(
            { time: this.time, random: new Random(seed, 9), counters: this.counters, store },
            shapeByChance(new Random(seed, 10)),
        );
        const cluster = new Random(seed, 4);
        this.isBridged = cluster.chance(0.4);
        this.#clusterCidrs = cluster.chance(0.5) ? [parsePrefix(clusterCidr)] : [];
        this.counters.count(this.isBridged ? "cluster.bridged" : "cluster.routed");
        const startsOfControllers = (): readonly number[] =>
            this.controllers.flatMap(({ process, startedAt }) => (process ? [startedAt] : []));
        this.checks = new Checks(
            {
                truth: this.truth,
                store: this.server.store,
                time: this.time,
                startsOfControllers,
                isClaimed: (name, container) => this.#isClaimed(name, container),
                hearing: (node) => this.#hearing(node),
                namesPool: (name, { id, node }) => this.station(node)?.machine.namesPool(id, name) === true,
                databasesOf: (node) => this.station(node)?.machine.databases ?? 0,
                containersOf: (node, uid) =>
                    [...(this.station(node)?.machine.netns.values() ?? [])].flatMap(({ container }) =>
                        container.podUid === uid ? [container.id] : [],
                    ),
            },
            { isBridged: this.isBridged },
        );
        this.workloads = new Workloads({
            server: this.server,
            time: this.time,
            random: new Random(seed, 3),
            isSchedulable: (node) => this.#isReady(node),
        });
        this.#namespaceEnds = new NamespaceEnds({ server: this.server, time: this.time, random: new Random(seed, 5) });
        this.server.policies = checkPolicies;
        this.server.admission = (write) => this.#review(write);
        this.server.store.onChange((change) => this.#changed(change));
        const replica = (name: string) => ({ name, process: undefined, line: undefined, skewMs: 0, startedAt: 0 });
        this.controllers = [replica("controller-0"), replica("controller-1")];
        this.webhooks = [replica("webhook-0")];
        plant.world?.(this);
        this.#replaced = plant.product?.();
    }

    station(name: string): Station | undefined {
        return this.stations.find(({ machine }) => machine.name === name);
    }

    readonly step = (what: () => string): void => {
        this.steps += 1;
        this.say(what);
    };

    readonly say = (what: () => string): void => {
        this.#tell?.(`${(this.time.now / 1000).toFixed(3).padStart(9)} ${what()}`);
    };

    /** A request of a user or program without faults. */
    async request(request: ApiRequest, user: User = { name: "user" }): Promise<unknown> {
        const { status, body } = await this.server.handle(request, user);
        this.step(
            () =>
                `${user.name}: ${request.method} ${request.path} ${request.body ?? ""} -> ${status}${status < 300 ? "" : ` ${body}`}`,
        );
        return status < 300 ? (JSON.parse(body) as unknown) : undefined;
    }

    addStation(name: string, at: number): Station {
        const machine = new Machine(this.truth, {
            name,
            address: `192.168.0.${10 + at}`,
            wired: (container, setUp, vlan) => this.checks.wirings.wired(container, setUp, vlan),
        });
        const kubelet = new Kubelet({
            machine,
            store: this.server.store,
            truth: this.truth,
            time: this.time,
            answered: this.#answered,
            random: new Random(this.#seed, 100 + at),
            counters: this.counters,
            step: this.step,
            line: () => station.kubeletLine,
            agent: () => (station.agent?.isKilled === true ? undefined : station.agent),
            faults: () => this.runtime,
            isCut: () => station.isCut || station.isKubeletCut,
        });
        const kubeletLine = this.#line(`kubelet-${name}`, { name: `system:node:${name}` }, () => 0);
        const station: Station = {
            machine,
            kubelet,
            kubeletLine,
            agent: undefined,
            agentLine: undefined,
            isCut: false,
            reachableSince: 0,
            skewMs: 0,
            isLost: false,
            isForgotten: false,
            isRefused: false,
            isKubeletCut: false,
            heldUntil: 0,
        };
        this.stations.push(station);
        return station;
    }

    startAgent(station: Station): void {
        const { machine } = station;
        if (!machine.isOn || (station.agent !== undefined && !station.agent.isKilled)) return;
        const name = `agent-${machine.name}`;
        const line = this.#line(name, { name: agentUser, node: machine.name }, () => station.skewMs);
        line.cut(station.isCut);
        line.refuse(station.isRefused);
        station.agentLine = line;
        station.reachableSince = this.time.now;
        station.agent = new Agent({
            machine,
            line,
            time: this.time,
            clock: this.time.clock(() => station.skewMs),
            random: this.#nextRandom(),
            logger: historyLogger(this.say, name),
            record: this.#record,
            isBridged: this.isBridged,
            exit: () => {
                this.counters.count("agent.exit");
                this.killAgent(station);
                this.time.after(restartMs, () => this.startAgent(station));
            },
        });
        this.#plant.agent?.(station.agent, this, station);
    }

    killAgent(station: Station): void {
        station.agent?.kill();
    }

    startController(replica: Replica<Controller>): void {
        if (replica.process !== undefined) return;
        this.#starts += 1;
        const line = this.#line(replica.name, { name: controllerUser }, () => replica.skewMs);
        replica.line = line;
        replica.startedAt = this.time.now;
        this.#plant.controller?.(line.api, this);
        replica.process = new Controller(
            {
                line,
                clock: this.time.clock(() => replica.skewMs),
                record: this.#record,
                logger: historyLogger(this.say, replica.name),
            },
            {
                identity: `${replica.name}-${this.#starts}`,
                ...(this.#plant.keepsSubnets === true && { subnetCoolingMs: Infinity }),
            },
        );
    }

    startWebhook(replica: Replica<Webhook>): void {
        if (replica.process !== undefined) return;
        const line = this.#line(replica.name, { name: webhookUser }, () => 0);
        replica.line = line;
        this.#plant.webhook?.(line.api);
        const logger = historyLogger(this.say, replica.name);
        replica.process = new Webhook({ line, logger, clusterCidrs: this.#clusterCidrs });
    }

    kill(replica: Replica<{ kill(): void }>): void {
        replica.process?.kill();
        replica.process = undefined;
    }

    cut(station: Station, isCut: boolean): void {
        if (station.isCut && !isCut) station.reachableSince = this.time.now;
        station.isCut = isCut;
        station.agentLine?.cut(isCut);
        station.kubeletLine.cut(isCut || station.isKubeletCut);
        if (!isCut && station.machine.isOn) station.kubelet.resync();
    }

    powerOff(station: Station): void {
        this.killAgent(station);
        station.kubelet.stop();
        station.kubeletLine.kill();
        station.machine.powerOff();
    }

    async powerOn(station: Station, options: { readonly diskLost: boolean }): Promise<void> {
        const { machine } = station;
        if (machine.isOn) return;
        machine.powerOn(options);
        if (options.diskLost) station.kubelet.manifests.clear();
        station.kubeletLine = this.#line(`kubelet-${machine.name}`, { name: `system:node:${machine.name}` }, () => 0);
        station.kubeletLine.cut(station.isCut);
        await this.register(station);
        station.kubelet.resync();
        this.startAgent(station);
    }

    /** The kubelet creates its Node object if there is none. */
    async register({ machine }: Station): Promise<void> {
        if (this.server.store.get(nodeKind, machine.name) !== undefined) return;
        const body = JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: machine.name }, spec: {} });
        await this.request({ method: "POST", path: "/api/v1/nodes", body });
        const status = { addresses: [{ type: "InternalIP", address: machine.address }] };
        const path = `/api/v1/nodes/${machine.name}/status`;
        await this.request({ method: "PATCH", path, body: JSON.stringify({ status }) });
    }

    /** Stops all programs; their work is cancelled. */
    end(): void {
        for (const station of this.stations) {
            this.killAgent(station);
            station.kubelet.stop();
            station.kubeletLine.kill();
        }
        for (const replica of [...this.controllers, ...this.webhooks]) this.kill(replica);
        this.#replaced?.[Symbol.dispose]();
    }

    /** Whether its kubelet reports a network; without a subnet it has none, unless its agent reports otherwise. */
    #isReady({ metadata, spec }: Node): boolean {
        const station = this.station(metadata?.name ?? "");
        if (station?.machine.isOn !== true || station.isCut) return false;
        return (spec?.podCIDRs ?? []).length > 0 || station.agent?.isReady === true;
    }

    readonly #answered = (container: Container, address: string): void => {
        this.checks.answered(container, address, this.#isOfPool(container, address));
    };

    /** The agent, if its connection has no faults. */
    #hearing(node: string): object | undefined {
        const station = this.station(node);
        const { machine, agent, agentLine, isCut } = station ?? {};
        const isAway = isCut === true || machine?.isOn !== true || !machine.hasOvs || agent?.isKilled !== false;
        const hasFaults = this.isFlooded || this.requests !== noFaults || this.watches !== noWatchFaults;
        return isAway || hasFaults || agentLine?.isRefused === true ? undefined : agent;
    }

    /** Addresses of a Node's own subnet are not allocated, but a pool may contain them too. */
    #isClaimed(name: string, container: Container): boolean {
        return !name.startsWith("10.50.") || this.#isOfPool(container, name);
    }

    /** Whether the container has the address from a pool, according to its record. */
    #isOfPool({ id, node }: Container, address: string): boolean {
        const setUp = this.station(node)?.machine.setUpOf(id);
        return setUp?.addresses.some(({ ip }) => formatIp(ip) === address) === true;
    }

    get lines(): readonly Line[] {
        const replicas = [...this.controllers, ...this.webhooks].map(({ line }) => line);
        return [...this.stations.map(({ agentLine }) => agentLine), ...replicas].filter((line) => line !== undefined);
    }

    #line(name: string, user: User, skew: () => number): Line {
        return new Line(
            {
                time: this.time,
                random: this.#nextRandom(),
                server: this.server,
                counters: this.counters,
                flows: this.flows,
                step: this.step,
                faults: () => ({ requests: this.requests, watches: this.watches }),
            },
            { name, user, clock: this.time.clock(skew) },
        );
    }

    #nextRandom(): Random {
        this.#starts += 1;
        return new Random(this.#seed, 1000 + this.#starts);
    }

    readonly #record = (event: EventInput): void => {
        this.counters.count(`event.${event.reason}`);
        this.checks.recorded(event);
        this.say(() => `event ${event.reason} on ${event.regarding.kind} ${event.regarding.name}: ${event.note}`);
    };

    #changed(change: Change): void {
        this.checks.goneNodes.changed(change);
        if (change.kind === claimKind) this.truth.changed(change);
        this.checks.changed(change);
        this.workloads.changed(change);
        this.#namespaceEnds.changed(change);
        for (const { kubelet } of this.stations) kubelet.changed(change);
    }

    #review(write: Write): Promise<void> | undefined {
        if (!this.hasWebhooks) return undefined;
        const { plural } = write.kind.resource;
        const isPool = plural === "ippools" && write.subresource === "";
        const isWorkload =
            (plural === "pods" && write.operation === "CREATE") ||
            (["statefulsets", "deployments", "namespaces"].includes(plural) &&
                write.operation !== "DELETE" &&
                write.subresource === "");
        if (!isPool && !isWorkload) return undefined;
        if (write.operation === "UPDATE" && isPool && write.before !== undefined && sameSpec(write)) return undefined;
        return this.#ask(write, isPool);
    }

    async #ask(write: Write, mustAnswer: boolean): Promise<void> {
        const webhook = this.webhooks[0]?.process;
        const limit = AbortSignal.timeout(mustAnswer ? reviewMs.ippools : reviewMs.others);
        const late = new Promise<never>((_, reject) =>
            limit.addEventListener("abort", () => reject(new Refusal(500, "failed calling webhook: timeout")), {
                once: true,
            }),
        );
        late.catch(() => undefined);
        const allowed = this.checks.gateways.judged(write);
        try {
            if (webhook === undefined) throw new Refusal(500, "failed calling webhook: no endpoints");
            const { refused } = await Promise.race([webhook.review(write, limit), late]);
            this.counters.count(refused === undefined ? "review.allowed" : "review.refused");
            if (refused !== undefined) throw new Denied(refused.reason === "Forbidden" ? 403 : 422, refused.message);
            allowed?.();
        } catch (error) {
            if (error instanceof Denied) throw error;
            this.counters.count("review.unanswered");
            if (mustAnswer) throw new Refusal(500, `failed calling webhook: ${(error as Error).message}`);
        }
    }
}

class Denied extends Refusal {}

function sameSpec({ before, after }: Write): boolean {
    const spec = (object: unknown): string => JSON.stringify((object as { readonly spec?: unknown }).spec);
    return spec(before) === spec(after);
}
