import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@antrea/async";
import { CniCallError } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import { nodeParts, nodeTables, type BridgingInput, type PipelineInput } from "@antrea/flows";
import { formatMac, parsePrefix, type IpAddress } from "@antrea/ip";
import { Netlink } from "@antrea/netlink";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { PrivateOvs } from "@antrea/openflow/testing";
import { Jobs } from "@antrea/runtime";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { bridging, type Bridging } from "../../src/features/bridging/feature.ts";
import { createCniBackend } from "../../src/features/cni-server/backend.ts";
import {
    virtualFunctions,
    type VirtualFunctionsFeature,
    type VirtualFunctionsPlaces,
} from "../../src/features/virtual-functions/feature.ts";
import type { ServicesFeature } from "../../src/features/services/feature.ts";
import { functionErrorCode } from "../../src/features/virtual-functions/index.ts";
import { poolErrorCode } from "../../src/features/ip-pools/index.ts";
import { networksErrorCode } from "../../src/features/networks/index.ts";
import { judge } from "../../src/features/networks/judge.ts";
import { CniCalls, type CniCommand } from "../../src/features/cni-server/index.ts";
import { EarlierFlows, FlowRestore, FlowTable, type FlowOwner } from "../../src/platform/ovs/flow-table/index.ts";
import { Gateway, NodeSysctls } from "../../src/platform/host/gateway/index.ts";
import { keepNetwork } from "../../src/features/pod-network/keep-network.ts";
import { gatewayIpOf } from "../../src/platform/node/config/index.ts";
import {
    BridgeDevice,
    formatRounds,
    monitoredColumns,
    OvsBridge,
    roundsKey,
    SwitchBridge,
} from "../../src/platform/ovs/bridge/index.ts";
import {
    checkInterface,
    flowOwner,
    FunctionWiring,
    type FunctionLinks,
    FurtherInterfaces,
    HostRoutes,
    NodeSubnet,
    PodNetwork,
    PodReconciler,
    wiringErrorCode,
    type KnownPod,
    type FurtherInterfacesComponents,
    type PodPools,
    checkNetworkInterface,
    SingleNetworks,
} from "../../src/features/pod-network/index.ts";
import { portSpec } from "../../src/features/pod-network/parts.ts";
import type { PodPorts } from "../../src/features/pod-network/types.ts";
import { netnsPathHere } from "../../src/features/cni-server/netns-path.ts";
import { isNodeNetns } from "../../src/platform/host/node-netns.ts";
import { Readiness } from "../../src/platform/readiness.ts";
import { type Interruptions } from "./interruptions.ts";
import { silentLogger } from "./logger.ts";
import { OwnNamespace } from "./namespace.ts";
import { ipsOf, type AddAnswer, type TestPod } from "./test-pod.ts";
import { AgentPipeline } from "../../src/platform/ovs/pipeline.ts";
import {
    NetworkInterfaces,
    PodInterfaces,
    type AddRequest,
    type NetworkAllocations,
    type NetworkRecord,
    type PlannedNetwork,
} from "../../src/platform/pod-interfaces/index.ts";

/** Where the wiring of a Pod can be held up, before and after each step that others see. */
export type Stage = "ports" | "ports done" | "ofPort" | "flows" | "flows done" | "deletePort" | "take" | "take done";

export interface TestAgentOptions {
    readonly podCidrs?: readonly string[];
    readonly pods?: () => readonly KnownPod[];
    readonly pools?: PodPools;
    readonly poolOf?: (ip: IpAddress) => string | undefined;
    /** Addresses of the podCIDRs that somebody outside this Node has claimed. */
    readonly isClaimed?: (ip: IpAddress) => boolean | undefined;
    /** What Pods get on the bridge br-secondary, whose NIC is a link of the Node; default: nothing. */
    readonly networks?: TestNetworks;
    /** Bridging mode; the test makes the uplink and the host port. Default: not in it. */
    readonly bridging?: BridgingInput | undefined;
    /** Builds the feature that serves Services; default: OVS serves none. */
    readonly services?: (agent: TestAgent) => ServicesFeature;
    /** Whether OVS serves Services to the Node itself and to clients outside. Default: false. */
    readonly proxyAll?: boolean;
    /** Default "/": the agent of a test runs on its Node itself. */
    readonly hostProcPathPrefix?: string;
}

