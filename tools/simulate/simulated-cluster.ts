import { formatIp } from "@antrea/ip";
import { type ApiClient, type EventInput, type Node } from "@antrea/kube";
import { type RequestFaults, type WatchFaults, noFaults, noWatchFaults } from "./api/faults.ts";
import { FlowControl } from "./api/flow-control.ts";
import { Transport } from "./api/transport.ts";
import { shapeByChance } from "./api/priority-levels.ts";
import { agentUser, checkPolicies, controllerUser, webhookUser, type User } from "./api/rules.ts";
import { ApiServer, kindOf, type ApiRequest } from "./api/server.ts";
import { type Change } from "./api/store.ts";
import { Checks } from "./check/checks.ts";
import { Counters } from "./check/counters.ts";
import { Truth, type Container, type User as AddressUser } from "./check/truth.ts";
import { Admission } from "./cluster/admission.ts";
import { Agent } from "./cluster/agent.ts";
import { Controller } from "./cluster/controller.ts";
import { Kubelet } from "./cluster/kubelet.ts";
import { metaPluginFiles } from "./cluster/meta-plugin.ts";
import { noRuntimeFaults, type RuntimeFaults } from "./cluster/runtime-faults.ts";
import { NamespaceEnds } from "./cluster/namespaces.ts";
import { historyLogger } from "./cluster/quiet.ts";
import { Webhook } from "./cluster/webhook.ts";
import { Workloads } from "./cluster/workloads.ts";
import { Machine } from "./machine/machine.ts";
import { Random } from "./time/random.ts";
import { VirtualTime } from "./time/virtual-time.ts";
import { modesByChance, type Modes } from "./modes.ts";
import { newStation, stoppedReplica, type Replica, type Station } from "./station.ts";

export interface SimulatedClusterOptions {
    readonly seed: number;
    /** Called with each line of the history. Default: no history. */
    readonly onHistoryLine?: ((line: string) => void) | undefined;
    /** Changes a part of the product, to test whether that is found. */
    readonly hooks?: BugHooks | undefined;
}

/** A seeded bug. */
export interface BugHooks {
    /** Called with each start of an agent. */
    readonly agent?: (agent: Agent, cluster: SimulatedCluster, station: Station) => void;
    /** Called with the cluster before it is started. */
    readonly cluster?: (cluster: SimulatedCluster) => void;
    /** Called with each start of a controller and its API client. */
    readonly controller?: (api: ApiClient, cluster: SimulatedCluster) => void;
    /** Replaces parts of the product until disposed of; called before the start. */
    readonly product?: () => Disposable;
    /** Subnets of deleted Nodes are never released. */
    readonly keepsSubnets?: boolean;
    /** Called with each start of the webhook and its API client. */
    readonly webhook?: (api: ApiClient) => void;
}

const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const nodeKind = kindOf("v1", "nodes");
const restartMs = 1_000;

/** A cluster in one process: API server, Nodes, Antrea's programs and their environment. */
export class SimulatedCluster {
    readonly time: VirtualTime = new VirtualTime();
    readonly random: Random;
    readonly server: ApiServer;
    readonly flows: FlowControl;
    readonly truth: Truth = new Truth({
        isClaimed: (name, user) => this.#isClaimed(name, user),
        isForeign: (name, node) => this.checks.foreignSubnets.holderOf(name, node) !== undefined,
        isUnheard: (node) => this.checks.goneNodes.isUnheard(node),
        mayReturn: (name, container) => this.checks.forcedAllocations.mayReturn(name, container),
    });
    readonly checks: Checks;
    readonly modes: Modes;
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
    readonly #onHistoryLine: ((line: string) => void) | undefined;
    readonly #hooks: BugHooks;
    readonly #namespaceEnds: NamespaceEnds;
    readonly #replaced: Disposable | undefined;
    #starts = 0;

