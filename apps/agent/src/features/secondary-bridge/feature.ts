import { secondaryBridgeCondition } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import type { NetlinkEvent } from "@antrea/netlink";
import { Port } from "@antrea/openflow";
import type { Feature } from "../../platform/feature.ts";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import { NodeCondition } from "../../platform/node/node-condition.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import { Announcer } from "../../platform/ovs/announcer.ts";
import { type AccessPort, type SwitchBridge } from "../../platform/ovs/bridge/index.ts";
import { FormerBridges } from "./former-bridges.ts";
import { NicSettings } from "./nic-settings.ts";
import { SecondaryBridge } from "./secondary-bridge.ts";

const resyncMs = 60_000;

/** What the feature needs of the platform. */
export type BridgePlatform = Pick<
    NodePlatform,
    | "bridge"
    | "clock"
    | "config"
    | "database"
    | "datapath"
    | "environment"
    | "gates"
    | "jobs"
    | "kube"
    | "logger"
    | "metrics"
    | "netlink"
    | "switchBridges"
    | "sysctls"
>;

/** What Pods are connected to. */
export interface ServedBridge {
    readonly ports: Pick<SwitchBridge, keyof SwitchBridge>;
    readonly state: Pick<SecondaryBridge, "mtu" | "problem">;
    /** Announces the addresses of a Pod's port in its VLAN; what cannot be sent is logged. */
    readonly announce: Announcer["announce"];
}

/** The bridge of networks other than the Pod network. */
export interface SecondaryBridgeFeature extends Feature {
    /** Undefined if the feature gate SecondaryNetwork is disabled, or no bridge is configured. */
    readonly served: ServedBridge | undefined;
}

/**
 * Makes the bridge of `secondaryNetwork.ovsBridges`, and keeps it so: adds the jobs `secondary-bridge/bridge`, each minute
 * and when a NIC changes, and `secondary-bridge/report`, which writes the condition of the Node. A bridge that is no longer
 * configured is deleted: with the last Pod port in it or, if another one takes its place, at once.
 */
export function secondaryBridge(platform: BridgePlatform): SecondaryBridgeFeature {
    const { config, datapath, gates, netlink, switchBridges, sysctls } = platform;
    const logger = platform.logger.child("secondary-bridge");
    const settings = new NicSettings(
        { netlink, sysctls },
        { linkGroup: datapath.copiesFrames ? podLinkGroup : undefined },
    );
    const former = new FormerBridges({ bridges: switchBridges, netlink, settings, logger });
    const [wanted] = gates.enabled("SecondaryNetwork") ? config.secondaryNetwork.ovsBridges : [];
    return wanted === undefined
        ? withoutBridge(platform, former)
        : withBridge(platform, wanted, { settings, former, logger });
}

function withoutBridge(
    { environment, jobs, kube }: Pick<BridgePlatform, "environment" | "jobs" | "kube">,
    former: FormerBridges,
): SecondaryBridgeFeature {
    const condition = new NodeCondition({ api: kube.api }, { nodeName: environment.nodeName });
    return {
        name: "secondary-bridge",
        served: undefined,
        start: () => {
            jobs.every("secondary-bridge/bridge", resyncMs, (signal) => former.deleteUnused(signal));
            jobs.once("secondary-bridge/report", (signal) => condition.remove(secondaryBridgeCondition, signal));
        },
    };
}

function withBridge(
    platform: BridgePlatform,
    {
        bridgeName,
        enableMulticastSnooping,
        physicalInterfaces,
    }: BridgePlatform["config"]["secondaryNetwork"]["ovsBridges"][number],
    {
        settings,
        former,
        logger,
    }: {
        readonly settings: NicSettings;
        readonly former: FormerBridges;
        readonly logger: BridgePlatform["logger"];
    },
): SecondaryBridgeFeature {
    const { bridge, clock, database, environment, jobs, kube, metrics, netlink, switchBridges } = platform;
    const condition = new NodeCondition({ api: kube.api }, { nodeName: environment.nodeName });
    const ports = switchBridges.of({ bridge: bridgeName, multicastSnooping: enableMulticastSnooping });
    const state = new SecondaryBridge(
        { bridge: ports, netlink, settings, bridgeOf: (name) => bridge.bridgeOf(name), logger },
        { nics: physicalInterfaces },
    );
    const connection = switchBridges.connection(bridgeName);
    const announcer = new Announcer(
        { packetOut: (packet) => connection.packetOut(packet), logger, clock },
        { output: Port.NORMAL },
    );
    /** Ports of Pods that a former bridge had. */
    const moved: AccessPort[] = [];
    const check = async (signal: AbortSignal): Promise<void> => {
        moved.push(...(await former.deleteAllBut(bridgeName, signal)));
        await state.check(signal);
        if (moved.length > 0) await ports.ensurePorts(moved, signal);
        moved.length = 0;
    };
    let events: Disposable | undefined;
    return {
        name: "secondary-bridge",
        served: { ports, state, announce: (pod) => announcer.announce(pod) },
        // Before the interfaces of Pods are rebuilt from its ports.
        stage: async (signal) => {
            try {
                await check(signal);
            } catch (error) {
                signal.throwIfAborted();
                logger.warn("the secondary bridge is not ready yet", { reason: messageOf(error) });
            }
        },
        start: (signal) => {
            connection.start(signal);
            declareMetrics(metrics, state, physicalInterfaces.length);
            const report = jobs.every("secondary-bridge/report", resyncMs, async (limit) => {
                const text = state.condition;
                if (text !== undefined) await condition.set(text, limit);
            });
            const job = jobs.every("secondary-bridge/bridge", resyncMs, async (limit) => {
                try {
                    await check(limit);
                } finally {
                    report.trigger();
                }
            });
            database.onConnect(() => job.trigger());
            events = netlink.subscribe(["link", "address"], (event) => {
                if (concerns(event, physicalInterfaces)) job.trigger();
            });
        },
        stop: async () => {
            events?.[Symbol.dispose]();
            announcer[Symbol.dispose]();
            await connection.close();
        },
    };
}

/** Whether the event may be about one of these links; addresses name their link by number only. */
function concerns(event: NetlinkEvent, names: readonly string[]): boolean {
    return event.type !== "link" || names.includes(event.link.name);
}

function declareMetrics(
    metrics: BridgePlatform["metrics"],
    state: Pick<SecondaryBridge, "connected">,
    configured: number,
): void {
    metrics.gauge({
        name: "antrea_agent_secondary_bridge_nics",
        help: "NICs of secondaryNetwork.ovsBridges, by whether they are connected.",
        labelNames: ["connected"],
        collect: () => {
            const { connected } = state;
            return [
                { labels: { connected: "true" }, value: connected },
                { labels: { connected: "false" }, value: configured - connected },
            ];
        },
    });
}