export interface TestNetworks {
    /** A link of the Node; undefined: there is no bridge. */
    readonly nic: string | undefined;
    readonly plan: (
        request: AddRequest,
        agent: TestAgent,
    ) => readonly PlannedNetwork[] | Promise<readonly PlannedNetwork[]>;
    readonly allocations?: NetworkAllocations;
    /** Where the agent finds the kubelet and the devices; default: there are none. */
    readonly places?: Required<VirtualFunctionsPlaces>;
    /** Of the calls of an ADD and DEL; default: none. */
    readonly interruptions?: Interruptions;
}

type DropFirst<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest] ? Rest : never;

export type NodeState = Readonly<Record<"ports" | "flows" | "links", readonly string[]>>;

const gatewayOfPort = 32769;

/** A Node without Kubernetes: a network namespace of its own and an Open vSwitch in it. Agents come and go on it. */
export class TestNode implements AsyncDisposable {
    readonly ovs: PrivateOvs;
    readonly bridge = "br-int";
    readonly gateway = "antrea-gw0";
    readonly #namespace: OwnNamespace;

    private constructor(ovs: PrivateOvs, namespace: OwnNamespace) {
        this.ovs = ovs;
        this.#namespace = namespace;
    }

    static async start(): Promise<TestNode> {
        const namespace = OwnNamespace.enter();
        try {
            return new TestNode(await PrivateOvs.start(), namespace);
        } catch (error) {
            namespace[Symbol.dispose]();
            throw error;
        }
    }

    /** What agents keep in files, below it: the next one finds it. */
    get stateFolder(): string {
        return join(this.ovs.runDir, "state");
    }

    startAgent(options: TestAgentOptions = {}): Promise<TestAgent> {
        return TestAgent.start(this, options);
    }

    /** An empty database in the place of the one that was, as after the loss of a disk. */
    async loseDatabase(): Promise<void> {
        await this.ovs.killDatabase();
        const file = join(this.ovs.runDir, "conf.db");
        rmSync(file);
        execFileSync("ovsdb-tool", ["create", file, "/usr/share/openvswitch/vswitch.ovsschema"], { stdio: "ignore" });
        await this.ovs.startDatabase();
    }

    /** All that stands on the Node: ports, flows without their counters and cookies, links. Two are equal or something leaked. */
    async state(): Promise<NodeState> {
        const [ports, flows] = await Promise.all([
            this.ovs.vsctl("list-ports", this.bridge),
            this.ovs.ofctl("--no-stats", "dump-flows", this.bridge),
        ]);
        const links = execFileSync("ip", ["-o", "link", "show"], { encoding: "utf8" });
        return {
            ports: linesOf(ports),
            flows: linesOf(flows, (line) => line.trim().replace(/cookie=0x[0-9a-f]+, /, "")),
            links: linesOf(links, (line) => line.replace(/^\d+: ([^:@]+).*$/, "$1")),
        };
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.ovs[Symbol.asyncDispose]();
        this.#namespace[Symbol.dispose]();
    }
}

/** The parts of an agent that wire Pods, put together as `compose.ts` does it. */
export class TestAgent {
    readonly node: TestNode;
    readonly readiness = new Readiness({ records: "the Pod interfaces of this Node are not rebuilt" });
    readonly database: OvsdbSession;
    readonly openflow: OpenFlowConnection;
    readonly bridge: OvsBridge;
    readonly bridgeDevice: BridgeDevice;
    readonly flowTable: FlowTable;
    readonly gateway: Gateway;
    readonly subnet: NodeSubnet;
    readonly podInterfaces = new PodInterfaces();
    readonly network: PodNetwork;
    readonly reconciler: PodReconciler;
    readonly calls: CniCalls;
    readonly netlink = Netlink.open();
    readonly pipeline: AgentPipeline;
    readonly jobs = new Jobs({ logger: silentLogger });
    readonly services: ServicesFeature | undefined;
    readonly bridging: Bridging | undefined;
    #gatewayPort = gatewayOfPort;
    readonly #stop = new AbortController();
    readonly #holds = new Map<Stage, { reached: () => void; released: Promise<void> }>();
    readonly #options: Required<Omit<TestAgentOptions, "bridging" | "networks" | "pools" | "services">> &
        Pick<TestAgentOptions, "bridging" | "networks"> & { readonly pools: PodPools | undefined };
    /** The bridge of further networks. */
    readonly secondary: SwitchBridge;
    /** The virtual functions of the Node; its job is part of `resync`. */
    readonly functions: VirtualFunctionsFeature;
    readonly networkTable = new NetworkInterfaces();
    /** The announcements of further interfaces. */
    readonly announced: Parameters<FurtherInterfacesComponents["announce"]>[0][] = [];
    serviceCidrs = [parsePrefix("10.96.0.0/12")];
    round = 0;

