import { orAborted } from "@antrea/async";
import type { IpAddress } from "@antrea/ip";
import { configHashAnnotation, configMirrorAnnotation, hasPodUid, Informer, pods, type Pod } from "@antrea/kube";
import { networksAnnotation, type PoolMatch } from "@antrea/networks";
import type { Feature } from "../../platform/feature.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import type { NetworkInterfaceView, WiredNetworks } from "../../platform/pod-interfaces/index.ts";
import { reportChangedAnnotations, type PodWatch } from "./changed-annotations.ts";
import { Definitions } from "./definitions.ts";
import { networkMetrics } from "./metrics.ts";
import { Networks, type NetworksComponents } from "./networks.ts";
import { StatusReports } from "./status-reports.ts";
import { isCalledFirst, type CniFiles } from "./who-attaches.ts";
import { wiredBefore } from "./wired-before.ts";

/** What the networks of Pods need of other features. */
export interface NetworksNeeds {
    /** The bridge of networks; undefined if none is configured. */
    readonly bridge: { readonly mtu: number; readonly problem: string | undefined } | undefined;
    /** The IPPools; undefined if AntreaIPAM is disabled. */
    readonly pools:
        | {
              synced(signal: AbortSignal): Promise<void>;
              poolOf(ip: IpAddress, named: readonly string[], match: PoolMatch): string | undefined;
          }
        | undefined;
    /** Finds the virtual functions that the kubelet allocated to Pods. */
    readonly findDevices: NetworksComponents["findDevices"];
    /** What this agent has made. */
    readonly interfaces: Pick<NetworkInterfaceView, "list">;
    /** The Pods of this Node, if another feature watches them already. */
    readonly pods: PodWatch | undefined;
}

/** What reads files of the Node. */
export interface NetworkNodeParts {
    /** Reads the folder of CNI configurations. */
    readonly cniFiles: CniFiles;
}

/** The feature, and what wiring uses. */
export interface NetworksFeature extends Feature {
    /** Finds and judges the networks that Pods request. */
    readonly networks: Networks;
    /** Reports the interfaces of a Pod; resolves after one second at the latest, never rejects. */
    report(wired: WiredNetworks): Promise<void>;
}

const retryMs = 10_000;
const noBridge =
    "there is no bridge for it: secondaryNetwork.ovsBridges is empty; next: name a bridge and its NICs there, or take the network out of the annotation";

/**
 * Finds and judges the networks that Pods request, and reports on Pods what they got: adds the job `networks/status`, which
 * repeats what could not be written, and writes what an earlier start did not, and an event for each annotation that is changed too late.
 */
export function podNetworks(
    platform: Pick<
        NodePlatform,
        "environment" | "events" | "jobs" | "kube" | "logger" | "metrics" | "podInterfaces" | "podMtu"
    >,
    { bridge, findDevices, interfaces, pools, pods: watched }: NetworksNeeds,
    { cniFiles }: NetworkNodeParts,
): NetworksFeature {
    const { environment, events, jobs, kube, podInterfaces } = platform;
    const logger = platform.logger.child("networks");
    const ownWatch = new Informer(
        { api: kube.api, logger },
        { resource: pods, fieldSelector: `spec.nodeName=${environment.nodeName}`, transform: onlyNetworks },
    );
    // One watch of the Pods is enough.
    const watch: PodWatch = watched ?? ownWatch;
    const networks = new Networks({
        api: kube.api,
        definitions: new Definitions({ api: kube.api }),
        isCalledFirst: () => isCalledFirst(environment.cniConfFolder, cniFiles),
        known: (key) => watch.get(key),
        findDevices,
        surroundings: async (needsPools, signal) => {
            if (needsPools && pools !== undefined) await orAborted(pools.synced(signal), signal);
            return {
                bridgeProblem: bridge === undefined ? noBridge : bridge.problem,
                nicMtu: bridge?.mtu ?? 0,
                poolOf: pools && ((...args) => pools.poolOf(...args)),
            };
        },
        record: (event) => events.record(event),
        metrics: networkMetrics(platform.metrics, interfaces),
        logger,
    });
    const reports = new StatusReports({
        api: kube.api,
        isWired: (attachment) => podInterfaces.get(attachment) !== undefined,
        logger,
    });
    const reportBefore = async (): Promise<void> => {
        // A meta plugin writes the annotation itself.
        if (!(await isCalledFirst(environment.cniConfFolder, cniFiles).catch(() => false))) return;
        for (const wired of wiredBefore(podInterfaces, interfaces, platform.podMtu())) reports.reportLater(wired);
    };
    let isFirstRun = true;
    const isOurs = async (pod: Pod): Promise<boolean> => {
        const isWired = podInterfaces
            .list()
            .some(({ record }) => record.podUid !== "" && hasPodUid(pod, record.podUid));
        return isWired && (await isCalledFirst(environment.cniConfFolder, cniFiles).catch(() => false));
    };
    const madeFrom = (pod: Pod): readonly string[] =>
        podInterfaces
            .list()
            .flatMap(({ record: { podUid, networksHash } }) =>
                podUid !== "" && networksHash !== undefined && hasPodUid(pod, podUid) ? [networksHash] : [],
            );
    let listener: Disposable | undefined;
    return {
        name: "networks",
        networks,
        report: (wired) => reports.report(wired),
        start: (signal) => {
            const before = podInterfaces.list().map(({ record }) => `${record.podNamespace}/${record.podName}`);
            listener = reportChangedAnnotations(watch, { isOurs, madeFrom, before }, (event) => events.record(event));
            if (watched === undefined) ownWatch.start(signal);
            jobs.every("networks/status", retryMs, async (limit) => {
                if (isFirstRun) await reportBefore();
                isFirstRun = false;
                if (reports.isPending) await reports.retry(limit);
            });
        },
        stop: async () => {
            listener?.[Symbol.dispose]();
            await ownWatch.close();
        },
    };
}

function onlyNetworks({ metadata }: Pod): Pod {
    const { namespace = "", name = "", uid = "", resourceVersion = "", annotations = {} } = metadata ?? {};
    const kept = [networksAnnotation, configHashAnnotation, configMirrorAnnotation].flatMap((key) => {
        const value = annotations[key];
        return value === undefined ? [] : [[key, value] as const];
    });
    return {
        metadata: { namespace, name, uid, resourceVersion, annotations: Object.fromEntries(kept) },
        spec: { containers: [] },
    };
}
