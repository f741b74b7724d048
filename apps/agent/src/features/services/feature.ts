import { isErrorOf, messageOf } from "@antrea/errors";
import { serviceParts, serviceTables } from "@antrea/flows";
import { WorkQueue } from "@antrea/kube";
import { OpenFlowError } from "@antrea/openflow";
import { ServiceIndex, type ServedService } from "@antrea/services";
import type { Feature } from "../../platform/feature.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import type { EarlierState } from "../../platform/ovs/flow-table/index.ts";
import type { HostServiceCidrs, HostStack } from "./host-stack.ts";
import { FirstSync } from "./first-sync.ts";
import { JournalFile, removeJournalFile } from "./journal/journal-file.ts";
import { LastKnownServices } from "./journal/last-known.ts";
import { ServiceJournal, type ServiceJournalComponents } from "./journal/service-journal.ts";
import { LearnedFlows } from "./learned-flows.ts";
import { proxyMetrics } from "./metrics.ts";
import { ensureRejectMeter } from "./rejects/meter.ts";
import { Rejects } from "./rejects/rejects.ts";
import { ServiceEvents } from "./service-events.ts";
import { familiesOf, ServiceSync } from "./service-sync.ts";
import { ServiceWatch } from "./service-watch.ts";
import { settingsOf } from "./settings.ts";
import { SyncHealth, type SyncState } from "./sync-health.ts";
import { onFirstOfVlan } from "./udp/first-of-vlan.ts";
import { removeTranslated } from "./udp/remove-translated.ts";
import { UdpCleanUp } from "./udp/udp-clean-up.ts";
import { udpComponents } from "./udp/components.ts";

/** Services whose changes are under way at a time: as many as a few bundles hold. */
const concurrency = 256;
const checkMs = 60_000;
/** That of some three million endpoints. */
const maxJournalBytes = 256 << 20;

/** What the feature needs of the platform. */
export type ServicesPlatform = Pick<
    NodePlatform,
    | "bridgedMac"
    | "clock"
    | "config"
    | "datapath"
    | "environment"
    | "events"
    | "flowTable"
    | "gates"
    | "health"
    | "jobs"
    | "kube"
    | "logger"
    | "metrics"
    | "node"
    | "nodes"
    | "openflow"
    | "pipeline"
    | "pipelineInput"
    | "podInterfaces"
    | "servesNode"
    | "servesServices"
    | "vswitchd"
>;

/** The feature, and what others need of it. */
export interface ServicesFeature extends Feature {
    /** Registers a listener, for good, that is called once, when OVS has all Services. */
    onComplete(listener: () => void): void;
    /** Registers a listener, for good, that is called when OVS has the change of a Service; undefined: it has none of it. */
    onInstalled(listener: (key: string, service: ServedService | undefined) => void): void;
    /** Whether changes of Services get into OVS. */
    syncState(): SyncState;
}

/**
 * AntreaProxy: OVS serves ClusterIPs and addresses of load balancers to the Pods of this Node, and with `proxyAll` all
 * Services to the Node itself and to clients outside too. The flows of an earlier start stay until all Services are known
 * and in OVS, and until then what goes to none is dropped; without them and the API server those of the journal are served.
 * Adds the jobs `services/first-sync`, `services/complete`, `services/learned-flows`, `services/journal` and, with the gate
 * `CleanupStaleUDPSvcConntrack`, `services/udp-connections`. If it is off, it removes the journal and, with that gate, by the
 * same job the UDP connections that an earlier start has translated.
 *
 * @param host undefined without `proxyAll`
 * @param cidrs the same
 */
export function services(
    platform: ServicesPlatform,
    host: HostStack | undefined,
    cidrs: HostServiceCidrs | undefined,
): ServicesFeature {
    return platform.servesServices ? servingServices(platform, host, cidrs) : withoutServices(platform);
}

/**
 * TCP connections that were translated go on, and end; UDP connections would go on for as long as their clients send. With
 * the kernel datapath they outlive an OVS that is restarted with the agent, after which no earlier flow is left.
 */
