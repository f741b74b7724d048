import { Readable } from "node:stream";
import { allocationName, blockText, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { type ApiClient, type KubeObject } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { AllocationCache } from "../src/platform/allocations/index.ts";

/** An IPAllocation as the API server has it. With a Node it is Allocated to a Pod there. */
export function allocation(
    address: string,
    pool: string,
    options: { readonly node?: string; readonly owner?: AllocationOwner; readonly version?: string } = {},
): IpAllocation {
    const ip = parseIp(address);
    const name = allocationName(ip);
    const { node, version = "1" } = options;
    const pod = { namespace: "ns", name: `pod-${name}`, uid: `pod-uid-${name}` };
    return {
        metadata: {
            name,
            uid: `uid-${name}`,
            resourceVersion: version,
            generation: 1,
            creationTimestamp: "2026-01-01T00:00:00Z",
        },
        spec: {
            address: formatIp(ip),
            block: blockText(ip),
            pool,
            state: node === undefined ? "Reserved" : "Allocated",
            owner: options.owner ?? { kind: "Pod", ...pod },
            ...(node !== undefined && { pod: { ...pod, nodeName: node, containerID: "c", interface: "eth0" } }),
        },
    };
}

export function ownedBySet(name: string, index: number, uid = "set-uid"): AllocationOwner {
    return { kind: "StatefulSet", namespace: "ns", name, uid, index };
}

type Objects = Readonly<Record<string, readonly KubeObject[]>>;

/** An API server that has these objects, by plural, and reports more. */
export class FakeApi {
    readonly #objects: Objects;
    readonly #streams = new Map<string, Readable>();

    constructor(objects: Objects) {
        this.#objects = objects;
    }

    get api(): Pick<ApiClient, "list" | "pages" | "watch"> {
        const listed = ({
            plural,
        }: {
            readonly plural: string;
        }): { readonly items: readonly KubeObject[]; readonly resourceVersion: string } => ({
            items: this.#objects[plural] ?? [],
            resourceVersion: "1",
        });
        return {
            list: ((resource: { readonly plural: string }) => Promise.resolve(listed(resource))) as never,
            pages: async function* (resource: { readonly plural: string }) {
                await Promise.resolve();
                yield listed(resource);
            } as never,
            watch: ({ plural }, { signal }) => {
                const stream = new Readable({ read: () => undefined });
                signal.addEventListener("abort", () => stream.destroy(new Error("aborted")));
                this.#streams.set(plural, stream);
                return Promise.resolve(stream as never);
            },
        };
    }

    /** Resolves when the informer of that kind has had the time to take it in. */
    async send(plural: string, type: "ADDED" | "MODIFIED" | "DELETED", object: KubeObject): Promise<void> {
        this.#streams.get(plural)?.push(`${JSON.stringify({ type, object })}\n`);
        await new Promise((resolve) => setTimeout(resolve, 1));
        await new Promise((resolve) => setImmediate(resolve));
    }
}

/** An AllocationCache that has listed these allocations and follows their watch events. */
export async function cacheOf(allocations: readonly IpAllocation[]): Promise<{
    readonly cache: AllocationCache;
    readonly send: (type: "ADDED" | "MODIFIED" | "DELETED", object: IpAllocation) => Promise<void>;
}> {
    const fake = new FakeApi({ ipallocations: allocations });
    const cache = new AllocationCache({ api: fake.api, logger: new MemoryLog().logger });
    const { signal } = new AbortController();
    await cache.part.start?.(signal);
    await cache.synced(signal);
    return { cache, send: (type, object) => fake.send("ipallocations", type, object) };
}
