import { formatIp, formatPrefix, prefixContains, prefixIndexOf, sameIp, type IpAddress } from "@antrea/ip";
import { type AllocationOwner, type AllocationPod } from "@antrea/crd";
import { ownerText, type Allocation, type PodInfo } from "../cluster/index.ts";
import { type PoolSet } from "../pools/index.ts";

/** The report of `ipam who ADDRESS`, as `-o json` prints it; `claim` is the allocation, absent if there is none. */
export interface WhoReport {
    readonly address: string;
    /** One sentence: the holder of the address, or that there is none. */
    readonly summary: string;
    readonly claim?: {
        readonly name: string;
        readonly pool: string;
        /** `Allocated` or `Reserved`. */
        readonly state: string;
        readonly owner: AllocationOwner;
        readonly pod?: AllocationPod;
        /** Time of its creation (RFC 3339). */
        readonly since?: string;
    };
    /** Pods that report the address in their status. */
    readonly pods: readonly {
        readonly namespace: string;
        readonly name: string;
        readonly node?: string;
        readonly phase: string;
    }[];
    /** Pools with the address in a range; `reason`: why the pool does not hand it out, as text that follows "it". */
    readonly pools: readonly { readonly name: string; readonly handsOut: boolean; readonly reason?: string }[];
    /** Other uses of the address in the cluster. */
    readonly cluster: readonly ClusterUse[];
}

/**
 * A use of the address by the cluster itself: as address of a Node, by its podCIDR (`NodeGateway`: the first address of
 * it), by a Service CIDR, or as gateway of an IPPool.
 */
export interface ClusterUse {
    readonly kind: "NodeAddress" | "PodCIDR" | "NodeGateway" | "ServiceCIDR" | "Gateway";
    /** The CIDR, or the address. */
    readonly text: string;
    /** The Node, the pool, or the Service (`Service shop/web`); absent if no Service is known to have it. */
    readonly of?: string;
}

const gatewayInterface = "antrea-gw0";

/**
 * Uses of the address by the cluster, [] if none: as address of a Node, in a podCIDR (for its first address also
 * `NodeGateway`), in a Service CIDR (without `of`), as gateway of a pool. `text` is the CIDR, but the address for
 * `NodeAddress` and `Gateway`. Sends no request.
 */
export function clusterUses(pools: PoolSet, ip: IpAddress): readonly ClusterUse[] {
    const address = formatIp(ip);
    return [
        ...pools.nodes
            .filter(({ addresses }) => addresses.some((each) => sameIp(each, ip)))
            .map(({ name }): ClusterUse => ({ kind: "NodeAddress", text: address, of: name })),
        ...pools.nodes.flatMap(({ name, podCidrs }) =>
            podCidrs
                .filter((cidr) => prefixContains(cidr, ip))
                .map((cidr): ClusterUse => ({ kind: "PodCIDR", text: formatPrefix(cidr), of: name })),
        ),
        ...pools.nodes.flatMap(({ name, podCidrs }) =>
            podCidrs
                .filter((cidr) => prefixContains(cidr, ip) && prefixIndexOf(cidr, ip) === 1n)
                .map((cidr): ClusterUse => ({ kind: "NodeGateway", text: formatPrefix(cidr), of: name })),
        ),
        ...pools.serviceCidrs
            .filter((cidr) => prefixContains(cidr, ip))
            .map((cidr): ClusterUse => ({ kind: "ServiceCIDR", text: formatPrefix(cidr) })),
        ...pools.all
            .filter(({ pool }) => pool.gateways.some((gateway) => sameIp(gateway.ip, ip)))
            .map(({ pool }): ClusterUse => ({ kind: "Gateway", text: address, of: pool.name })),
    ];
}

/**
 * What `whoReport` computes its report from; `pods` are those that report the address, `allocation` is undefined if
 * there is none.
 */
export interface WhoInput {
    readonly ip: IpAddress;
    readonly allocation: Allocation | undefined;
    readonly pools: PoolSet;
    /** Those of `clusterUses`, with the names of Services. */
    readonly uses: readonly ClusterUse[];
    readonly pods: readonly PodInfo[];
}

