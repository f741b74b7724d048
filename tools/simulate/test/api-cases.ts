import { allocationName, blockText, ipAllocations, ipPools, type IpAllocation, type IpPool } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import {
    isKubeError,
    pathOf,
    pods,
    statefulSets,
    type ApiClient,
    type KubeObject,
    type Pod,
    type Resource,
    type StatefulSet,
} from "@antrea/kube";

/** The responses of an API server without what differs between two servers: UIDs, versions, times. */
export interface ApiCase {
    readonly name: string;
    readonly run: (api: ApiClient) => Promise<unknown>;
    readonly expected: unknown;
}

const namespace = "default";

export const apiCases: readonly ApiCase[] = [
    {
        name: "creates an object once",
        run: async (api) => {
            const made = await api.create(ipAllocations, allocation("10.0.1.1"));
            const { uid, resourceVersion, creationTimestamp, generation } = made.metadata ?? {};
            const again = await codeOf(api.create(ipAllocations, allocation("10.0.1.1")));
            return [
                uid !== undefined,
                resourceVersion !== undefined,
                creationTimestamp !== undefined,
                generation,
                again,
            ];
        },
        expected: [true, true, true, 1, "ALREADY_EXISTS"],
    },
    {
        name: "reports missing objects as not found",
        run: async (api) => [
            await codeOf(api.get(ipAllocations, { name: "10.0.2.1" })),
            await api.find(ipAllocations, { name: "10.0.2.1" }),
            await codeOf(api.delete(ipAllocations, { name: "10.0.2.1" })),
            await codeOf(api.patch(ipPools, { name: "none" }, { type: "merge", body: { spec: {} } })),
            await codeOf(api.create(pods, pod("p", { namespace: "nowhere" }))),
        ],
        expected: ["NOT_FOUND", undefined, "NOT_FOUND", "NOT_FOUND", "NOT_FOUND"],
    },
    {
        name: "replaces a custom object only in the version that it has",
        run: async (api) => {
            const made = await api.create(ipAllocations, allocation("10.0.3.1"));
            const touched = await api.update(ipAllocations, annotated(made, "a"));
            const { resourceVersion: _, ...unversioned } = touched.metadata ?? {};
            return [
                await codeOf(api.update(ipAllocations, annotated(made, "b"))),
                await codeOf(api.update(ipAllocations, { ...touched, metadata: unversioned })),
                await codeOf(
                    api.update(ipAllocations, { ...touched, metadata: { ...touched.metadata, uid: "another" } }),
                ),
                await codeOf(api.update(ipAllocations, annotated(touched, "c"))),
            ];
        },
        expected: ["CONFLICT", "INVALID", "CONFLICT", "OK"],
    },
    {
        name: "creates no new version if a write changes nothing",
        run: async (api) => {
            const made = await api.create(ipAllocations, allocation("10.0.4.1"));
            const same = await api.update(ipAllocations, made);
            const other = await api.update(ipAllocations, annotated(made, "a"));
            const versions = [made, same, other].map(({ metadata }) => metadata?.resourceVersion);
            return [versions[0] === versions[1], versions[1] === versions[2], other.metadata?.generation];
        },
        expected: [true, false, 1],
    },
    {
        name: "deletes only the object of the UID and version in the preconditions",
        run: async (api) => {
            const made = await api.create(ipAllocations, allocation("10.0.5.1"));
            const { uid, resourceVersion } = made.metadata ?? {};
            const touched = await api.update(ipAllocations, annotated(made, "a"));
            const ref = { name: "10.0.5.1" };
            return [
                await codeOf(api.delete(ipAllocations, ref, { uid: "another" })),
                await codeOf(api.delete(ipAllocations, ref, { uid, resourceVersion })),
                await codeOf(
                    api.delete(ipAllocations, ref, { uid, resourceVersion: touched.metadata?.resourceVersion }),
                ),
                await api.find(ipAllocations, ref),
            ];
        },
        expected: ["CONFLICT", "CONFLICT", "OK", undefined],
    },
    {
        name: "patches as RFC 7386 specifies, in the version that the patch names, if it names one",
        run: async (api) => {
            const made = await api.create(ipAllocations, allocation("10.0.6.1"));
            const patch = (metadata: unknown): Promise<IpAllocation> =>
                api.patch(ipAllocations, { name: "10.0.6.1" }, { type: "merge", body: { metadata } });
            const set = await patch({ annotations: { a: "1", b: "2" } });
            const stale = await codeOf(
                patch({ resourceVersion: made.metadata?.resourceVersion, annotations: { a: "2" } }),
            );
            const removed = await patch({ resourceVersion: set.metadata?.resourceVersion, annotations: { a: null } });
            return [set.metadata?.annotations, stale, removed.metadata?.annotations];
        },
        expected: [{ a: "1", b: "2" }, "CONFLICT", { b: "2" }],
    },
    {
        name: "refuses a patch of another object of the name, but of a custom resource's status only by the version",
        run: async (api) => {
            const made = await api.create(ipPools, pool("foreign", "10.0.12.9"));
            await api.create(pods, pod("foreign", { nodeName: "n" }));
            const stale = made.metadata?.resourceVersion;
            const ref = { name: "foreign" };
            await api.patch(ipPools, ref, { type: "merge", body: { metadata: { annotations: { a: "1" } } } });
            const body = { metadata: { uid: "another" }, status: { freeBlocks: [] } };
            const old = { metadata: { uid: "another", resourceVersion: stale }, status: { freeBlocks: [] } };
            const inPod = { metadata: { uid: "another" }, status: { phase: "Running" } };
            const o = { subresource: "status" };
            return [
                await codeOf(api.patch(ipPools, ref, { type: "merge", body })),
                await codeOf(api.patch(ipPools, ref, { type: "merge", body }, o)),
                await codeOf(api.patch(ipPools, ref, { type: "merge", body: old }, o)),
                await codeOf(api.patch(pods, { namespace, ...ref }, { type: "merge", body: inPod }, o)),
            ];
        },
        expected: ["INVALID", "OK", "CONFLICT", "INVALID"],
    },
    {
        name: "keeps spec and status apart, and counts changes of the spec",
        run: async (api) => {
            const status = { usage: { total: 1, used: 0, reserved: 0, free: 1 } };
            const made = await api.create(ipPools, { ...pool("split", "10.0.7.9"), status });
            const ref = { name: "split" };
            const body = { spec: { ipRanges: [range("10.0.7.10")] }, status };
            const byStatus = await api.patch(ipPools, ref, { type: "merge", body }, { subresource: "status" });
            const bySpec = await api.patch(ipPools, ref, { type: "merge", body: { ...body, status: { usage: null } } });
            return [made, byStatus, bySpec].map((one) => [
                one.metadata?.generation,
                one.spec.ipRanges[0]?.end,
                one.status?.usage?.total,
            ]);
        },
        expected: [
            [1, "10.0.7.9", undefined],
            [1, "10.0.7.9", 1],
            [2, "10.0.7.10", 1],
        ],
    },
    {
        name: "rejects allocations that violate the CRD's rules",
        run: async (api) => {
            const made = await api.create(ipAllocations, allocation("10.0.8.1"));
            const made6 = await codeOf(api.create(ipAllocations, allocation("fd00::8:1")));
            const tries = [
                allocation("10.0.8.2", { metadata: { name: "10.0.8.3" } }),
                allocation("10.0.8.2", { metadata: { name: "not-an-address" } }),
                allocation("10.0.8.2", { state: "Reserved" }),
                allocation("10.0.8.2", { pod: undefined }),
                allocation("10.0.8.2", { block: "10.0.9.0/24" }),
                allocation("10.0.8.2", { poolUID: "uid-pool" }),
                allocation("10.0.8.2", { poolGeneration: 3 }),
                allocation("10.0.8.2", { owner: { kind: "Pod", namespace, name: "p", uid: "another" } }),
                allocation("10.0.8.2", { owner: { kind: "StatefulSet", namespace, name: "set", index: 1 } }),
                allocation("10.0.8.2", {
                    owner: { kind: "StatefulSet", namespace, name: "set" },
                    pod: undefined,
                    state: "Reserved",
                }),
                allocation("10.0.8.2", { owner: { kind: "Node", name: "n" } }),
                allocation("10.0.8.2", { owner: { kind: "Node", name: "n" }, pod: undefined, state: "Reserved" }),
            ];
            const changes = [{ pool: "other" }, { address: "10.0.8.9" }, { block: "10.0.9.0/24" }];
            return [
                made6,
                ...(await Promise.all(tries.map((one) => codeOf(api.create(ipAllocations, one))))),
                ...(await Promise.all(
                    changes.map((change) =>
                        codeOf(api.update(ipAllocations, { ...made, spec: { ...made.spec, ...change } })),
                    ),
                )),
            ];
        },
        expected: ["OK", ...Array<string>(11).fill("INVALID"), "OK", ...Array<string>(3).fill("INVALID")],
    },
    {
        name: "lists pages of one resource version with the number of remaining items",
        run: async (api) => {
            const names = ["10.0.9.1", "10.0.9.2", "10.0.9.3", "10.0.9.4", "10.0.9.5"];
            for (const name of names) await api.create(ipAllocations, allocation(name));
            const query = { fieldSelector: "spec.block=10.0.9.0/24", pageSize: 2 };
            const pages: (readonly (string | undefined)[])[] = [];
            for await (const page of api.pages(ipAllocations, query)) {
                pages.push(page.items.map(({ metadata }) => metadata?.name));
                if (pages.length === 1) await api.delete(ipAllocations, { name: "10.0.9.5" });
            }
            await api.create(ipPools, pool("one", "10.0.9.20"));
            const before = (await api.list(ipPools)).items.length;
            const first = await api.request({ method: "GET", path: `${pathOf(ipPools)}?limit=1` });
            const { remainingItemCount = 0 } = (
                first as { readonly metadata: { readonly remainingItemCount?: number } }
            ).metadata;
            return [pages, remainingItemCount === before - 1];
        },
        expected: [[["10.0.9.1", "10.0.9.2"], ["10.0.9.3", "10.0.9.4"], ["10.0.9.5"]], true],
    },
    {
        name: "selects by the fields that a kind has, and refuses others",
        run: async (api) => {
            await api.create(ipAllocations, allocation("10.0.10.1", { pool: "chosen" }));
            await api.create(ipAllocations, allocation("10.0.10.2"));
            const listed = async (fieldSelector: string): Promise<unknown> =>
                (await api.list(ipAllocations, { fieldSelector })).items.map(({ metadata }) => metadata?.name);
            return [
                await listed("spec.pool=chosen,spec.state=Allocated"),
                await listed("spec.pool=chosen,spec.state=Reserved"),
                await listed("spec.block=10.0.10.0/24,spec.pool!=chosen"),
                await codeOf(listed("spec.owner.uid=u")),
            ];
        },
        expected: [["10.0.10.1"], [], ["10.0.10.2"], "BAD_REQUEST"],
    },
    {
        name: "sends a watch the objects that enter, change in and leave its selection",
        run: async (api) => {
            const { resourceVersion } = await api.list(ipAllocations);
            const made = await api.create(ipAllocations, allocation("10.0.11.1", { owner: ordinal }));
            const { pod: taken, ...rest } = made.spec;
            const reserved = await api.update(ipAllocations, { ...made, spec: { ...rest, state: "Reserved" } });
            const back = await api.update(ipAllocations, {
                ...reserved,
                spec: { ...made.spec, ...(taken && { pod: taken }) },
            });
            await api.update(ipAllocations, annotated(back, "a"));
            await api.delete(ipAllocations, { name: "10.0.11.1" });
            const events = await watched(api, ipAllocations, {
                resourceVersion,
                count: 5,
                fieldSelector: "spec.block=10.0.11.0/24,spec.state=Allocated",
            });
            const versions = events.map(({ object }) => Number(object.metadata?.resourceVersion));
            const left = events[1]?.object as IpAllocation | undefined;
            return [
                events.map(({ type }) => type),
                versions.every((version, at) => at === 0 || version > (versions[at - 1] ?? 0)),
                // As it was when it was still in the selection, in the version that took it out.
                [left?.spec.state, left?.metadata?.resourceVersion === reserved.metadata?.resourceVersion],
            ];
        },
        expected: [["ADDED", "DELETED", "ADDED", "MODIFIED", "DELETED"], true, ["Allocated", true]],
    },
    {
        name: "deletes a Pod on a Node after its grace period, others at once",
        run: async (api) => {
            await api.create(pods, pod("bound", { nodeName: "n" }));
            await api.create(pods, pod("unbound"));
            await api.delete(pods, { namespace, name: "unbound" });
            await api.delete(pods, { namespace, name: "bound" });
            const ending = await api.get(pods, { namespace, name: "bound" });
            await api.delete(pods, { namespace, name: "bound" }, { gracePeriodSeconds: 0 });
            return [
                await api.find(pods, { namespace, name: "unbound" }),
                ending.metadata?.deletionTimestamp !== undefined,
                ending.metadata?.deletionGracePeriodSeconds,
                ending.status?.phase,
                await api.find(pods, { namespace, name: "bound" }),
            ];
        },
        expected: [undefined, true, 30, "Pending", undefined],
    },
    {
        name: "keeps an object until its last finalizer is removed",
        run: async (api) => {
            await api.create(statefulSets, set("held"));
            const ref = { namespace, name: "held" };
            const body = JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Orphan" });
            await api.request({ method: "DELETE", path: pathOf(statefulSets, ref), body });
            const held = await api.get(statefulSets, ref);
            await api.patch(statefulSets, ref, { type: "merge", body: { metadata: { finalizers: null } } });
            return [
                held.metadata?.deletionTimestamp !== undefined,
                held.metadata?.finalizers,
                await api.find(statefulSets, ref),
            ];
        },
        expected: [true, ["orphan"], undefined],
    },
];

