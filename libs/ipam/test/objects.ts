import { allocationName, blockText, type IpAllocation, type IpPool, type IpRangeSpec } from "@antrea/crd";
import { parseIp, parsePrefix, prefixRange, RangeSet, rangeOf } from "@antrea/ip";
import { Exclusions, readPool, type Pool } from "../src/index.ts";

/** A range of 10.1.0.0/24 with gateway 10.1.0.1, or of fd00::/64 with gateway fd00::1: `cidr`, or `start-end`. */
export function range(text: string, parts: Partial<IpRangeSpec> = {}): IpRangeSpec {
    const subnet = text.includes(":")
        ? { gateway: "fd00::1", prefixLength: 64 }
        : { gateway: "10.1.0.1", prefixLength: 24 };
    const [start = "", end = start] = text.split("-");
    return { ...(text.includes("/") ? { cidr: text } : { start, end }), ...subnet, ...parts };
}

export function ipPool(name: string, ...ranges: readonly (string | IpRangeSpec)[]): IpPool {
    const ipRanges = ranges.map((one) => (typeof one === "string" ? range(one) : one));
    const text = ipRanges[0]?.cidr ?? ipRanges[0]?.start ?? "";
    return { metadata: { name }, spec: { ipVersion: text.includes(":") ? 6 : 4, ipRanges } };
}

export function pool(name: string, ...ranges: readonly (string | IpRangeSpec)[]): Pool {
    return readPool(ipPool(name, ...ranges));
}

export function setOf(...texts: readonly string[]): RangeSet {
    return RangeSet.of(
        texts.map((text) => {
            if (text.includes("/")) return prefixRange(parsePrefix(text));
            const [first = "", last = first] = text.split("-");
            return rangeOf(parseIp(first), parseIp(last));
        }),
    );
}

export interface ClusterTexts {
    readonly nodes?: readonly string[];
    readonly pods?: readonly string[];
    readonly services?: readonly string[];
}

export function exclusions(
    { nodes = [], pods = [], services = [] }: ClusterTexts,
    ...pools: readonly Pool[]
): Exclusions {
    return new Exclusions(
        {
            nodeAddresses: nodes.map((text) => [parseIp(text)]),
            podCidrs: pods.map((text) => parsePrefix(text)),
            serviceCidrs: services.map((text) => parsePrefix(text)),
        },
        pools,
    );
}

export function podAllocation(address: string, podName: string, poolName = "p"): IpAllocation {
    const pod = { namespace: "a", name: podName, uid: `uid-${podName}` };
    return {
        metadata: { name: allocationName(parseIp(address)) },
        spec: {
            address,
            block: blockText(parseIp(address)),
            pool: poolName,
            state: "Allocated",
            owner: { kind: "Pod", ...pod },
            pod: { ...pod, nodeName: "n1", containerID: "c1", interface: "eth0" },
        },
    };
}

export function nodeAllocation(address: string, node: string, poolName = "p"): IpAllocation {
    return {
        metadata: { name: allocationName(parseIp(address)) },
        spec: {
            address,
            block: blockText(parseIp(address)),
            pool: poolName,
            state: "Reserved",
            owner: { kind: "Node", name: node, uid: `uid-${node}` },
        },
    };
}

export function gatewayAllocation(address: string, poolName = "p"): IpAllocation {
    const { metadata, spec } = nodeAllocation(address, "", poolName);
    return { ...(metadata && { metadata }), spec: { ...spec, owner: { kind: "Gateway", name: address } } };
}

export interface OrdinalAllocation {
    readonly pool?: string;
    readonly uid?: string;
    readonly used?: boolean;
    readonly created?: string;
    readonly generation?: number;
    /** Of a network; default that of the Pod network. */
    readonly interface?: string;
}

/** An allocation for an ordinal of StatefulSet a/web, Reserved unless `used`. */
export function ordinalAllocation(address: string, index: number, options: OrdinalAllocation = {}): IpAllocation {
    const {
        pool: poolName = "p",
        uid = "set-1",
        used = false,
        created = "2026-01-01T00:00:00Z",
        generation = 1,
    } = options;
    const ofInterface = options.interface === undefined ? {} : { interface: options.interface };
    const pod = {
        namespace: "a",
        name: `web-${index}`,
        uid: `uid-${index}`,
        nodeName: "n1",
        containerID: "c",
        interface: "eth0",
        ...ofInterface,
    };
    return {
        metadata: { name: allocationName(parseIp(address)), creationTimestamp: created, generation },
        spec: {
            address,
            block: blockText(parseIp(address)),
            pool: poolName,
            state: used ? "Allocated" : "Reserved",
            owner: { kind: "StatefulSet", namespace: "a", name: "web", uid, index, ...ofInterface },
            ...(used ? { pod } : {}),
        },
    };
}
