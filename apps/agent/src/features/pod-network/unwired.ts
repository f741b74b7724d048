import { type IpAddress } from "@antrea/ip";
import type { KnownPod } from "./found-records.ts";
import type { HeldAddress } from "./rebuild.ts";
import type { PodRecord } from "../../platform/pod-interfaces/index.ts";

/** A Pod that runs with an address of this Node and has no interface here. */
export interface UnwiredPod {
    readonly pod: KnownPod;
    readonly ips: readonly IpAddress[];
}

/**
 * Finds Pods whose containers run without an interface of this agent: they were started by another network plugin, or a
 * cleanup of the Node removed their interface. They are reported as running but have no connectivity. A Pod must be
 * found in two rounds, since an ADD may be in progress, and is reported once.
 */
export class UnwiredPods {
    #candidates: ReadonlySet<string> = new Set();
    #given: ReadonlySet<string> = new Set();

    /**
     * Evaluates one round from the Pods it has read and the records of the existing interfaces; returns the Pods to
     * report now, each once as long as `held` has an address of it.
     */
    check(
        held: readonly HeldAddress[],
        pods: readonly KnownPod[],
        records: readonly Pick<PodRecord, "podNamespace" | "podName" | "podUid">[],
    ): readonly UnwiredPod[] {
        // A record may lack either: it is of a static Pod, whose mirror Pod has another UID, or rebuilt from its link.
        const names = new Set(records.map(({ podNamespace, podName }) => `${podNamespace}/${podName}`));
        const uids = new Set(records.map(({ podUid }) => podUid).filter((uid) => uid !== ""));
        const isWired = ({ namespace, name, uid, staticUid = uid }: KnownPod): boolean =>
            names.has(`${namespace}/${name}`) || uids.has(uid) || uids.has(staticUid);
        const ipsByPod = Map.groupBy(held, ({ podUid }) => podUid);
        const unwired = pods.filter((pod) => ipsByPod.has(pod.uid) && pod.hasSandbox && !isWired(pod));
        const found = unwired.filter(({ uid }) => this.#candidates.has(uid) && !this.#given.has(uid));
        this.#candidates = new Set(unwired.map(({ uid }) => uid));
        this.#given = new Set([...this.#given, ...found.map(({ uid }) => uid)].filter((uid) => ipsByPod.has(uid)));
        return found.map((pod) => ({ pod, ips: (ipsByPod.get(pod.uid) ?? []).map(({ ip }) => ip) }));
    }
}
