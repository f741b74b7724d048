import { expect } from "@jest/globals";
import { bridgingTables, nodeTables, Pipeline } from "@antrea/flows";
import { formatIp, parsePrefix, type Prefix } from "@antrea/ip";
import { KubeError, type EventInput, type Pod } from "@antrea/kube";
import { Jobs, Metrics } from "@antrea/runtime";
import { podNetwork, type PodNetworkFeature } from "../../../src/features/pod-network/feature.ts";
import type { NodePlatform } from "../../../src/platform/node-platform.ts";
import { PodInterfaces, type AddRequest } from "../../../src/platform/pod-interfaces/index.ts";
import { Readiness } from "../../../src/platform/readiness.ts";
import { listLogger } from "../../support/logger.ts";
import { testBootId } from "../../support/records.ts";
import { FakeNetworks } from "./fake-networks.ts";

const { signal } = new AbortController();

interface Modes {
    readonly networks?: boolean;
    readonly pools?: boolean;
    readonly bridgedMac?: string;
}

/** An agent with the feature alone, on a fake Node whose OVS and API server the test plays. */
export class OneAgent {
    readonly fakes = new FakeNetworks();
    readonly node = this.fakes.node;
    readonly events: EventInput[] = [];
    readonly failures: unknown[] = [];
    readonly checked: string[] = [];
    readonly datapathIds: string[] = [];
    readonly commands: string[] = [];
    readonly checks = new Map<string, () => string | undefined>();
    readonly metrics = new Metrics({ processMetrics: false });
    readonly readiness = new Readiness({ ovsdb: "not connected" });
    readonly jobs = new Jobs({ logger: listLogger([]), clock: this.node.clock });
    readonly listeners = new Map<string, (state?: string) => void>();
    readonly feature: PodNetworkFeature;
    pods: Pod[] = [];
    isApiAway = false;
    /** What the API server has answered; undefined until then. */
    watchedCidrs: readonly Prefix[] | undefined;
    lockState = "locked";
    mtu = 1450;
    hasNodesListener = false;
    nodesUpToDateAt = Infinity;

