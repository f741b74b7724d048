import { isPoolRecord, type PodInterface, type PodInterfaceView } from "../../../platform/pod-interfaces/index.ts";

/**
 * Calls the listener when a VLAN gets its first Pod on this Node, before the Pod can send. Each VLAN has a zone of
 * connections, and nothing is removed from that of a VLAN without Pods: an entry that an earlier Pod of the same address has
 * left there would lead the new one to an endpoint that is gone. Disposing of the result ends it.
 */
export function onFirstOfVlan(
    podInterfaces: Pick<PodInterfaceView, "list" | "subscribe">,
    listener: () => void,
): Disposable {
    return podInterfaces.subscribe(({ type, known }) => {
        const vlan = vlanOf(known);
        // that of VLAN 0 is always compared
        if (type !== "added" || vlan === 0) return;
        const ofVlan = podInterfaces.list().filter((one) => vlanOf(one) === vlan);
        if (ofVlan.length === 1) listener();
    });
}

/** The VLAN in whose zone the connections of a Pod are. */
export function vlanOf({ record }: Pick<PodInterface, "record">): number {
    return isPoolRecord(record) ? record.vlan : 0;
}
