import { formatIp, type IpAddress } from "@antrea/ip";
import { pods, referenceTo, type ApiClient, type EventRecorder, type Pod } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";
import { anothersSubnetNote, type SubnetHolders } from "./ip-pools/index.ts";
import { isPodOf } from "./pod-object.ts";

/** An interface without flows and route, as its record says. */
export interface IsolatedInterface {
    readonly containerId: string;
    readonly ifName: string;
    readonly podNamespace: string;
    /** Empty when it is rebuilt from its link alone. */
    readonly podName: string;
    /** Of a static Pod the hash of its file. */
    readonly podUid: string;
    readonly addresses: readonly IpAddress[];
}

export interface IsolatedPodsComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly events: Pick<EventRecorder, "record">;
    readonly interfaces: () => readonly IsolatedInterface[];
    /** Of which of the addresses it is known that they are of the podCIDR of another Node. */
    readonly holders: Pick<SubnetHolders, "heldElsewhere">;
    readonly logger: Logger;
}

interface Judged {
    /** Tells the interface, with the Nodes that have its addresses, from all others. */
    readonly key: string;
    readonly wired: IsolatedInterface;
    readonly report: { readonly reason: string; readonly action: string; readonly note: string };
}

/**
 * While IPPools are switched off no claim is looked at. An interface that was isolated before stays isolated: its address
 * is another's, or may be, and to connect it could give one address two users. Reports each one, once in the log and once
 * on its Pod, and with the Node where its address is of the podCIDR of another one.
 */
export class IsolatedPods {
    readonly #components: IsolatedPodsComponents;
    readonly #logged = new Set<string>();
    readonly #reported = new Set<string>();

    constructor(components: IsolatedPodsComponents) {
        this.#components = components;
    }

    /** Reads the Pods that have no event yet; asks for nothing while no interface is isolated. */
    async look(signal: AbortSignal): Promise<void> {
        const present = this.#components.interfaces().map((one) => this.#judged(one));
        const keys = new Set(present.map(({ key }) => key));
        for (const known of [this.#logged, this.#reported]) {
            for (const key of known) if (!keys.has(key)) known.delete(key);
        }
        for (const one of present) this.#log(one);
        for (const one of present) await this.#report(one, signal);
    }

    #log({ key, wired, report }: Judged): void {
        if (this.#logged.has(key)) return;
        this.#logged.add(key);
        this.#components.logger.warn("a Pod interface stays isolated", {
            ...{ pod: `${wired.podNamespace}/${wired.podName}`, container: wired.containerId, interface: wired.ifName },
            reason: report.note,
        });
    }

    async #report({ key, wired, report }: Judged, signal: AbortSignal): Promise<void> {
        const { api, events } = this.#components;
        const { podNamespace: namespace, podName: name } = wired;
        if (name === "" || this.#reported.has(key)) return;
        const pod: Pod | undefined = await api.find(pods, { namespace, name }, { signal });
        // The mirror of a static Pod may come later; of a Pod that is gone the container ends.
        if (pod === undefined || !isPodOf(pod, wired)) return;
        this.#reported.add(key);
        events.record({ regarding: referenceTo(pods, pod), type: "Warning", ...report });
    }

    /** Asks once who has the addresses: that is a look through all Nodes. */
    #judged(wired: IsolatedInterface): Judged {
        const { containerId, ifName, addresses } = wired;
        const held = this.#components.holders.heldElsewhere(addresses);
        const key = [containerId, ifName, ...held.map(({ ip, node }) => `${formatIp(ip)} ${node}`)].join(" ");
        const [first] = held;
        if (first === undefined) {
            return { key, wired, report: { reason: "PodIsolated", action: "ReportIsolation", note: noteOf(wired) } };
        }
        const note = anothersSubnetNote(formatIp(first.ip), first.node);
        return { key, wired, report: { reason: "AddressHeldElsewhere", action: "Isolate", note } };
    }
}

function noteOf({ addresses }: IsolatedInterface): string {
    const what = addresses.length === 1 ? "address" : "addresses";
    return (
        `the Pod has no traffic: it was isolated because its ${what} ${addresses.map(formatIp).join(" and ")} may be ` +
        `another's, and while the feature gate AntreaIPAM is off nothing tells when that ends. Delete the Pod to give it ` +
        `another address, or install with featureGates.AntreaIPAM=true`
    );
}