    constructor({ seed, onHistoryLine, hooks = {} }: SimulatedClusterOptions) {
        this.#seed = seed;
        this.#onHistoryLine = onHistoryLine;
        this.#hooks = hooks;
        this.random = new Random(seed, 1);
        this.server = new ApiServer(this.time, new Random(seed, 2));
        const { store } = this.server;
        this.flows = new FlowControl(
            { time: this.time, random: new Random(seed, 9), counters: this.counters, store },
            shapeByChance(new Random(seed, 10)),
        );
        this.modes = modesByChance(new Random(seed, 4), this.counters);
        const { isBridged, attacher } = this.modes;
        const startsOfControllers = (): readonly number[] =>
            this.controllers.flatMap(({ process, startedAt }) => (process ? [startedAt] : []));
        this.checks = new Checks(
            {
                truth: this.truth,
                store: this.server.store,
                time: this.time,
                startsOfControllers,
                isClaimed: (name, user) => this.#isClaimed(name, user),
                hearing: (node) => this.#hearing(node),
                namesPool: (name, { id, node }) => this.station(node)?.machine.namesPool(id, name) === true,
                databasesOf: (node) => this.station(node)?.machine.databases ?? 0,
                containersOf: (node, uid) =>
                    [...(this.station(node)?.machine.netns.values() ?? [])].flatMap(({ container }) =>
                        container.podUid === uid ? [container.id] : [],
                    ),
            },
            { isBridged, attacher },
        );
        this.workloads = new Workloads({
            server: this.server,
            time: this.time,
            random: new Random(seed, 3),
            isSchedulable: (node) => this.#isReady(node),
        });
        this.#namespaceEnds = new NamespaceEnds({ server: this.server, time: this.time, random: new Random(seed, 5) });
        this.server.policies = checkPolicies;
        const admission = new Admission({
            webhook: () => this.webhooks[0]?.process,
            gateways: this.checks.gateways,
            counters: this.counters,
        });
        this.server.admission = (write) => (this.hasWebhooks ? admission.review(write) : undefined);
        this.server.store.onChange((change) => this.#changed(change));
        this.controllers = [stoppedReplica("controller-0"), stoppedReplica("controller-1")];
        this.webhooks = [stoppedReplica("webhook-0")];
        hooks.cluster?.(this);
        this.#replaced = hooks.product?.();
    }

    station(name: string): Station | undefined {
        return this.stations.find(({ machine }) => machine.name === name);
    }

    readonly step = (what: () => string): void => {
        this.steps += 1;
        this.log(what);
    };

    readonly log = (what: () => string): void => {
        this.#onHistoryLine?.(`${(this.time.now / 1000).toFixed(3).padStart(9)} ${what()}`);
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
            cniFiles: this.modes.attacher === "meta plugin" ? metaPluginFiles : {},
            wired: (container, setUp, vlan) => this.checks.wirings.wired(container, setUp, vlan),
            wiredNetwork: (...interfaceOfPod) => this.checks.networks.wired(...interfaceOfPod),
            isolatedNetwork: () => this.counters.count("network.isolated"),
        });
        const kubelet = new Kubelet({
            machine,
            store: this.server.store,
            truth: this.truth,
            time: this.time,
            answered: this.#answered,
            attached: (...made) => this.checks.networks.attached(...made),
            attacher: this.modes.attacher,
            random: new Random(this.#seed, 100 + at),
            counters: this.counters,
            step: this.step,
            transport: () => station.kubeletTransport,
            agent: () => (station.agent?.isKilled === true ? undefined : station.agent),
            faults: () => this.runtime,
            isCut: () => station.isCut || station.isKubeletCut,
        });
        const kubeletTransport = this.#transportOf(`kubelet-${name}`, { name: `system:node:${name}` }, () => 0);
        const station: Station = newStation({ machine, kubelet, kubeletTransport });
        this.stations.push(station);
        return station;
    }

    startAgent(station: Station): void {
        const { machine } = station;
        if (!machine.isOn || (station.agent !== undefined && !station.agent.isKilled)) return;
        const name = `agent-${machine.name}`;
        const transport = this.#transportOf(name, { name: agentUser, node: machine.name }, () => station.skewMs);
        transport.cut(station.isCut);
        transport.refuse(station.isRefused);
        station.agentTransport = transport;
        station.reachableSince = this.time.now;
        station.agent = new Agent({
            machine,
            transport,
            time: this.time,
            clock: this.time.clock(() => station.skewMs),
            random: this.#nextRandom(),
            logger: historyLogger(this.log, name),
            record: this.#record,
            isBridged: this.modes.isBridged,
            hasNetworks: this.modes.hasNetworks,
            exit: () => {
                this.counters.count("agent.exit");
                this.killAgent(station);
                this.time.after(restartMs, () => this.startAgent(station));
            },
        });
        this.#hooks.agent?.(station.agent, this, station);
    }

