import { formatIp } from "@antrea/ip";
import { pods, referenceTo, type ApiClient, type EventRecorder, type Pod } from "@antrea/kube";
import type { Logger, MetricsFactory } from "@antrea/runtime";
import { anotherAddressStep, anothersSubnetNote, isolatedInterfacesMetric, type SubnetHolders } from "./index.ts";
import { isPodOf, isStaticPod, podOfUid } from "../../platform/pod-object.ts";
import { attachmentKey } from "../../platform/pod-interfaces/index.ts";
import { isStaticUid } from "./types.ts";
import { type SubnetWired } from "./subnet-allocations.ts";

/** Dependencies of IsolatedPods. */
export interface IsolatedPodsComponents {
    readonly api: Pick<ApiClient, "find" | "list">;
    readonly events: Pick<EventRecorder, "record">;
    readonly metrics: Pick<MetricsFactory, "gauge">;
    /** The isolated interfaces. */
    readonly interfaces: () => readonly SubnetWired[];
    /** Reports which addresses are known to be in the podCIDR of another Node. */
    readonly holders: Pick<SubnetHolders, "heldElsewhere">;
    readonly logger: Logger;
}

interface Judged {
    /** Identifies the interface and the Nodes that hold its addresses. */
    readonly key: string;
    readonly wired: SubnetWired;
    readonly report: {
        readonly reason: string;
        readonly action: string;
        readonly note: (isStatic: boolean) => string;
    };
}

/**
 * With AntreaIPAM disabled allocations are not read. An interface that was isolated before stays isolated: its address
 * is or may be assigned to another Pod, and reconnecting it could give one address two users. Reports each interface
 * once in the log and once on its Pod, with the other Node if the address is in that Node's podCIDR. A Pod without a
 * known name is searched by UID; without either, only the log and the metric report it. The constructor registers the
 * gauge of isolated interfaces, so there is one instance per process.
 */
export class IsolatedPods {
    readonly #components: IsolatedPodsComponents;
    readonly #nodeName: string;
    readonly #logged = new Set<string>();
    readonly #reported = new Set<string>();

    constructor(components: IsolatedPodsComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
        isolatedInterfacesMetric(components.metrics, () => components.interfaces().length);
    }

    /**
     * Logs new isolated interfaces, then reads the Pods that have no event yet from the API server; makes no request
     * while no interface is isolated. Rejects with KubeError if that fails; the next call repeats it.
     */
    async check(signal: AbortSignal): Promise<void> {
        const present = this.#components.interfaces().map((one) => this.#judged(one));
        const keys = new Set(present.map(({ key }) => key));
        for (const known of [this.#logged, this.#reported]) {
            for (const key of known) if (!keys.has(key)) known.delete(key);
        }
        for (const one of present) this.#log(one);
        const pending = present.filter(({ key }) => !this.#reported.has(key));
        const isNamed = ({ wired }: Judged): boolean => wired.podName !== "";
        for (const one of pending.filter(isNamed)) await this.#reportNamed(one, signal);
        await this.#reportUnnamed(
            pending.filter((one) => !isNamed(one)),
            signal,
        );
    }

    #log({ key, wired, report }: Judged): void {
        if (this.#logged.has(key)) return;
        this.#logged.add(key);
        const { podNamespace, podName, podUid } = wired;
        this.#components.logger.warn("Pod interface stays isolated", {
            ...(podName === "" ? { podUid } : { pod: `${podNamespace}/${podName}` }),
            container: wired.containerId,
            interface: wired.ifName,
            reason: report.note(isStaticUid(podUid)),
        });
    }

    async #reportNamed(one: Judged, signal: AbortSignal): Promise<void> {
        const { podNamespace: namespace, podName: name } = one.wired;
        const pod = await this.#components.api.find(pods, { namespace, name }, { signal });
        if (pod !== undefined && isPodOf(pod, one.wired)) this.#report(one, pod);
    }

    async #reportUnnamed(unnamed: readonly Judged[], signal: AbortSignal): Promise<void> {
        if (unnamed.every(({ wired }) => wired.podUid === "")) return;
        const fieldSelector = `spec.nodeName=${this.#nodeName}`;
        const { items } = await this.#components.api.list(pods, { fieldSelector, signal });
        for (const one of unnamed) {
            const pod = podOfUid(items, one.wired.podUid);
            if (pod !== undefined) this.#report(one, pod);
        }
    }

    /**
     * Called once the Pod object exists: the mirror Pod of a static Pod may be created later; the container of a
     * deleted Pod ends soon.
     */
    #report({ key, report }: Judged, pod: Pod): void {
        this.#reported.add(key);
        const note = report.note(isStaticPod(pod));
        this.#components.events.record({ regarding: referenceTo(pods, pod), type: "Warning", ...report, note });
    }

    /** Queries the address holders only once, because that iterates over all Nodes. */
    #judged(wired: SubnetWired): Judged {
        const { addresses } = wired;
        const held = this.#components.holders.heldElsewhere(addresses);
        const key = [attachmentKey(wired), ...held.map(({ ip, node }) => `${formatIp(ip)} ${node}`)].join(" ");
        const [first] = held;
        if (first === undefined) {
            const note = (isStatic: boolean): string => noteOf(wired, isStatic);
            return { key, wired, report: { reason: "PodIsolated", action: "ReportIsolation", note } };
        }
        const note = (isStatic: boolean): string => anothersSubnetNote(formatIp(first.ip), first.node, isStatic);
        return { key, wired, report: { reason: "AddressHeldElsewhere", action: "Isolate", note } };
    }
}

function noteOf({ addresses }: SubnetWired, isStatic: boolean): string {
    const what = addresses.length === 1 ? "address" : "addresses";
    return (
        `the Pod has no traffic: it was isolated because its ${what} ${addresses.map(formatIp).join(" and ")} may be ` +
        `another's, and while the feature gate AntreaIPAM is off nothing detects when that ends. ` +
        `${anotherAddressStep(isStatic)}, or install with featureGates.AntreaIPAM=true`
    );
}