const ordinal = { kind: "StatefulSet", namespace, name: "set", index: 0 } as const;

interface AllocationParts extends Partial<IpAllocation["spec"]> {
    readonly metadata?: IpAllocation["metadata"];
}

function allocation(address: string, { metadata, ...parts }: AllocationParts = {}): IpAllocation {
    const ip = parseIp(address);
    const isSets = parts.owner?.kind === "StatefulSet";
    const podOf = {
        namespace,
        name: isSets ? "set-0" : "p",
        uid: "u",
        nodeName: "n",
        containerID: "c",
        interface: "eth0",
    };
    const { pod: own, ...spec } = {
        address: formatIp(ip),
        block: blockText(ip),
        pool: "pool",
        state: "Allocated" as const,
        pod: podOf,
        owner: { kind: "Pod" as const, namespace, name: "p", uid: "u" },
        ...parts,
    };
    return { metadata: metadata ?? { name: allocationName(ip) }, spec: { ...spec, ...(own && { pod: own }) } };
}

function annotated<T extends IpAllocation>(object: T, note: string): T {
    return { ...object, metadata: { ...object.metadata, annotations: { note } } };
}

function range(end: string): IpPool["spec"]["ipRanges"][number] {
    return { start: end.replace(/\d+$/, "5"), end, gateway: end.replace(/\d+$/, "1"), prefixLength: 24 };
}