    killAgent(station: Station): void {
        station.agent?.kill();
    }

    startController(replica: Replica<Controller>): void {
        if (replica.process !== undefined) return;
        this.#starts += 1;
        const transport = this.#transportOf(replica.name, { name: controllerUser }, () => replica.skewMs);
        replica.transport = transport;
        replica.startedAt = this.time.now;
        this.#hooks.controller?.(transport.api, this);
        replica.process = new Controller(
            {
                transport,
                clock: this.time.clock(() => replica.skewMs),
                record: this.#record,
                logger: historyLogger(this.log, replica.name),
            },
            {
                identity: `${replica.name}-${this.#starts}`,
                ...(this.#hooks.keepsSubnets === true && { subnetCoolingMs: Infinity }),
            },
        );
    }

    startWebhook(replica: Replica<Webhook>): void {
        if (replica.process !== undefined) return;
        const transport = this.#transportOf(replica.name, { name: webhookUser }, () => 0);
        replica.transport = transport;
        this.#hooks.webhook?.(transport.api);
        const logger = historyLogger(this.log, replica.name);
        replica.process = new Webhook({ transport, logger, ...this.modes });
    }

    kill(replica: Replica<{ kill(): void }>): void {
        replica.process?.kill();
        replica.process = undefined;
    }

    cut(station: Station, isCut: boolean): void {
        if (station.isCut && !isCut) station.reachableSince = this.time.now;
        station.isCut = isCut;
        station.agentTransport?.cut(isCut);
        station.kubeletTransport.cut(isCut || station.isKubeletCut);
        if (!isCut && station.machine.isOn) station.kubelet.resync();
    }

    powerOff(station: Station): void {
        this.killAgent(station);
        station.kubelet.stop();
        station.kubeletTransport.kill();
        station.machine.powerOff();
    }

    async powerOn(station: Station, options: { readonly diskLost: boolean }): Promise<void> {
        const { machine } = station;
        if (machine.isOn) return;
        machine.powerOn(options);
        if (options.diskLost) station.kubelet.manifests.clear();
        station.kubeletTransport = this.#transportOf(
            `kubelet-${machine.name}`,
            { name: `system:node:${machine.name}` },
            () => 0,
        );
        station.kubeletTransport.cut(station.isCut);
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
            station.kubeletTransport.kill();
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
        const { machine, agent, agentTransport, isCut } = station ?? {};
        const isOff = this.modes.attacher === "antrea" && agent?.attachesNetworks !== true;
        const isAway =
            isOff || isCut === true || machine?.isOn !== true || !machine.hasOvs || agent?.isKilled !== false;
        const hasFaults = this.isFlooded || this.requests !== noFaults || this.watches !== noWatchFaults;
        return isAway || hasFaults || agentTransport?.isRefused === true ? undefined : agent;
    }

    /** Addresses of a Node's own subnet are not allocated, but a pool may contain them too. */
    #isClaimed(name: string, user: AddressUser): boolean {
        return !name.startsWith("10.50.") || user.ifName !== "eth0" || this.#isOfPool(user, name);
    }

    /** Whether the container has the address from a pool, according to its record. */
    #isOfPool({ id, node }: Container, address: string): boolean {
        const setUp = this.station(node)?.machine.setUpOf(id);
        return setUp?.addresses.some(({ ip }) => formatIp(ip) === address) === true;
    }

    get transports(): readonly Transport[] {
        const replicas = [...this.controllers, ...this.webhooks].map(({ transport }) => transport);
        return [...this.stations.map(({ agentTransport }) => agentTransport), ...replicas].filter(
            (transport) => transport !== undefined,
        );
    }

    #transportOf(name: string, user: User, skew: () => number): Transport {
        return new Transport(
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
        this.log(() => `event ${event.reason} on ${event.regarding.kind} ${event.regarding.name}: ${event.note}`);
    };

    #changed(change: Change): void {
        this.checks.goneNodes.changed(change);
        if (change.kind === allocationKind) this.truth.changed(change);
        this.checks.changed(change);
        this.workloads.changed(change);
        this.#namespaceEnds.changed(change);
        for (const { kubelet } of this.stations) kubelet.changed(change);
    }
}
