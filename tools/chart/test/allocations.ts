import { allocationName, blockText, type IpAllocation, type IpAllocationSpec } from "@antrea/crd";
import { parseIp } from "@antrea/ip";

export const pod = {
    namespace: "shop",
    name: "web",
    uid: "uid-web",
    nodeName: "node1",
    containerID: "c0ffee",
    interface: "eth0",
} as const;

/** The allocation of a Pod, "web" on "node1" unless set otherwise. */
export function allocation(address: string, spec: Partial<IpAllocationSpec> = {}): IpAllocation {
    const ip = parseIp(address);
    const { namespace, name, uid } = { ...pod, ...spec.pod };
    return {
        metadata: { name: allocationName(ip) },
        spec: {
            address,
            block: blockText(ip),
            pool: "pool1",
            state: "Allocated",
            owner: { kind: "Pod", namespace, name, uid },
            pod,
            ...spec,
        },
    };
}

/** The allocation of a StatefulSet's Pod: Allocated to it, or Reserved without it. */
export function setAllocation(
    address: string,
    set: {
        readonly name?: string;
        readonly index: number;
        readonly nodeName?: string | undefined;
        readonly uid?: string;
    },
): IpAllocation {
    const { name = "db", index, nodeName, uid = "uid-pod" } = set;
    const owner = { kind: "StatefulSet", namespace: pod.namespace, name, uid: "uid-set", index } as const;
    const { pod: _, ...spec } = allocation(address, { owner }).spec;
    if (nodeName === undefined) return allocationOf(address, { ...spec, state: "Reserved" });
    return allocationOf(address, { ...spec, pod: { ...pod, name: `${name}-${index}`, uid, nodeName } });
}

/** An allocation of exactly this spec. */
export function allocationOf(address: string, spec: IpAllocationSpec): IpAllocation {
    return { metadata: { name: allocationName(parseIp(address)) }, spec };
}