    constructor(modes: Modes = {}) {
        this.node.putLink("br-int", "");
        this.feature = podNetwork(this.#platform(modes), this.#needs(modes), {
            checkInterface: async ({ port, flowsOf, dumpFlows, allocationProblem }, { known, netns, movedRoutes }) => {
                const { hostIfName, ifName } = known.record;
                const flows = [flowsOf(known).length, (await dumpFlows()).length];
                const problem = await allocationProblem(known.record);
                this.checked.push(`${ifName} ${netns} ${port(hostIfName)?.ofPort} ${flows} ${problem}`);
                this.checked.push(`moved: ${[...(movedRoutes ?? [])]}`);
            },
            checkNetworkInterface: async ({ port, allocationProblem }, record, { netns, previous }) => {
                const vlan = port(record.hostIfName)?.vlan;
                const problem = await allocationProblem(record);
                this.checked.push(`${record.ifName} ${netns} ${vlan} ${problem} ${previous === undefined}`);
            },
            namespaces: this.node.inside,
        });
    }

    async start(): Promise<this> {
        await this.feature.stage?.(signal);
        await this.feature.start?.(signal);
        this.jobs.start(signal);
        await this.settle();
        return this;
    }

    async settle(): Promise<void> {
        for (let turns = 0; turns < 100; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    }

    add(changes: Partial<AddRequest> = {}): ReturnType<PodNetworkFeature["network"]["add"]> {
        return this.feature.network.add(this.node.request(changes), signal);
    }

    #needs({ networks = false, pools = false }: Modes): Parameters<typeof podNetwork>[1] {
        const podCidrs = { isClaimed: (ip: Parameters<typeof formatIp>[0]) => formatIp(ip) === "10.10.1.2" };
        return {
            pools: pools
                ? {
                      podCidrs,
                      poolOf: () => "pool1",
                      hasAllocations: () => true,
                      requestOf: () => Promise.resolve(undefined),
                      release: () => Promise.resolve(),
                  }
                : undefined,
            allocations: undefined,
            bridging: undefined,
            networks: networks ? this.fakes.ofPods() : undefined,
            allocationProblem: ({ ifName }) => Promise.resolve(`problem of ${ifName}`),
        };
    }

    #platform({ bridgedMac }: Modes): NodePlatform {
        const { node, metrics } = this;
        const { clock, flowTable, netlink, stored, ports } = node;
        const on = (name: string) => (listener: (state?: string) => void) => {
            const before = this.listeners.get(name);
            this.listeners.set(name, (state) => (before?.(state), listener(state)));
        };
        const agent = this;
        const platform = {
            clock,
            flowTable,
            metrics,
            netlink,
            config: {
                hostGateway: "antrea-gw0",
                enableBridgingMode: false,
                ovsBridge: "br-int",
                ovsDatapathType: "system",
            },
            environment: { nodeName: "worker", bootId: testBootId },
            events: { record: (event: EventInput) => void this.events.push(event) },
            kube: { api: this.#api() },
            logger: listLogger(this.fakes.log),
            node: { name: "worker", podPrefixes: [parsePrefix("10.10.1.0/24")] },
            nodes: {
                get upToDateAt() {
                    return agent.nodesUpToDateAt;
                },
                hasSynced: false,
                onChange: () => {
                    this.hasNodesListener = true;
                    return { [Symbol.dispose]: () => void (this.hasNodesListener = false) };
                },
            },
            podInterfaces: new PodInterfaces(),
            bridge: {
                ...ports,
                ports: () => [...stored.values()],
                port: (name: string) => stored.get(name),
                ensure: () => node.steps.run("ensure bridge", () => undefined),
                fixDatapathId: (mac: string) => Promise.resolve(void this.datapathIds.push(mac)),
                endFlowRestore: () => Promise.resolve(),
                acknowledged: () => Promise.resolve(),
            },
            bridgedMac,
            database: {
                onConnect: on("connect"),
                onLockChange: on("lock"),
                get lockState() {
                    return agent.lockState;
                },
            },
            disableTxChecksumOffload: false,
            fail: (error: unknown) => void this.failures.push(error),
            gateway: {
                mac: Uint8Array.of(2, 0, 0, 0, 0, 1),
                ensurePort: () => Promise.resolve(2),
                ensureDevice: () => Promise.resolve(),
            },
            health: {
                addCheck: (name: string, kind: string, check: () => string | undefined) =>
                    void this.checks.set(`${kind} ${name}`, check),
            },
            host: {
                run: (...command: readonly unknown[]) => {
                    this.commands.push(command.flat().join(" "));
                    return Promise.resolve("[]");
                },
            },
            jobs: this.jobs,
            openflow: {
                onReady: on("ready"),
                dumpFlows: () => node.ovs.direct.dumpFlows({ cookie: 0n, cookieMask: 0n }),
            },
            pipeline: Object.assign(new Pipeline([...nodeTables, ...bridgingTables]), {
                flows: () => Promise.resolve([]),
            }),
            podMtu: () => this.mtu,
            probe: { passed: () => Promise.resolve() },
            random: () => 0,
            readiness: this.readiness,
            serviceCidrs: () => this.watchedCidrs ?? [parsePrefix("10.96.0.0/12")],
            servesServices: false,
            services: { onServiceCidrs: on("Service CIDRs") },
            serviceCidrWatch: {
                get serviceCidrs() {
                    return agent.watchedCidrs;
                },
                onServiceCidrs: on("Service CIDRs of networks"),
            },
        };
        return platform as unknown as NodePlatform;
    }

    #api(): unknown {
        return {
            list: (_: unknown, { fieldSelector }: { readonly fieldSelector: string }) => {
                expect(fieldSelector).toBe("spec.nodeName=worker");
                if (this.isApiAway) return Promise.reject(new KubeError("CONNECTION_FAILED", "away"));
                return Promise.resolve({ items: this.pods, resourceVersion: "1" });
            },
            find: () => Promise.resolve(undefined),
        };
    }
}
