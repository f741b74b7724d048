import { AntreaError } from "@antrea/errors";
import { pods, podUids, referenceTo, type ApiClient, type EventRecorder, type Pod } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";
import { isStaticPod, newSandboxStep } from "../../platform/pod-object.ts";

class LostBandwidthError extends AntreaError<"BAD_OUTPUT"> {}

/** Dependencies of LostBandwidth. */
export interface LostBandwidthComponents {
    readonly api: Pick<ApiClient, "list">;
    readonly events: Pick<EventRecorder, "record">;
    /** The wired interfaces of this Node; `podUid` of a static Pod is the hash of its manifest. */
    readonly interfaces: () => readonly { readonly podUid: string; readonly hostIfName: string }[];
    /** The output of `tc -j qdisc show`. */
    readonly qdiscs: () => Promise<string>;
    readonly logger: Logger;
}

/** The annotations, and the kind of queueing discipline by which the bandwidth plugin implements each. */
const served = [
    ["kubernetes.io/ingress-bandwidth", "tbf"],
    ["kubernetes.io/egress-bandwidth", "ingress"],
] as const;

/** The second check covers changes that OVS makes shortly after it has connected. */
const checksAfterStart = 2;

/**
 * OVS removes the queueing disciplines of its ports when it starts, and with them the limits set by the bandwidth
 * plugin. Records one event (BandwidthLimitLost) on each Pod that has a limit annotation and no limit in effect, and
 * another one if its sandbox is replaced and loses the limit again.
 */
export class LostBandwidth {
    readonly #components: LostBandwidthComponents;
    readonly #nodeName: string;
    /**
     * The Pods ("namespace/name") that have their event, by interface, which stands for the sandbox: it stays when the
     * mirror Pod of a static Pod is created again, with a new UID, and is another one when its manifest is moved back, with
     * the same hash. More than one Pod, as a Pod of another name can have the same hash.
     */
    readonly #reported = new Map<string, Set<string>>();
    #checksLeft = 0;

    constructor(components: LostBandwidthComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /** To be called when OVS has connected, since it may have been restarted: the next two checks read the Pods. */
    ovsConnected(): void {
        this.#checksLeft = checksAfterStart;
    }

    /**
     * Reads the Pods of this Node and the queueing disciplines, in the first two checks after OVS has connected; others
     * do nothing. Rejects with KubeError, or with the error of `tc` (LostBandwidthError `BAD_OUTPUT` if it prints no
     * list): the next call repeats the check.
     */
    async check(signal: AbortSignal): Promise<void> {
        if (this.#checksLeft === 0) return;
        const { api, interfaces, qdiscs } = this.#components;
        const { items } = await api.list(pods, { fieldSelector: `spec.nodeName=${this.#nodeName}`, signal });
        const limited = items.filter((pod) => isWired(pod) && annotationsOf(pod).length > 0);
        const there = limited.length === 0 ? new Set() : kindsByInterface(await qdiscs());
        const hostIfNames = new Map(interfaces().map(({ podUid, hostIfName }) => [podUid, hostIfName]));
        const wired = limited.flatMap((pod) => {
            const hostIfName = podUids(pod)
                .map((uid) => hostIfNames.get(uid))
                .find((name) => name !== undefined);
            return hostIfName === undefined ? [] : [{ pod, hostIfName }];
        });
        const present = new Set(hostIfNames.values());
        for (const known of this.#reported.keys()) if (!present.has(known)) this.#reported.delete(known);
        for (const { pod, hostIfName } of wired) {
            const reported = this.#reported.get(hostIfName) ?? new Set();
            if (reported.has(nameOf(pod))) continue;
            const lost = annotationsOf(pod).filter(([, kind]) => !there.has(`${hostIfName} ${kind}`));
            if (lost.length === 0) continue;
            this.#reported.set(hostIfName, reported.add(nameOf(pod)));
            this.#report(
                pod,
                lost.map(([annotation]) => annotation),
            );
        }
        this.#checksLeft -= 1;
    }

    #report(pod: Pod, annotations: readonly string[]): void {
        const next = newSandboxStep(isStaticPod(pod), "create the Pod again");
        const note =
            `no limit is in force for ${annotations.join(" and ")}: Open vSwitch was restarted on this Node after the ` +
            `Pod was started, or the CNI plugin bandwidth is not chained (cni.plugins.bandwidth); ${next} to limit it`;
        this.#components.logger.warn("bandwidth limit lost", { pod: nameOf(pod), annotations });
        const event = { type: "Warning", reason: "BandwidthLimitLost", action: "LimitBandwidth", note } as const;
        this.#components.events.record({ regarding: referenceTo(pods, pod), ...event });
    }
}

function annotationsOf({ metadata }: Pod): readonly (typeof served)[number][] {
    return served.filter(([annotation]) => (metadata?.annotations?.[annotation] ?? "") !== "");
}

/**
 * All plugins of the chain have run once the Pod's addresses are reported, and a Pod that has not terminated has its
 * interface.
 */
function isWired({ spec, status }: Pod): boolean {
    const ended = status?.phase === "Succeeded" || status?.phase === "Failed";
    return spec?.hostNetwork !== true && !ended && (status?.podIPs ?? []).length > 0;
}

function nameOf({ metadata }: Pod): string {
    return `${metadata?.namespace}/${metadata?.name}`;
}

/** "interface kind" of each queueing discipline. */
function kindsByInterface(text: string): ReadonlySet<string> {
    try {
        const list = JSON.parse(text) as readonly { readonly dev?: unknown; readonly kind?: unknown }[];
        return new Set(list.map(({ dev, kind }) => `${String(dev)} ${String(kind)}`));
    } catch (cause) {
        throw new LostBandwidthError("BAD_OUTPUT", "environment", "tc -j qdisc show did not print a list", { cause });
    }
}
