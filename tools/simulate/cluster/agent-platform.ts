import { type Clock } from "@antrea/async";
import { KubeError } from "@antrea/kube";
import { Jobs } from "@antrea/runtime";
import { loadAgentConfig } from "@antrea/settings";
import { buildReadiness } from "@antrea/agent/platform/agent-readiness";
import { datapathCondition, datapathOf } from "@antrea/agent/platform/ovs/datapath";
import { conditions, modeOf, nodesOf, type Platform } from "@antrea/agent/platform/platform";
import { PodInterfaces } from "@antrea/agent/platform/pod-interfaces";
import { MachineBridge } from "../machine/bridge.ts";
import { MachineDatabase, MachineSwitch } from "../machine/connections.ts";
import { MachineFlows } from "../machine/flows.ts";
import { type LocalIo } from "../machine/io.ts";
import { MachineLinks } from "../machine/netlink.ts";
import { hostOf } from "../machine/node-parts.ts";
import { switchBridgesOf } from "../machine/switch-bridge.ts";
import { type AgentComponents } from "./agent-components.ts";
import { noMetrics, quietEvents, quietHealth, type QuietHealth } from "./quiet.ts";

const bridging = `
enableBridgingMode: true
trafficEncapMode: noEncap
noSNAT: true
`;
const bridge = `
secondaryNetwork: {ovsBridges: [{bridgeName: br-secondary, physicalInterfaces: [eth1]}]}
`;
const configOf = (more: string, hasNetworks: boolean): ReturnType<typeof loadAgentConfig> =>
    loadAgentConfig(
        // its switch forwards no packets, so that nobody would notice what becomes of Services
        `featureGates: {AntreaIPAM: true, AntreaProxy: false, SecondaryNetwork: ${hasNetworks}}\n${more}${hasNetworks ? bridge : ""}`,
    );
const routed = { off: configOf("", false), on: configOf("", true) };
const bridged = { off: configOf(bridging, false), on: configOf(bridging, true) };

/** The platform of one start of antrea-agent, on a simulated Node and its transport to the API server. */
export function platformOn(
    { machine, transport, random, logger, record, isBridged, hasNetworks }: AgentComponents,
    { io, clock, fail }: { readonly io: LocalIo; readonly clock: Clock; readonly fail: (error: unknown) => void },
): Platform & { readonly health: QuietHealth } {
    const { config, gates } = (isBridged ? bridged : routed)[hasNetworks ? "on" : "off"];
    const { api } = transport;
    const health = quietHealth();
    const jobs = new Jobs({ logger: logger.child("jobs"), clock });
    const openflow = new MachineSwitch(machine, io);
    const readiness = buildReadiness(
        { api, health, jobs, metrics: noMetrics, openflow, clock, logger: logger.child("kube") },
        conditions,
    );
    return {
        logger,
        clock,
        random: random.next,
        fail,
        config,
        gates,
        environment: {
            nodeName: machine.name,
            podName: `antrea-agent-${machine.name}`,
            podNamespace: "kube-system",
            bootId: machine.bootId,
            // Nothing is there, and nothing can be written there.
            stateFolder: "/sys/nowhere",
            cniConfFolder: "/nowhere",
            cniConfMode: 0o644,
            conflist: undefined,
        },
        mode: modeOf(config),
        metrics: noMetrics,
        health,
        readiness,
        jobs,
        kube: {
            api,
            connection: () => Promise.reject(new KubeError("CONNECTION_FAILED", "nothing is connected to")),
            close: () => transport.breakWatches(),
        },
        events: quietEvents(record),
        nodes: nodesOf({ api, clock, logger }),
        netlink: MachineLinks.of(machine, io),
        host: hostOf(machine),
        database: new MachineDatabase(machine, io),
        openflow,
        bridge: new MachineBridge(machine, io, config.ovsBridge),
        switchBridges: switchBridgesOf(machine, io),
        flowTable: new MachineFlows(machine, io),
        podInterfaces: new PodInterfaces(),
        datapath: datapathOf(config.ovsDatapathType),
        // its switch tracks no connections
        vswitchd: {
            request: async (_command, _args, signal) => {
                await machine.ovs(signal);
                return io.call(() => "");
            },
        },
        probe: {
            passed: async (signal) => {
                await machine.ovs(signal);
                await io.call(() => readiness.met(datapathCondition));
            },
        },
    };
}