function withoutServices(platform: ServicesPlatform): ServicesFeature {
    const { datapath, environment, flowTable, gates, jobs } = platform;
    let wasOn = false;
    return {
        name: "services",
        onComplete: () => undefined,
        onInstalled: () => undefined,
        syncState: () => ({ waitingMs: undefined, syncedAt: undefined }),
        stage: () => {
            const read = ({ flows }: EarlierState): void => void (wasOn = flows.length > 0);
            flowTable.onEarlier({ needsGroups: () => false, read });
        },
        start: () => {
            try {
                removeJournalFile(environment.stateFolder);
            } catch (error) {
                platform.logger.warn("the journal of Services cannot be removed", { reason: messageOf(error) });
            }
            if (!gates.enabled("CleanupStaleUDPSvcConntrack") || (!wasOn && datapath.forgetsConnections)) return;
            jobs.once("services/udp-connections", (limit) => removeTranslated(platform, limit));
        },
    };
}

function servingServices(
    platform: ServicesPlatform,
    host: HostStack | undefined,
    cidrs: HostServiceCidrs | undefined,
): ServicesFeature {
    const { clock, environment, events, flowTable, gates, jobs, kube, nodes, openflow, pipeline, pipelineInput } =
        platform;
    const logger = platform.logger.child("services");
    const isBridging = platform.bridgedMac !== undefined;
    const { keepsFragments } = platform.datapath;
    const index = new ServiceIndex(settingsOf(platform));
    const metrics = proxyMetrics(
        platform.metrics,
        () => sync.installed.values(),
        () => sync.unserved,
    );
    const udp = gates.enabled("CleanupStaleUDPSvcConntrack")
        ? new UdpCleanUp({
              ...udpComponents(platform),
              possible: () => sync.possible(),
              host,
              clock,
              onFlushed: (requests) => metrics.flushed(requests),
          })
        : undefined;
    let cleanUp = (): void => undefined;
    let hasRejectMeter = true;
    const health = new SyncHealth({ clock });
    const installed: ((key: string, service: ServedService | undefined) => void)[] = [];
    const learned = new LearnedFlows({ openflow, logger, proxyAll: host !== undefined, keepsFragments });
    const sync: ServiceSync = new ServiceSync({
        index,
        flowTable,
        next: pipeline,
        learned,
        events: new ServiceEvents({ record: (event) => events.record(event), clock }),
        host,
        isBridging,
        keepsFragments,
        hasRejectMeter: () => hasRejectMeter,
        onChanged: (before, after) => {
            if (udp?.changed(before, after) === true) cleanUp();
            const { key = "" } = after ?? before ?? {};
            for (const listener of installed) listener(key, after);
        },
        clock,
    });
    const mark = (key: string): void => {
        health.changed(key);
        queue.add(key);
    };
    const file = new JournalFile({ folder: environment.stateFolder, maxBytes: maxJournalBytes });
    const serviceCidrs = (): ReturnType<ServiceJournalComponents["serviceCidrs"]> => cidrs?.known;
    const journal = new ServiceJournal({ file, index, serviceCidrs, clock, logger, metrics });
    const objectsChanged = (key: string): void => journal.changed(key);
    const watch = new ServiceWatch({ api: kube.api, clock, logger, index, nodes, mark, objectsChanged, metrics });
    const lastKnown = new LastKnownServices({ openflow, watch, journal, cidrs, clock, logger });
    const rejects = new Rejects({
        packetOut: (packet) => openflow.packetOut(packet),
        logger,
        onRejected: (family) => metrics.rejected(family),
    });
    const [lastKnownSync, firstSync] = [new FirstSync(), new FirstSync()];
    const areComplete = (): boolean => lastKnownSync.isComplete || firstSync.isComplete;
    let listsKnownAt = clock.monotonic();
    const reconcile = async (key: string, signal: AbortSignal): ReturnType<ServiceSync["reconcile"]> => {
        const began = clock.monotonic();
        const trigger = watch.takeTrigger(key);
        health.begin(key);
        try {
            const result = await sync.reconcile(key, signal);
            health.done(key);
            metrics.synced(familiesOf(sync.installed.get(key)), (clock.monotonic() - began) / 1_000);
            if (trigger !== undefined) metrics.endpointsServed(Math.max(0, clock.now() - trigger) / 1_000);
            return result;
        } catch (error) {
            watch.returnTrigger(key, trigger);
            // one Service that OVS refuses is no reason to send nobody to the others
            if (isErrorOf(OpenFlowError, error, "REFUSED")) health.done(key);
            else health.failed(key);
            throw error;
        } finally {
            lastKnownSync.tried(key);
            firstSync.tried(key);
        }
    };
    const queue: WorkQueue = new WorkQueue(
        { logger, clock, metrics: platform.metrics },
        { name: "services", concurrency },
        reconcile,
    );
    platform.health.showJobs({ health: () => [queue.health()] });
    const listeners = new DisposableStack();
    return {
        name: "services",
        pipeline: {
            tables: serviceTables({ bridging: isBridging, proxyAll: platform.servesNode, keepsFragments }),
            parts: () => {
                const input = pipelineInput();
                const services = input.services && {
                    ...input.services,
                    withoutMeter: !hasRejectMeter,
                    areComplete: areComplete(),
                };
                return Promise.resolve(serviceParts({ ...input, services }));
            },
            isComplete: () => firstSync.isComplete,
        },
        onComplete: (listener) => firstSync.onComplete(listener),
        onInstalled: (listener) => void installed.push(listener),
        syncState: () => health.state,
        stage: (signal) => {
            // before the first replay, whose flows use the meter
            listeners.use(
                openflow.onReady(async (link) => {
                    const had = hasRejectMeter;
                    hasRejectMeter = await ensureRejectMeter(link, logger);
                    if (had !== hasRejectMeter) for (const key of sync.installed.keys()) mark(key);
                }),
            );
            listeners.use(openflow.onPacketIn((packet) => rejects.handle(packet)));
            watch.start(signal);
            listeners.use(lastKnown.stage());
        },
        start: (signal) => {
            queue.start(signal);
            firstSync.onComplete(() => {
                const seconds = (clock.monotonic() - listsKnownAt) / 1_000;
                logger.info("OVS serves Services", { services: sync.installed.size, seconds });
                host?.complete();
                journal.begin(jobs);
                jobs.once("services/learned-flows", (limit) => learned.deleteOthers(limit));
            });
            // after a reboot the host has nothing of an earlier start either
            lastKnownSync.onComplete(() => host?.complete());
            host?.onChange(mark);
            cidrs?.onChange(() => journal.cidrsChanged());
            let isAnnounced = false;
            const announce = (): void => {
                if (!isAnnounced) jobs.once("services/complete", (limit) => pipeline.applyTo(flowTable, limit));
                isAnnounced = true;
            };
            for (const first of [lastKnownSync, firstSync]) first.onComplete(announce);
            const begin = (first: FirstSync, keys: readonly string[]): void => {
                first.begin(keys);
                for (const key of keys) mark(key);
            };
            jobs.once("services/first-sync", async (limit) => {
                const known = await lastKnown.restore(limit);
                if (known.length > 0) begin(lastKnownSync, known);
                const keys = await watch.synced(limit);
                listsKnownAt = clock.monotonic();
                begin(firstSync, keys);
            });
            if (udp === undefined) return;
            const job = jobs.every("services/udp-connections", checkMs, (limit) => udp.pass(limit), { delayed: true });
            cleanUp = () => job.trigger();
            if (isBridging)
                listeners.use(onFirstOfVlan(platform.podInterfaces, () => void (udp.zoneAdded() && cleanUp())));
            firstSync.onComplete(() => {
                udp.begin();
                job.trigger();
            });
        },
        stop: async () => {
            listeners.dispose();
            await watch.close();
            await queue.close();
            await journal.close();
        },
    };
}
