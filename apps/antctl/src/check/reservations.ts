import { sameIp } from "@antrea/ip";
import { poolsOf } from "@antrea/ipam";
import { mayHaveInterface, networksAnnotation } from "@antrea/networks";
import { ownerText, type Allocation } from "../cluster/index.ts";
import { finding, type Finding } from "./finding.ts";
import { type Snapshot } from "./snapshot.ts";

/**
 * Returns a finding for each address that is reserved for an owner that does not request it: one that is gone, an
 * ordinal out of range, a StatefulSet without the pool in its list, a Node or an IPPool without the address; and for
 * every Pod, whose address is never reserved.
 */
export function reservations(snapshot: Snapshot): readonly Finding[] {
    return snapshot.allocations.flatMap((allocation) => {
        if (allocation.state !== "Reserved") return [];
        const reason = unasked(snapshot, allocation);
        if (reason === undefined) return [];
        const text = `kept for ${ownerText(allocation.owner)}: ${reason}`;
        return [finding("reservation", "unasked", allocation, allocation.owner.uid ?? "", text)];
    });
}

function unasked(snapshot: Snapshot, { owner, pool, ip }: Allocation): string | undefined {
    switch (owner.kind) {
        case "Pod":
            return "a Pod's address is never reserved; delete the allocation";
        case "Node": {
            const node = snapshot.pools.nodes.find(({ name }) => name === owner.name);
            if (node === undefined) return "there is no such Node; antrea-controller frees it";
            const has = node.addresses.some((each) => sameIp(each, ip));
            return has ? undefined : "the Node does not have this address; antrea-controller frees it";
        }
        case "Gateway": {
            const named = snapshot.pools.all.some((entry) => entry.pool.gateways.some((each) => sameIp(each.ip, ip)));
            return named ? undefined : "no IPPool has this gateway; antrea-controller frees it";
        }
        case "StatefulSet": {
            const set = snapshot.statefulSets.find(
                (each) => each.namespace === owner.namespace && each.name === owner.name,
            );
            if (set === undefined) return "there is no such StatefulSet; antrea-controller frees it";
            const ordinal = owner.index ?? -1;
            const last = set.start + set.replicas - 1;
            if (ordinal < set.start || ordinal > last) {
                const range = set.replicas === 0 ? "no Pods" : `ordinals ${set.start} to ${last}`;
                return `the set has ${range}; antrea-controller frees it`;
            }
            if (owner.interface !== undefined) {
                const annotation = set.annotations[networksAnnotation] ?? "";
                return mayHaveInterface(annotation, set.namespace, owner.interface)
                    ? undefined
                    : `its template requests no network on ${owner.interface}; antrea-controller frees it`;
            }
            const named = poolsOf(set.annotations, snapshot.namespaces.get(set.namespace)?.annotations);
            return named?.names.includes(pool) === true ? undefined : `the set does not name IPPool ${pool} (any more)`;
        }
    }
}