function pool(name: string, end: string): IpPool {
    return { metadata: { name }, spec: { ipVersion: 4, ipRanges: [range(end)] } };
}

export function pod(name: string, options: { readonly namespace?: string; readonly nodeName?: string } = {}): Pod {
    const spec = {
        containers: [{ name: "main", image: "none" }],
        ...(options.nodeName && { nodeName: options.nodeName }),
    };
    return { metadata: { namespace: options.namespace ?? namespace, name }, spec };
}

function set(name: string): StatefulSet {
    const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "none" }] } };
    return {
        metadata: { namespace, name },
        spec: { replicas: 1, serviceName: name, selector: { matchLabels: { app: name } }, template },
    };
}

export async function codeOf(request: Promise<unknown>): Promise<string> {
    try {
        await request;
        return "OK";
    } catch (error) {
        if (isKubeError(error)) return error.code;
        throw error;
    }
}

interface WatchEvent {
    readonly type: string;
    readonly object: KubeObject;
}

async function watched(
    api: ApiClient,
    resource: Resource<KubeObject>,
    o: { readonly resourceVersion: string; readonly count: number; readonly fieldSelector: string },
): Promise<readonly WatchEvent[]> {
    const stop = new AbortController();
    const { resourceVersion, fieldSelector } = o;
    const response = await api.watch(resource, {
        resourceVersion,
        fieldSelector,
        timeoutSeconds: 60,
        signal: stop.signal,
    });
    const events: WatchEvent[] = [];
    let text = "";
    for await (const chunk of response) {
        text += Buffer.from(chunk).toString();
        const lines = text.split("\n");
        text = lines.pop() ?? "";
        events.push(...lines.map((line) => JSON.parse(line) as WatchEvent).filter(({ type }) => type !== "BOOKMARK"));
        if (events.length >= o.count) break;
    }
    stop.abort();
    return events;
}
