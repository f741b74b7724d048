import { allocationAddress, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";

/** The Pod that uses an allocated address (`spec.pod` of IPAllocation). */
export interface AllocationPod {
    readonly namespace: string;
    readonly name: string;
    /** Of its object, or of a static Pod the hash of its manifest. */
    readonly uid: string;
    readonly nodeName: string;
}

/**
 * The fields of an IPAllocation that the controller keeps; there may be 100,000. It cannot be written back:
 * AllocationWriter reads the object first.
 */
export interface Allocation {
    readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
    readonly ip: IpAddress;
    /** As `spec.block`: the /24 or /120 that contains the address, as text. */
    readonly block: string;
    /** Name of the IPPool from which it was allocated, which may be deleted or changed since. */
    readonly pool: string;
    readonly owner: AllocationOwner;
    /** Set exactly if the state is Allocated. */
    readonly pod: AllocationPod | undefined;
    /** `metadata.creationTimestamp`, RFC 3339. */
    readonly createdAt: string;
    /** Starts at 1 and grows with each change of the spec. */
    readonly generation: number;
}

/** `namespace/name` of the StatefulSet that owns an allocation; undefined for other owners. */
export function setKeyOf(allocation: Pick<Allocation, "owner">): string | undefined {
    const { kind, namespace, name } = allocation.owner;
    return kind === "StatefulSet" ? `${namespace}/${name}` : undefined;
}

/**
 * The holder of the address, for messages: `Pod a/web-0 on Node n1`, `StatefulSet a/web (ordinal 2)`, `Node n1`, or for
 * a gateway `IPPool p, whose gateway it is`.
 */
export function describeHolder({ owner, pod, pool }: Pick<Allocation, "owner" | "pod" | "pool">): string {
    if (pod !== undefined) return `Pod ${pod.namespace}/${pod.name} on Node ${pod.nodeName}`;
    if (owner.kind === "Gateway") return `IPPool ${pool}, whose gateway it is`;
    const name = owner.namespace === undefined ? (owner.name ?? "") : `${owner.namespace}/${owner.name}`;
    return owner.kind === "StatefulSet" ? `StatefulSet ${name} (ordinal ${owner.index})` : `${owner.kind} ${name}`;
}

const maxKnown = 65_536;

// For an allocation whose name is not an address, which the API server rejects; no pool contains it.
const nowhere: IpAddress = { family: 4, value: 0n };

/**
 * Converts API objects to allocations, which share memory: strings that many objects have (pool, block, Node,
 * StatefulSet) are interned, and an address is computed from its block's first one instead of being parsed. Reads
 * nothing from the API server.
 */
export class AllocationReader {
    readonly #texts = new Map<string, string>();
    #time = "";
    readonly #heads = new Map<string, IpAddress>();

    /**
     * Reads the fields that the controller keeps. A name that is no address, which the API server rejects, becomes
     * 0.0.0.0.
     */
    read(object: IpAllocation): Allocation {
        const {
            name = "",
            uid = "",
            resourceVersion = "",
            creationTimestamp = "",
            generation = 1,
        } = object.metadata ?? {};
        const { block, pool, owner, pod } = object.spec;
        return {
            metadata: { name, uid, resourceVersion },
            ip: this.#address(name),
            block: this.#once(block),
            pool: this.#once(pool),
            owner: this.#owner(owner, pod?.uid),
            pod: pod && {
                namespace: this.#once(pod.namespace),
                name: pod.name === owner.name ? owner.name : pod.name,
                uid: pod.uid,
                nodeName: this.#once(pod.nodeName),
            },
            createdAt: this.#latest(creationTimestamp),
            generation,
        };
    }

    #owner(owner: AllocationOwner, podUid: string | undefined): AllocationOwner {
        const { kind, namespace, name, uid, index, interface: ifName } = owner;
        const ofMany = kind === "StatefulSet";
        return {
            kind,
            ...(namespace !== undefined && { namespace: this.#once(namespace) }),
            ...(name !== undefined && { name: ofMany ? this.#once(name) : name }),
            ...(uid !== undefined && { uid: ofMany ? this.#once(uid) : uid === podUid ? podUid : uid }),
            ...(index !== undefined && { index }),
            ...(ifName !== undefined && { interface: this.#once(ifName) }),
        };
    }

    #once(text: string): string {
        const known = this.#texts.get(text);
        if (known !== undefined) return known;
        forgetAllIfMany(this.#texts);
        this.#texts.set(text, text);
        return text;
    }

    // Many allocations are created in the same second, in sequence.
    #latest(time: string): string {
        if (time !== this.#time) this.#time = time;
        return this.#time;
    }

    // The last part of a name, after "." or "-", is the offset from the address with 0 there.
    #address(name: string): IpAddress {
        const cut = Math.max(name.lastIndexOf("."), name.lastIndexOf("-")) + 1;
        const head = name.slice(0, cut);
        const base = this.#heads.get(head) ?? this.#readHead(head);
        const last = Number.parseInt(name.slice(cut), base.family === 4 ? 10 : 16);
        return base === nowhere || Number.isNaN(last)
            ? nowhere
            : { family: base.family, value: base.value + BigInt(last) };
    }

    #readHead(head: string): IpAddress {
        let base = nowhere;
        try {
            base = allocationAddress(`${head}0`);
        } catch {
            // `nowhere` covers this.
        }
        forgetAllIfMany(this.#heads);
        this.#heads.set(head, base);
        return base;
    }
}

// Nodes and StatefulSets change during the lifetime of the process. A forgotten string costs one more copy.
function forgetAllIfMany(known: Map<string, unknown>): void {
    if (known.size >= maxKnown) known.clear();
}
