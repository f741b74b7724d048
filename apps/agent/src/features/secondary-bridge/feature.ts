import { secondaryBridgeCondition } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import type { NetlinkEvent } from "@antrea/netlink";
import { Port } from "@antrea/openflow";
import type { Feature } from "../../platform/feature.ts";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import { NodeCondition } from "../../platform/node/node-condition.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import { Announcer } from "../../platform/ovs/announcer.ts";
import { type SwitchBridge } from "../../platform/ovs/bridge/index.ts";
import { isPhysicalNameOf } from "../../platform/host/uplink/index.ts";
import { FormerBridges } from "./former-bridges.ts";
import { NicSettings } from "./nic-settings.ts";
import type { NicUplinks } from "./nic-uplinks.ts";
import { SecondaryBridge } from "./secondary-bridge.ts";

const resyncMs = 60_000;
const nicCheckMs = 1_000;
const maxNicPauseMs = 30_000;

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
    | "transport"
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
 * and when a NIC changes, `secondary-bridge/report`, which writes the condition of the Node, and for each NIC
 * `secondary-bridge/nic/NAME`, which connects it with a host port if the Node uses it too. A bridge that is no longer
 * configured is deleted: with the last Pod port in it or, if another one takes its place, at once.
 *
 * @param uplinks those of the NICs; recovered before, and restored at the end by the caller
 */
export function secondaryBridge(platform: BridgePlatform, uplinks: NicUplinks): SecondaryBridgeFeature {
    const { config, datapath, gates, netlink, switchBridges, sysctls } = platform;
    const logger = platform.logger.child("secondary-bridge");
    const settings = new NicSettings(
        { netlink, sysctls },
        { linkGroup: datapath.copiesFrames ? podLinkGroup : undefined },
    );
    const former = new FormerBridges({ bridges: switchBridges, netlink, settings, logger });
    const [wanted] = gates.enabled("SecondaryNetwork") ? config.secondaryNetwork.ovsBridges : [];
    return wanted === undefined
        ? withoutBridge(platform, { former, uplinks })
        : withBridge(platform, wanted, { settings, uplinks, logger });
}

function withoutBridge(
    { environment, jobs, kube }: Pick<BridgePlatform, "environment" | "jobs" | "kube">,
    { former, uplinks }: { readonly former: FormerBridges; readonly uplinks: NicUplinks },
): SecondaryBridgeFeature {
    const condition = new NodeCondition({ api: kube.api }, { nodeName: environment.nodeName });
    return {
        name: "secondary-bridge",
        served: undefined,
        start: () => {
            jobs.every("secondary-bridge/bridge", resyncMs, async (signal) => {
                await uplinks.releaseUnused(signal);
                await former.deleteUnused(signal);
            });
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
        uplinks,
        logger,
    }: {
        readonly settings: NicSettings;
        readonly uplinks: NicUplinks;
        readonly logger: BridgePlatform["logger"];
    },
): SecondaryBridgeFeature {
    const { bridge, clock, config, database, environment, jobs, kube, metrics, netlink, switchBridges, transport } =
        platform;
    const condition = new NodeCondition({ api: kube.api }, { nodeName: environment.nodeName });
    const ports = switchBridges.of({ bridge: bridgeName, multicastSnooping: enableMulticastSnooping });
    const state = new SecondaryBridge(
        {
            bridge: ports,
            netlink,
            settings,
            uplinks,
            bridgeOf: (name) => bridge.bridgeOf(name),
            bridgedNic: () => (config.enableBridgingMode ? transport.state.name : undefined),
            makeRoom: async (signal) => {
                const former = await ports.takeOver(signal);
                if (former.length > 0) logger.info("bridge has the ports of others", { bridge: bridgeName, former });
            },
            clock,
            logger,
        },
        { nics: physicalInterfaces },
    );
    const connection = switchBridges.connection(bridgeName);
    const announcer = new Announcer(
        { packetOut: (packet) => connection.packetOut(packet), logger, clock },
        { output: Port.NORMAL },
    );
    const keepNic = async (nic: string, changed: () => void, signal: AbortSignal): Promise<void> => {
        if (state.isWaiting(nic)) return changed();
        if (!state.nicsOfNode.includes(nic)) return;
        const before = uplinks.state(nic);
        try {
            await uplinks.keep(nic, signal);
        } finally {
            if (uplinks.state(nic) !== before || uplinks.failure(nic) !== undefined) changed();
        }
        if (uplinks.state(nic) === before || uplinks.state(nic).kind !== "bridged") return;
        // As in bridging mode: the kernel drops the connections that it masquerades, which are closed rather than waited for.
        kube.close();
        if (transport.state.name === nic) await transport.check();
    };
    let events: Disposable | undefined;
    return {
        name: "secondary-bridge",
        served: { ports, state, announce: (pod) => announcer.announce(pod) },
        // Before the interfaces of Pods are rebuilt from its ports.
        stage: async (signal) => {
            try {
                await state.check(signal);
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
                    await state.check(limit);
                    await uplinks.releaseUnused(limit);
                } finally {
                    report.trigger();
                }
            });
            for (const nic of physicalInterfaces) {
                const backoff = { initialMs: nicCheckMs, maxMs: maxNicPauseMs };
                const changed = (): void => job.trigger();
                const keep = (limit: AbortSignal): Promise<void> => keepNic(nic, changed, limit);
                jobs.every(`secondary-bridge/nic/${nic}`, nicCheckMs, keep, { backoff });
            }
            database.onConnect(() => job.trigger());
            events = netlink.subscribe(["link", "address"], (event) => {
                if (concerns(event, physicalInterfaces, state)) job.trigger();
            });
        },
        stop: async () => {
            events?.[Symbol.dispose]();
            announcer[Symbol.dispose]();
            await connection.close();
        },
    };
}

/** Whether the event may be about one of these NICs: the ADD of a Pod alone has dozens about other links. */
function concerns(event: NetlinkEvent, names: readonly string[], known: Pick<SecondaryBridge, "hasLink">): boolean {
    switch (event.type) {
        case "link": {
            const { index, name } = event.link;
            return known.hasLink(index) || names.some((nic) => nic === name || isPhysicalNameOf(nic, name));
        }
        // It names its link by number only.
        case "address":
            return known.hasLink(event.address.index);
        default:
            return true;
    }
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