    private constructor(node: TestNode, options: TestAgentOptions) {
        this.node = node;
        this.#options = {
            podCidrs: options.podCidrs ?? ["10.10.1.0/24", "fd10:10:0:1::/64"],
            pods: options.pods ?? (() => []),
            bridging: options.bridging,
            pools: options.pools,
            ...(options.networks === undefined ? {} : { networks: options.networks }),
            poolOf: options.poolOf ?? (() => undefined),
            isClaimed: options.isClaimed ?? (() => false),
            proxyAll: options.proxyAll ?? false,
            hostProcPathPrefix: options.hostProcPathPrefix ?? "/",
        };
        const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
        const podPrefixes = this.#options.podCidrs.map((cidr) => parsePrefix(cidr));
        const logger = silentLogger;
        const netlink = this.netlink;
        this.database = new OvsdbSession(
            { logger },
            { socketPath: node.ovs.dbSocket, monitor: monitoredColumns, lock: "antrea_agent" },
        );
        this.openflow = new OpenFlowConnection({ logger }, { socketPath: node.ovs.mgmtSocket(node.bridge) });
        const place = { bridge: node.bridge, datapathType: "netdev" } as const;
        this.bridge = new OvsBridge({ database: this.database }, place);
        this.secondary = new SwitchBridge(
            { database: this.database },
            { bridge: "br-secondary", datapathType: "netdev", multicastSnooping: false },
        );
        this.bridgeDevice = new BridgeDevice({ bridge: this.bridge, netlink, logger }, place);
        this.flowTable = new FlowTable({ link: this.openflow, logger });
        this.gateway = new Gateway(
            {
                ports: this.bridge,
                netlink,
                logger,
                sysctls: new NodeSysctls({ logger }, { folder: node.ovs.runDir, bootId }),
            },
            {
                name: node.gateway,
                ofPort: gatewayOfPort,
                mtu: () => 1400,
                podPrefixes,
                gatewayIps: podPrefixes.map(gatewayIpOf),
                transportName: "lo",
                disableTxChecksumOffload: true,
            },
        );
        this.pipeline = new AgentPipeline({
            tables: nodeTables,
            parts: async (limit) => {
                this.#gatewayPort = await this.gateway.ensurePort(limit);
                return nodeParts(this.pipelineInput());
            },
        });
        this.services = options.services?.(this);
        this.bridging = options.bridging && this.#bridging(options.bridging);
        this.pipeline.use([this.services, this.bridging].flatMap((feature) => feature?.pipeline ?? []));
        this.subnet = new NodeSubnet(podPrefixes, () => 0n, this.#options.isClaimed);
        const hostRoutes = new HostRoutes(
            { netlink, logger: silentLogger },
            { gatewayName: node.gateway, bridged: options.bridging !== undefined },
        );
        const { networks } = this.#options;
        this.functions = virtualFunctions(
            {
                clock: systemClock,
                environment: { stateFolder: node.stateFolder, bootId },
                jobs: new Jobs({ logger }),
                logger,
                netlink,
            },
            this.networkTable,
            networks?.places ?? { sysfs: node.ovs.runDir, podResourcesSocket: join(node.ovs.runDir, "no-kubelet") },
        );
        const functions = new FunctionWiring(
            {
                table: this.networkTable,
                podInterfaces: this.podInterfaces,
                writeRecord: (known, signal) =>
                    this.#heldPorts().ensurePort(portSpec(known.record, known.ofPort), signal),
                links: this.#heldLinks(),
                logger,
            },
            {},
        );
        const interrupted = <T extends object>(name: string, part: T): T =>
            networks?.interruptions?.of(name, part) ?? part;
        const ofPods = interrupted("netlink", netlink);
        const further = (of: TestNetworks): FurtherInterfaces =>
            new FurtherInterfaces(
                {
                    table: this.networkTable,
                    podInterfaces: this.podInterfaces,
                    ports: of.nic === undefined ? undefined : interrupted("secondary", this.secondary),
                    functions,
                    netlink: ofPods,
                    pools: of.allocations && interrupted("allocations", of.allocations),
                    announce: (port) => void this.announced.push(port),
                    serviceCidrs: () => this.serviceCidrs,
                    areServiceCidrsKnown: () => true,
                    clock: systemClock,
                    logger,
                },
                { bootId, disableTxChecksumOffload: true },
            );
        this.network = new PodNetwork(
            {
                podInterfaces: this.podInterfaces,
                ports: interrupted("ports", this.#heldPorts()),
                flowTable: interrupted("flows", this.#heldFlows()),
                next: this.pipeline,
                netlink: ofPods,
                subnet: this.subnet,
                hostRoutes,
                pools: this.#options.pools,
                bridging: this.bridging?.pods,
                ...(networks === undefined
                    ? {}
                    : {
                          further: further(networks),
                          planNetworks: async (request: AddRequest) => networks.plan(request, this),
                      }),
                logger,
            },
            {
                mtu: 1400,
                disableTxChecksumOffload: true,
                gatewayMac: () => this.gateway.mac,
                servesServices: this.services?.pipeline !== undefined,
                bootId,
                now: () => performance.now(),
            },
        );
        this.reconciler = new PodReconciler(
            {
                network: this.network,
                netlink,
                subnet: this.subnet,
                hostRoutes,
                poolOf: this.#options.poolOf,
                allocations: undefined,
                ports: this.bridge,
                pods: () => Promise.resolve(this.#options.pods()),
                logger,
            },
            { bootId, podPrefixes },
        );
        const single =
            this.network.further &&
            new SingleNetworks({
                network: this.network,
                further: this.network.further,
                netlink,
                plan: async (call, signal) => {
                    const { asked, ifName, mac, wanted } = call;
                    const demand = { ...asked, ifName };
                    const demands = asked.kind === "sriov" ? [demand] : [];
                    const [device] = await this.functions.devices.find(call, demands, signal);
                    return judge(
                        asked,
                        { ifName, mac, wanted, defaultGateways: [], device },
                        { bridgeProblem: undefined, nicMtu: 1_500, poolOf: () => undefined },
                    );
                },
                check: (record, input) => this.#checkNetwork(record, input),
                failed: () => Promise.resolve(),
                clock: systemClock,
                logger,
            });
        this.calls = new CniCalls({
            backend: createCniBackend({
                readiness: this.readiness,
                network: () => this.network,
                networks: networks === undefined ? undefined : () => single,
                errorCodes: [poolErrorCode, networksErrorCode, functionErrorCode, wiringErrorCode],
                netnsPath: (path) => netnsPathHere(path, this.#options.hostProcPathPrefix),
                networkName: "antrea",
                isNodeNetns: (path) => isNodeNetns(path, this.#options.hostProcPathPrefix),
                podUid: () => Promise.resolve(""),
                check: (known, input) =>
                    checkInterface(
                        {
                            netlink,
                            port: (name) => this.bridge.port(name),
                            flowsOf: (one) => this.flowTable.flowsOf(flowOwner(one.record)),
                            dumpFlows: () => this.openflow.dumpFlows(),
                            allocationProblem: () => Promise.resolve(undefined),
                        },
                        {
                            known,
                            ...input,
                            movedRoutes: this.network.further?.defaultFamilies(known.record.containerId),
                        },
                    ),
            }),
            logger,
            observe: () => undefined,
            now: () => performance.now(),
        });
    }

    static async start(node: TestNode, options: TestAgentOptions): Promise<TestAgent> {
        const agent = new TestAgent(node, options);
        try {
            await agent.#start();
            return agent;
        } catch (error) {
            await agent.stop();
            throw error;
        }
    }

    async #start(): Promise<void> {
        const { signal } = this.#stop;
        this.database.start(signal);
        await this.database.ready(signal);
        await this.database.lockAcquired(signal);
        await this.bridge.ensure(signal);
        await this.bridge.datapathId(30_000, signal);
        await this.#secondary(signal);
        await this.gateway.ensurePort(signal);
        await this.gateway.ensureDevice(signal);
        await this.reconciler.rebuild(signal);
        await this.services?.stage?.(signal);
        for (const { owner, flows } of await this.pipeline.flows(signal)) this.flowTable.stage(owner, flows);
        const rounds = await this.bridge.beginRound(signal);
        this.round = rounds.current;
        this.flowTable.useRound(rounds.current, rounds.earlier);
        const replayed = Promise.withResolvers<void>();
        const release = (limit?: AbortSignal): Promise<void> => this.bridge.endFlowRestore(limit);
        const restore = new FlowRestore({ flowTable: this.flowTable, release, logger: silentLogger });
        this.openflow.onReady(async (link) => {
            await restore.replay(link);
            replayed.resolve();
        });
        this.openflow.start(signal);
        await replayed.promise;
        await this.reconciler.restoreAll(signal);
        await restore.allKnown(signal);
        await this.reconciler.holdKnownAddresses(signal);
        this.readiness.met("records");
        await this.bridging?.start?.(signal);
        await this.services?.start?.(signal);
        const earlier = new EarlierFlows(
            {
                flowTable: this.flowTable,
                learned: () => Promise.resolve(this.pipeline.isComplete !== false),
                forgotten: (limit) =>
                    this.bridge.setExternalId(roundsKey, formatRounds({ ...rounds, earlier: [] }), limit),
            },
            { rounds: rounds.earlier },
        );
        await earlier.deleteOwn(signal);
        if (this.services === undefined) return earlier.deleteLearned(signal);
        const learned = this.jobs.every("node-routes/peers", 60_000, (limit) => earlier.deleteLearned(limit));
        this.services.onComplete(() => learned.trigger());
        this.jobs.start(signal);
    }

    /** What the agent does each minute, and when OVS came back. */
    async resync(): Promise<void> {
        const { signal } = this.#stop;
        await this.database.ready(signal);
        await this.database.lockAcquired(signal);
        await this.bridge.ensure(signal);
        await this.#secondary(signal);
        const { bridge, bridgeDevice, flowTable, gateway, readiness, reconciler } = this;
        const applyPipeline = (limit: AbortSignal): Promise<void> => this.pipeline.applyTo(flowTable, limit);
        await keepNetwork({ bridge, bridgeDevice, flowTable, gateway, applyPipeline, readiness, reconciler }, signal);
        await this.functions.links.restoreReturned(signal);
    }

    #bridging(input: BridgingInput): Bridging {
        const { flowTable, jobs, netlink, node, openflow, pipeline, podInterfaces } = this;
        const podPrefixes = this.#options.podCidrs.map((cidr) => parsePrefix(cidr));
        return bridging({
            bridgedMac: formatMac(input.host.mac),
            clock: systemClock,
            config: { hostGateway: node.gateway },
            flowTable,
            jobs,
            logger: silentLogger,
            metrics: undefined,
            netlink,
            node: { podPrefixes },
            openflow,
            pipeline,
            pipelineInput: () => this.pipelineInput(),
            podInterfaces,
            servesNode: this.#options.proxyAll,
            services: { serviceCidrs: input.serviceCidrs, onServiceCidrs: () => undefined },
        } as unknown as Parameters<typeof bridging>[0]);
    }

    async #secondary(signal: AbortSignal): Promise<void> {
        const { networks } = this.#options;
        if (networks?.nic !== undefined) await this.secondary.ensure([networks.nic], signal);
    }

    /** Ends the agent as a kill does: nothing is taken back. */
    async stop(): Promise<void> {
        this.#stop.abort();
        await this.jobs.stop();
        await this.services?.stop?.();
        await this.bridging?.stop?.();
        await Promise.all([this.openflow.close(), this.database.close()]);
        this.netlink[Symbol.dispose]();
    }

    /** One CNI call; the answer as it is, or a CniCallError. */
    call(
        command: CniCommand,
        pod: TestPod,
        config: Readonly<Record<string, unknown>> = {},
        signal: AbortSignal = new AbortController().signal,
    ): Promise<Uint8Array> {
        return this.calls.call(command, pod.args(config), signal);
    }

    async add(pod: TestPod, signal?: AbortSignal): Promise<AddAnswer> {
        return JSON.parse(new TextDecoder().decode(await this.call("add", pod, {}, signal))) as AddAnswer;
    }

    async del(pod: TestPod): Promise<void> {
        await this.call("del", pod);
    }

    /** CHECK as a runtime does it, with what ADD answered; gives the code of what is wrong, "" when all is well. */
    async check(pod: TestPod, answer: AddAnswer): Promise<string> {
        return this.checkAs(pod, { prevResult: answer });
    }

    /** CHECK of an interface on another network than the Pod network. Rejects with CheckError. */
    async checkNetwork(record: NetworkRecord | undefined): Promise<void> {
        if (record !== undefined) await this.#checkNetwork(record, { netns: "", previous: undefined });
    }

    #checkNetwork(...[record, input]: DropFirst<Parameters<typeof checkNetworkInterface>>): Promise<void> {
        return checkNetworkInterface(
            {
                netlink: this.netlink,
                port: (name) => this.secondary.ports().find((port) => port.name === name),
                allocationProblem: () => Promise.resolve(undefined),
            },
            record,
            input,
        );
    }

    async checkAs(pod: TestPod, config: Readonly<Record<string, unknown>>, netns = pod.netns.path): Promise<string> {
        const { signal } = new AbortController();
        try {
            await this.calls.call("check", pod.args(config, { netns }), signal);
            return "";
        } catch (error) {
            if (!(error instanceof CniCallError) || error.cniCode !== 103) throw error;
            const { cause } = error.details;
            return cause instanceof AntreaError ? `${cause.code}: ${cause.message}` : String(cause);
        }
    }

    async collect(valid: readonly TestPod[], name = "antrea"): Promise<void> {
        const list = valid.map(({ containerId }) => ({ containerID: containerId, ifname: "eth0" }));
        const config = { cniVersion: "1.1.0", name, type: "antrea", "cni.dev/valid-attachments": list };
        await this.calls.call(
            "gc",
            {
                containerId: "",
                netns: "",
                ifname: "",
                args: "",
                path: "",
                networkConfiguration: new TextEncoder().encode(JSON.stringify(config)),
            },
            new AbortController().signal,
        );
    }

    /** How many addresses are in use, a family. */
    get used(): readonly number[] {
        return this.subnet.usage().map(({ used }) => used);
    }

    /** Holds up the next passage of a stage: `reached` resolves when somebody stands there. */
    hold(stage: Stage, failure?: Error): { readonly reached: Promise<void>; readonly release: () => void } {
        const reached = Promise.withResolvers<void>();
        const released = Promise.withResolvers<void>();
        this.#holds.set(stage, { reached: reached.resolve, released: released.promise });
        // A failure may be set before anybody gets there.
        released.promise.catch(() => undefined);
        const release = (): void => (failure === undefined ? released.resolve() : released.reject(failure));
        return { reached: reached.promise, release };
    }

    async #pass(stage: Stage): Promise<void> {
        const hold = this.#holds.get(stage);
        if (hold === undefined) return;
        this.#holds.delete(stage);
        hold.reached();
        await hold.released;
    }

