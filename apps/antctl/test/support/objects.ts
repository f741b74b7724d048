import { allocationName, type AllocationOwner, type IpPool, type IpRangeSpec } from "@antrea/crd";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import { type Allocation, type NodeInfo, type PodInfo, type WorkloadInfo } from "../../src/cluster/index.ts";
import { styleFor, type Style } from "../../src/output/index.ts";
import { type PortRecord } from "../../src/ovs-records/index.ts";
import { PoolSet } from "../../src/pools/index.ts";

/** Text as it goes to a file where the locale is UTF-8. */
export const plain: Style = styleFor({ isTty: false, columns: undefined, environment: { LANG: "C.UTF-8" } });

export const since = "2026-11-20T10:00:00Z";
/** Two hours later. */
export const now: number = Date.parse("2026-11-20T12:00:00Z");

export function poolObject(name: string, ...ranges: readonly IpRangeSpec[]): IpPool {
    const ipVersion = ranges[0]?.gateway.includes(":") === true ? 6 : 4;
    return { metadata: { name, creationTimestamp: since }, spec: { ipVersion, ipRanges: ranges } };
}

/** 10.2.0.12 to 10.2.0.20: nine addresses. */
export const web: IpPool = poolObject("web", {
    start: "10.2.0.12",
    end: "10.2.0.20",
    gateway: "10.2.0.1",
    prefixLength: 24,
    vlan: 2,
});
export const web6: IpPool = poolObject("web6", { cidr: "fd00:2::/64", gateway: "fd00:2::1", prefixLength: 64 });
/** 10.3.0.8 and 10.3.0.9. */
export const tiny: IpPool = poolObject("tiny", {
    start: "10.3.0.8",
    end: "10.3.0.9",
    gateway: "10.3.0.1",
    prefixLength: 24,
});

export function node(
    name: string,
    o: Partial<Omit<NodeInfo, "name" | "podCidrs">> & { readonly podCidrs?: readonly string[] } = {},
): NodeInfo {
    return {
        name,
        addresses: o.addresses ?? [],
        podCidrs: (o.podCidrs ?? []).map((cidr) => parsePrefix(cidr)),
        ready: o.ready ?? true,
        outOfService: o.outOfService ?? false,
        isBridged: o.isBridged ?? false,
        networkBridge: o.networkBridge,
    };
}

export const node1: NodeInfo = node("node1", { podCidrs: ["10.10.1.0/24"], addresses: [parseIp("192.168.0.1")] });
export const node2: NodeInfo = node("node2", { podCidrs: ["10.10.2.0/24"], addresses: [parseIp("192.168.0.2")] });

export function poolSet(
    objects: readonly IpPool[] = [web, web6, tiny],
    nodes: readonly NodeInfo[] = [node1, node2],
): PoolSet {
    return new PoolSet(objects, nodes, [parsePrefix("10.96.0.0/16")]);
}

/** A Pod of Namespace shop, running on node1, whose UID is `uid-NAME`. */
export function pod(name: string, o: Partial<PodInfo> = {}): PodInfo {
    return {
        namespace: "shop",
        name,
        uids: [`uid-${name}`],
        nodeName: "node1",
        phase: "Running",
        deleting: false,
        hostNetwork: false,
        ips: [],
        annotations: {},
        ownerReferences: [],
        limits: {},
        ...o,
    };
}

/** The allocation of a Pod of Namespace shop; without a Pod, a reservation. */
export function allocation(
    address: string,
    o: {
        readonly pool?: string;
        readonly pod?: string;
        readonly uid?: string;
        readonly node?: string;
        readonly interface?: string;
        readonly network?: string;
        readonly owner?: AllocationOwner;
    } = {},
): Allocation {
    const ip = parseIp(address);
    const name = o.pod ?? "";
    const uid = o.uid ?? `uid-${name}`;
    return {
        name: allocationName(ip),
        ip,
        address: formatIp(ip),
        pool: o.pool ?? "web",
        state: o.pod === undefined ? "Reserved" : "Allocated",
        owner: o.owner ?? { kind: "Pod", namespace: "shop", name, uid },
        pod:
            o.pod === undefined
                ? undefined
                : {
                      namespace: "shop",
                      name,
                      uid,
                      nodeName: o.node ?? "node1",
                      containerID: `c-${uid}`,
                      interface: o.interface ?? "eth0",
                      ...(o.network === undefined ? {} : { network: o.network }),
                  },
        since,
    };
}

export function ofSet(name: string, index: number): AllocationOwner {
    return { kind: "StatefulSet", namespace: "shop", name, uid: `uid-${name}`, index };
}

export function set(name: string, o: Partial<WorkloadInfo> = {}): WorkloadInfo {
    return {
        kind: "StatefulSet",
        namespace: "shop",
        name,
        replicas: 3,
        start: 0,
        annotations: { "ipam.antrea.io/ippools": "web" },
        ...o,
    };
}

/** The record of a Pod of Namespace shop. */
export function record(
    podName: string,
    addresses: Readonly<Record<string, string | undefined>>,
    o: Partial<PortRecord> = {},
): PortRecord {
    return {
        port: `${podName}-port`,
        containerId: `c-uid-${podName}`,
        ifName: "eth0",
        podNamespace: "shop",
        podName,
        podUid: `uid-${podName}`,
        network: undefined,
        addresses: Object.entries(addresses).map(([text, pool]) => ({ ip: parseIp(text), pool })),
        ...o,
    };
}