/** Makes the report of `ipam who` for `ip`; sends no request. */
export function whoReport({ ip, allocation, pools, uses, pods }: WhoInput): WhoReport {
    const covering = pools.covering(ip).map((pool) => {
        const reason = pools.exclusions.reason(pool, ip);
        return { name: pool.name, handsOut: reason === undefined, ...(reason === undefined ? {} : { reason }) };
    });
    return {
        address: formatIp(ip),
        summary: summary({ ip, allocation, uses, pods }, covering),
        ...(allocation === undefined ? {} : { claim: allocationPart(allocation) }),
        pods: pods.map(({ namespace, name, nodeName, phase }) => ({
            namespace,
            name,
            phase,
            ...(nodeName === undefined ? {} : { node: nodeName }),
        })),
        pools: covering,
        cluster: uses,
    };
}

function allocationPart({ name, pool, state, owner, pod, since }: Allocation): NonNullable<WhoReport["claim"]> {
    return {
        name,
        pool,
        state,
        owner,
        ...(pod === undefined ? {} : { pod }),
        ...(since === undefined ? {} : { since }),
    };
}

function summary(
    { ip, allocation, uses, pods }: Pick<WhoInput, "ip" | "allocation" | "uses" | "pods">,
    covering: WhoReport["pools"],
): string {
    const address = formatIp(ip);
    if (allocation?.pod !== undefined) {
        const { namespace, name, nodeName, network } = allocation.pod;
        const user = network === undefined ? "" : `interface ${allocation.pod.interface} (network ${network}) of `;
        return `${address} is used by ${user}Pod ${namespace}/${name} on Node ${nodeName}.`;
    }
    // The pools with this gateway are listed below.
    const isGateway = allocation?.owner.kind === "Gateway" && uses.some(({ kind }) => kind === "Gateway");
    if (allocation !== undefined && !isGateway)
        return `${address} is reserved for ${ownerText(allocation.owner)}; no Pod uses it now.`;
    const node = uses.find(({ kind }) => kind === "NodeAddress");
    if (node !== undefined) return `${address} is an address of Node ${node.of}.`;
    const [pod] = pods;
    const cidr = uses.find(({ kind }) => kind === "PodCIDR");
    if (pod !== undefined) {
        const where = cidr === undefined ? "" : `, from podCIDR ${cidr.text} of its Node`;
        return `${address} is used by Pod ${pod.namespace}/${pod.name} on Node ${pod.nodeName ?? "?"}${where}.`;
    }
    const nodeGateway = uses.find(({ kind }) => kind === "NodeGateway");
    if (nodeGateway !== undefined) {
        return `${address} is the gateway of the Pods of Node ${nodeGateway.of} (${gatewayInterface}), the first address of its podCIDR ${nodeGateway.text}.`;
    }
    if (cidr !== undefined) {
        return `${address} lies in podCIDR ${cidr.text} of Node ${cidr.of}; no Pod reports it as its own.`;
    }
    const service = uses.find(({ kind }) => kind === "ServiceCIDR");
    if (service !== undefined) {
        const of = service.of === undefined ? "no Service has it" : `it belongs to ${service.of}`;
        return `${address} lies in Service CIDR ${service.text}; ${of}.`;
    }
    const gateway = uses.find(({ kind }) => kind === "Gateway");
    if (gateway !== undefined) return `${address} is the gateway of IPPool ${gateway.of}.`;
    const free = covering.find(({ handsOut }) => handsOut);
    if (free !== undefined) return `${address} is free: it is not allocated. IPPool ${free.name} hands it out.`;
    const [withheld] = covering;
    if (withheld !== undefined) {
        return `${address} is not allocated. IPPool ${withheld.name} never hands it out: it ${withheld.reason}.`;
    }
    return `${address} is not allocated, and no IPPool, podCIDR or Service CIDR of this cluster has it.`;
}
