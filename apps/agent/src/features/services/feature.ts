import { messageOf } from "@antrea/errors";
import { serviceParts, serviceTables } from "@antrea/flows";
import { WorkQueue } from "@antrea/kube";
import { ServiceIndex } from "@antrea/services";
import type { Feature } from "../../platform/feature.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import type { EarlierState } from "../../platform/ovs/flow-table/index.ts";
import { FirstSync } from "./first-sync.ts";
import { JournalFile, removeJournalFile } from "./journal/journal-file.ts";
import { LastKnownServices } from "./journal/last-known.ts";
import { ServiceJournal } from "./journal/service-journal.ts";
import { LearnedFlows } from "./learned-flows.ts";
import { proxyMetrics } from "./metrics.ts";
import { ensureRejectMeter } from "./rejects/meter.ts";
import { Rejects } from "./rejects/rejects.ts";
import { ServiceEvents } from "./service-events.ts";
import { familiesOf, ServiceSync } from "./service-sync.ts";
import { ServiceWatch } from "./service-watch.ts";
import { settingsOf } from "./settings.ts";
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
    | "clock"
    | "config"
    | "datapath"
    | "environment"
    | "events"
    | "flowTable"
    | "gates"
    | "jobs"
    | "kube"
    | "logger"
    | "metrics"
    | "node"
    | "nodes"
    | "openflow"
    | "pipeline"
    | "pipelineInput"
    | "servesServices"
    | "vswitchd"
>;

/** The feature, and what others need of it. */
export interface ServicesFeature extends Feature {
    /** Registers a listener, for good, that is called once, when OVS has all Services. */
    onComplete(listener: () => void): void;
}

/**
 * AntreaProxy beside kube-proxy: OVS serves ClusterIPs and addresses of load balancers to the Pods of this Node. The flows of
 * an earlier start stay until all Services are known and in OVS; without them and the API server those of the journal are
 * served. Adds the jobs `services/first-sync`, `services/journal` and `services/udp-connections`. If it is off, it removes
 * the journal, and the UDP connections that an earlier start has translated.
 */
export function services(platform: ServicesPlatform): ServicesFeature {
    return platform.servesServices ? servingServices(platform) : withoutServices(platform);
}

/**
 * TCP connections that were translated go on, and end; UDP connections would go on for as long as their clients send. With
 * the kernel datapath they outlive an OVS that is restarted with the agent, after which no earlier flow is left.
 */
function withoutServices(platform: ServicesPlatform): ServicesFeature {
    const { datapath, environment, flowTable, jobs } = platform;
    let wasOn = false;
    return {
        name: "services",
        onComplete: () => undefined,
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
            if (!wasOn && datapath.forgetsConnections) return;
            const udp = new UdpCleanUp({
                ...udpComponents(platform),
                possible: () => [],
                onFlushed: () => undefined,
                clock: platform.clock,
            });
            udp.begin();
            jobs.every("services/udp-connections", checkMs, (limit) => udp.pass(limit));
        },
    };
}

function servingServices(platform: ServicesPlatform): ServicesFeature {
    const { clock, environment, events, flowTable, gates, jobs, kube, nodes, openflow, pipeline, pipelineInput } =
        platform;
    const logger = platform.logger.child("services");
    const index = new ServiceIndex(settingsOf(platform));
    const metrics = proxyMetrics(platform.metrics, () => sync.installed.values());
    const udp = gates.enabled("CleanupStaleUDPSvcConntrack")
        ? new UdpCleanUp({
              ...udpComponents(platform),
              possible: () => sync.possible(),
              clock,
              onFlushed: (requests) => metrics.flushed(requests),
          })
        : undefined;
    let cleanUp = (): void => undefined;
    const sync: ServiceSync = new ServiceSync({
        index,
        flowTable,
        next: pipeline,
        learned: new LearnedFlows({ openflow, logger }),
        events: new ServiceEvents({ record: (event) => events.record(event), clock }),
        onChanged: (before, after) => {
            if (udp?.changed(before, after) === true) cleanUp();
        },
        clock,
    });
    const mark = (key: string): void => queue.add(key);
    const file = new JournalFile({ folder: environment.stateFolder, maxBytes: maxJournalBytes });
    const journal = new ServiceJournal({ file, index, clock, logger, metrics });
    const objectsChanged = (key: string): void => journal.changed(key);
    const watch = new ServiceWatch({ api: kube.api, clock, logger, index, nodes, mark, objectsChanged, metrics });
    const lastKnown = new LastKnownServices({ openflow, watch, journal, mark, clock, logger });
    const rejects = new Rejects({
        packetOut: (packet) => openflow.packetOut(packet),
        logger,
        onRejected: (family) => metrics.rejected(family),
    });
    const firstSync = new FirstSync();
    const reconcile = async (key: string, signal: AbortSignal): ReturnType<ServiceSync["reconcile"]> => {
        const began = clock.monotonic();
        const trigger = watch.takeTrigger(key);
        try {
            const result = await sync.reconcile(key, signal);
            metrics.synced(familiesOf(sync.installed.get(key)), (clock.monotonic() - began) / 1_000);
            if (trigger !== undefined) metrics.endpointsServed(Math.max(0, clock.now() - trigger) / 1_000);
            return result;
        } finally {
            firstSync.tried(key);
        }
    };
    const queue: WorkQueue = new WorkQueue(
        { logger, clock, metrics: platform.metrics },
        { name: "services", concurrency },
        reconcile,
    );
    const listeners = new DisposableStack();
    return {
        name: "services",
        pipeline: {
            tables: serviceTables({ bridging: false, proxyAll: false }),
            parts: () => Promise.resolve(serviceParts(pipelineInput())),
            isComplete: () => firstSync.isComplete,
        },
        onComplete: (listener) => firstSync.onComplete(listener),
        stage: (signal) => {
            // before the first replay, whose flows use the meter
            listeners.use(openflow.onReady((link) => ensureRejectMeter(link, logger)));
            listeners.use(openflow.onPacketIn((packet) => rejects.handle(packet)));
            watch.start(signal);
            listeners.use(lastKnown.stage());
        },
        start: (signal) => {
            queue.start(signal);
            firstSync.onComplete(() => {
                logger.info("OVS serves Services", { services: sync.installed.size });
                journal.begin(jobs);
            });
            jobs.once("services/first-sync", async (limit) => {
                await lastKnown.serve(limit);
                const keys = await watch.synced(limit);
                firstSync.begin(keys);
                for (const key of keys) queue.add(key);
            });
            if (udp === undefined) return;
            const job = jobs.every("services/udp-connections", checkMs, (limit) => udp.pass(limit), { delayed: true });
            cleanUp = () => job.trigger();
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