    #heldPorts(): PodPorts {
        return {
            ensurePort: async (spec, signal) => {
                await this.#pass("ports");
                await this.bridge.ensurePort(spec, signal);
                await this.#pass("ports done");
            },
            deletePort: async (name, signal) => {
                await this.#pass("deletePort");
                await this.bridge.deletePort(name, signal);
            },
            ofPort: async (name, timeoutMs, signal) => {
                await this.#pass("ofPort");
                return this.bridge.ofPort(name, timeoutMs, signal);
            },
        };
    }

    #heldLinks(): FunctionLinks {
        return {
            take: async (record) => {
                await this.#pass("take");
                await this.functions.links.take(record);
                await this.#pass("take done");
            },
            bringHome: (record) => this.functions.links.bringHome(record),
        };
    }

    #heldFlows(): FlowOwner {
        return {
            stage: (owner, set) => this.flowTable.stage(owner, set),
            set: async (owner, set, signal, options) => {
                await this.#pass("flows");
                await this.flowTable.set(owner, set, signal, options);
                await this.#pass("flows done");
            },
            remove: (owner, signal) => this.flowTable.remove(owner, signal),
        };
    }

    /** Of the flows of the Node, as its features see it. */
    pipelineInput(): PipelineInput {
        const podPrefixes = this.#options.podCidrs.map((cidr) => parsePrefix(cidr));
        return {
            families: podPrefixes.map((prefix) => prefix.family),
            gateway: { ofPort: this.#gatewayPort, mac: this.gateway.mac, ips: podPrefixes.map(gatewayIpOf) },
            podPrefixes,
            forgetsConnections: true,
            bridging: this.#options.bridging,
            services:
                this.services?.pipeline === undefined
                    ? undefined
                    : { proxyAll: this.#options.proxyAll, keepsFragments: true },
        };
    }
}

/** True when all addresses of all answers differ. */
export function allDiffer(answers: readonly AddAnswer[]): boolean {
    const ips = answers.flatMap(ipsOf);
    return new Set(ips).size === ips.length;
}

/** The lines in an order of their own: cookies and the indexes of links, which `show` removes, differ from start to start. */
function linesOf(text: string, show: (line: string) => string = (line) => line): readonly string[] {
    return text
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map(show)
        .sort();
}
