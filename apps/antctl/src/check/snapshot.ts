import { type AllocationPod } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import {
    agentSelector,
    hasOwnAddress,
    readGate,
    type Claim,
    type Cluster,
    type Gate,
    type NamespaceInfo,
    type PodInfo,
    type WorkloadInfo,
} from "../cluster/index.ts";
import { type NodeLook, type PortRecord, type RecordReader } from "../ovs-records/index.ts";
import { PoolSet } from "../pools/index.ts";

/** A record and the Node whose OVS has it. */
export interface RecordOnNode extends PortRecord {
    readonly node: string;
}

/** What one look at the cluster saw. */
export class Snapshot {
    readonly claims: readonly Claim[];
    readonly pods: readonly PodInfo[];
    readonly pools: PoolSet;
    readonly statefulSets: readonly WorkloadInfo[];
    readonly namespaces: ReadonlyMap<string, NamespaceInfo>;
    readonly records: readonly RecordOnNode[];
    /** Nodes whose OVS could not be read although something of IPAM is there, and why. */
    readonly unread: ReadonlyMap<string, string>;
    /** Whether IPPools are switched on. While they are off nobody frees anything. */
    readonly gate: Gate["state"];
    readonly #podsByUid: ReadonlyMap<string, PodInfo>;
    readonly #claimsByAddress: ReadonlyMap<string, Claim>;
    readonly #recordsByAddress: ReadonlyMap<string, readonly RecordOnNode[]>;

    constructor(seen: {
        readonly claims: readonly Claim[];
        readonly pods: readonly PodInfo[];
        readonly pools: PoolSet;
        readonly statefulSets: readonly WorkloadInfo[];
        readonly namespaces: readonly NamespaceInfo[];
        readonly looks: readonly NodeLook[];
        readonly gate: Gate["state"];
    }) {
        this.gate = seen.gate;
        this.claims = seen.claims;
        this.pods = seen.pods;
        this.pools = seen.pools;
        this.statefulSets = seen.statefulSets;
        this.namespaces = new Map(seen.namespaces.map((each) => [each.name, each]));
        this.records = seen.looks.flatMap((look) =>
            look.kind === "read" ? look.records.map((record) => ({ ...record, node: look.node })) : [],
        );
        this.unread = unreadNodes(seen.looks, seen.claims, seen.pods);
        this.#podsByUid = new Map(seen.pods.flatMap((pod) => pod.uids.map((uid) => [uid, pod])));
        this.#claimsByAddress = new Map(seen.claims.map((claim) => [claim.address, claim]));
        const withAddress = this.records.flatMap((record) =>
            record.addresses.map(({ ip }) => ({ address: formatIp(ip), record })),
        );
        const grouped = Map.groupBy(withAddress, ({ address }) => address);
        this.#recordsByAddress = new Map(
            [...grouped].map(([address, all]) => [address, all.map(({ record }) => record)]),
        );
    }

    podOf(uid: string): PodInfo | undefined {
        return this.#podsByUid.get(uid);
    }

    claimOf(address: string): Claim | undefined {
        return this.#claimsByAddress.get(address);
    }

    recordsOf(address: string): readonly RecordOnNode[] {
        return this.#recordsByAddress.get(address) ?? [];
    }

    /** Whether the record is of this user of a claim. Without a UID, which has no room everywhere, the container tells. */
    isOf(record: RecordOnNode, pod: AllocationPod): boolean {
        if (record.podUid === "") return record.containerId === pod.containerID;
        return record.podUid === pod.uid;
    }

    hasNode(name: string): boolean {
        return this.pools.nodes.some((node) => node.name === name);
    }
}

/**
 * One look at everything. Claims are read before OVS, and OVS before Pods, in the order in which a starting Pod gets
 * them; what changes all the same between the first and the last is sorted out by looking again.
 */
export async function takeSnapshot(
    cluster: Pick<
        Cluster,
        "claims" | "pods" | "statefulSets" | "namespaces" | "pools" | "nodes" | "serviceCidrs" | "find"
    >,
    records: Pick<RecordReader, "read">,
): Promise<Snapshot> {
    const claims = await cluster.claims();
    const looks = await records.read();
    const [agent] = await cluster.pods({ labelSelector: agentSelector });
    const [gate, pods, pools, statefulSets, namespaces] = await Promise.all([
        readGate(cluster, agent?.namespace ?? "kube-system"),
        cluster.pods(),
        PoolSet.read(cluster),
        cluster.statefulSets(),
        cluster.namespaces(),
    ]);
    return new Snapshot({ claims, looks, pods, pools, statefulSets, namespaces, gate: gate.state });
}

function unreadNodes(
    looks: readonly NodeLook[],
    claims: readonly Claim[],
    pods: readonly PodInfo[],
): ReadonlyMap<string, string> {
    const unread = new Map<string, string>();
    const seen = new Set(looks.map(({ node }) => node));
    const busy = [
        ...claims.map(({ pod }) => pod?.nodeName),
        ...pods.filter((pod) => hasOwnAddress(pod) && pod.ips.length > 0).map(({ nodeName }) => nodeName),
    ];
    for (const node of busy) {
        if (node !== undefined && !seen.has(node)) unread.set(node, "no agent Pod is there");
    }
    for (const look of looks) if (look.kind === "unread") unread.set(look.node, look.reason);
    return new Map([...unread].sort(([a], [b]) => (a < b ? -1 : 1)));
}
