import { ipPools } from "@antrea/crd";
import { maxNodeAddresses, nodeAddressesOf } from "@antrea/ipam";
import { RangeSet, formatRangeSet } from "@antrea/ip";
import { nodes as nodeResource, referenceTo, type Node } from "@antrea/kube";
import { furtherText } from "../../platform/pool-cache/index.ts";
import { type ReservationComponents } from "./reservation-job.ts";

const shownPools = 5;

/**
 * Reports the addresses of Nodes that are beyond the limit of reservations, as Warning `NodeAddressesNotHeld` of the
 * Node and of the pools, once per set of addresses. In memory: a new object, and so a new leader, reports again.
 */
export class FurtherAddressEvents {
    readonly #components: Pick<ReservationComponents, "pools" | "recorder">;
    /** By Node name, the last report. */
    readonly #reported = new Map<string, string>();

    constructor(components: Pick<ReservationComponents, "pools" | "recorder">) {
        this.#components = components;
    }

    /**
     * Records events on the Node and on the pools, if they changed since the last call. `node` undefined: there is no
     * such Node; then its report is forgotten.
     */
    report(name: string, node: Node | undefined): void {
        const { pools, recorder } = this.#components;
        const named = new Set(node === undefined ? [] : nodeAddressesOf(node).flatMap((ip) => pools.covering(ip)));
        const found = [...named]
            .sort()
            .map((pool) => ({ pool, further: pools.further(pool).filter((each) => each.node === name) }))
            .filter(({ further }) => further.length > 0);
        const texts = found.map(({ pool, further }) => {
            return `${formatRangeSet(further[0]?.common ?? RangeSet.empty)} of IPPool ${pool}`;
        });
        const signature = JSON.stringify([node?.metadata?.uid, texts]);
        if (node === undefined || found.length === 0) return void this.#reported.delete(name);
        if (this.#reported.get(name) === signature) return;
        this.#reported.set(name, signature);
        const event = { type: "Warning", reason: "NodeAddressesNotHeld", action: "HoldNodeAddress" } as const;
        const list = texts.slice(0, shownPools).join(", ");
        const more = texts.length > shownPools ? ` and those of ${texts.length - shownPools} more IPPools` : "";
        recorder.record({
            regarding: referenceTo(nodeResource, node),
            ...event,
            note: `The Node reports more than ${maxNodeAddresses} addresses of an IPPool. Pods can get further ones that are not reserved for the Node yet: ${list}${more}. Check what reports them: status.addresses is written by kubelet and cloud controller.`,
        });
        for (const { pool, further } of found) {
            const object = pools.object(pool);
            if (object === undefined) continue;
            recorder.record({ regarding: referenceTo(ipPools, object), ...event, note: furtherText(further) });
        }
    }
}
