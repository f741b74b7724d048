import { messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import { isKubeError, pods, type ApiClient } from "@antrea/kube";
import {
    mergeStatus,
    statusAnnotation,
    writtenStatuses,
    type DeviceInfo,
    type NetworkStatus,
    type StatusOfOurs,
} from "@antrea/networks";
import type { Logger } from "@antrea/runtime";
import {
    attachmentKey,
    podText,
    type DeviceId,
    type NetworkRecord,
    type PodAttachment,
    type PodRecord,
    type WiredNetworks,
} from "../../platform/pod-interfaces/index.ts";
import { isPodOf } from "../../platform/pod-object.ts";

/** Dependencies of StatusReports. */
export interface StatusReportsComponents {
    readonly api: Pick<ApiClient, "find" | "patch">;
    /** Whether the interface is still wired. */
    readonly isWired: (attachment: PodAttachment) => boolean;
    readonly logger: Logger;
}

interface Report {
    readonly pod: PodAttachment;
    readonly statuses: readonly NetworkStatus[];
    /** An earlier start of the agent may have written it: only elements that the annotation lacks are. */
    readonly isOfBefore?: true;
}

/** An ADD is answered after this time, also if the API server did not answer. */
const waitMs = 1_000;
/** Others write the status of a Pod that starts too. */
const maxConflicts = 5;
/** More than the Pods of a Node: those that have ended go first. */
const maxPods = 1_000;

/**
 * Writes which interfaces Pods have into their annotation `statusAnnotation`, by the rules of `mergeStatus`. What could not be
 * written within an ADD is written by `retry`.
 */
export class StatusReports {
    readonly #components: StatusReportsComponents;
    /** What is not written yet, by the attachment of the Pod's own interface. */
    readonly #pending = new Map<string, Report>();
    /** By UID, the elements of further interfaces that were reported: the next sandbox of the Pod may not have them. */
    readonly #reported = new Map<string, ReadonlySet<string>>();

    constructor(components: StatusReportsComponents) {
        this.#components = components;
    }

    /** Whether something is not written yet. */
    get isPending(): boolean {
        return this.#pending.size > 0;
    }

    /**
     * Writes the interfaces of a container, if it has any on other networks, or those of an earlier sandbox of its Pod were
     * reported; resolves after one second at the latest, and never rejects.
     */
    async report(wired: WiredNetworks): Promise<void> {
        const { own } = wired;
        const former = this.#reported.get(own.podUid);
        if (wired.networks.length === 0 && former === undefined) return;
        const report: Report = { pod: own, statuses: statusesOf(wired) };
        this.#note(own, report.statuses, former);
        this.#pending.set(attachmentKey(own), report);
        try {
            await this.#write(report, AbortSignal.timeout(waitMs));
        } catch (error) {
            this.#components.logger.warn("the annotation about the interfaces of a Pod is not written yet", {
                pod: podText(own),
                annotation: statusAnnotation,
                reason: messageOf(error),
            });
        }
    }

    /**
     * Leaves the interfaces of a container that an earlier start of the agent made to `retry`: it may have ended before it had
     * written them. They are written without DNS settings, which records do not have.
     */
    reportLater(wired: WiredNetworks): void {
        const key = attachmentKey(wired.own);
        if (this.#pending.has(key)) return;
        this.#pending.set(key, { pod: wired.own, statuses: statusesOf(wired), isOfBefore: true });
    }

    /** Writes what is not written yet. Rejects with the first KubeError, to be repeated. */
    async retry(signal: AbortSignal): Promise<void> {
        const failures: unknown[] = [];
        for (const [key, report] of this.#pending) {
            if (!this.#components.isWired(report.pod)) {
                this.#pending.delete(key);
                continue;
            }
            try {
                await this.#write(report, signal);
            } catch (error) {
                signal.throwIfAborted();
                failures.push(error);
            }
        }
        const [first] = failures;
        if (first instanceof Error) throw first;
    }

    async #write(report: Report, signal: AbortSignal): Promise<void> {
        const key = attachmentKey(report.pod);
        for (let attempt = 1; ; attempt += 1) {
            try {
                this.#note(report.pod, await this.#writeOnce(report, signal));
                if (this.#pending.get(key) === report) this.#pending.delete(key);
                return;
            } catch (error) {
                if (!isKubeError(error, "CONFLICT") || attempt === maxConflicts) throw error;
            }
        }
    }

    /** Resolves with what the annotation has of the report then. */
    async #writeOnce({ pod, statuses, isOfBefore }: Report, signal: AbortSignal): Promise<readonly StatusOfOurs[]> {
        const { api } = this.#components;
        const ref = { namespace: pod.podNamespace, name: pod.podName };
        const found = await api.find(pods, ref, { signal });
        // A Pod that is gone needs no report.
        if (found === undefined || !isPodOf(found, pod)) return [];
        const earlier = found.metadata?.annotations?.[statusAnnotation];
        const written = isOfBefore === true ? writtenStatuses(earlier, statuses) : [];
        const all = statuses.map((status, index) => written[index] ?? status);
        const isLacking = all.some((_, index) => written[index] === undefined);
        const text = isLacking ? mergeStatus(earlier, all, this.#reported.get(pod.podUid)) : earlier;
        if (text === earlier) return all;
        const resourceVersion = found.metadata?.resourceVersion;
        const body = { metadata: { resourceVersion, annotations: { [statusAnnotation]: text } } };
        await api.patch(pods, ref, { type: "merge", body }, { subresource: "status", signal });
        return all;
    }

    /** Notes what the annotation has of the Pod once the report is written, and until then besides `former`. */
    #note({ podUid }: PodAttachment, statuses: readonly StatusOfOurs[], former: ReadonlySet<string> = new Set()): void {
        const further = statuses.filter((status) => status.default !== true).map((status) => JSON.stringify(status));
        this.#reported.delete(podUid);
        if (podUid === "" || former.size + further.length === 0) return;
        this.#reported.set(podUid, new Set([...former, ...further]));
        const [oldest = ""] = this.#reported.keys();
        if (this.#reported.size > maxPods) this.#reported.delete(oldest);
    }
}

function statusesOf({ own, mtu, networks }: WiredNetworks): readonly NetworkStatus[] {
    return [
        { ...statusOf(own, own.network ?? "", mtu), default: true, dns: {} },
        ...networks.map(({ record, dns }) => ({
            ...statusOf(record, record.network, record.mtu),
            dns: dns ?? {},
            ...(record.device === undefined ? {} : { "device-info": deviceInfoOf(record.device) }),
        })),
    ];
}

function deviceInfoOf({ bus, id }: DeviceId): DeviceInfo {
    const version = "1.1.0";
    return bus === "pci"
        ? { type: bus, version, pci: { "pci-address": id } }
        : { type: bus, version, auxiliary: { "device-id": id } };
}

function statusOf(
    { addresses, ifName, mac }: Pick<PodRecord | NetworkRecord, "addresses" | "ifName" | "mac">,
    name: string,
    mtu: number,
): Omit<NetworkStatus, "default" | "dns"> {
    const gateways = addresses.flatMap(({ gateway }) => (gateway === undefined ? [] : [formatIp(gateway)]));
    return {
        name,
        interface: ifName,
        ips: addresses.map(({ ip }) => formatIp(ip)),
        mac,
        mtu,
        ...(gateways.length === 0 ? {} : { gateway: gateways }),
    };
}
