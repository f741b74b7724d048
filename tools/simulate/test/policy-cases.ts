import {
    allocationName,
    blockText,
    forceDeleteAnnotation,
    ipAllocations,
    podIpsAnnotation,
    poolsAnnotation,
    type AllocationOwner,
    type IpAllocation,
} from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import {
    deployments,
    isKubeError,
    pods,
    statefulSets,
    type ApiClient,
    type KubeObject,
    type Patch,
    type Resource,
} from "@antrea/kube";
import { statusAnnotation } from "@antrea/networks";

/** Who asks: a person who may do all, the agents of two Nodes, the controller. */
export type Roles = Readonly<Record<"admin" | "a" | "b" | "controller", ApiClient>>;

/** What an API server with the policies of the chart lets whom do. */
export interface PolicyCase {
    readonly name: string;
    readonly run: (roles: Roles) => Promise<readonly string[]>;
    readonly expected: readonly string[];
}

const namespace = "default";
const ordinal = { kind: "StatefulSet", namespace, name: "web", uid: "set", index: 0 } as const;

export const policyCases: readonly PolicyCase[] = [
    {
        name: "an agent claims for Pods of its own Node only, and reserves nothing",
        run: ({ a }) =>
            inTurn(
                () => a.create(ipAllocations, allocation("10.1.1.1", "a")),
                () => a.create(ipAllocations, allocation("10.1.1.2", "b")),
                () => a.create(ipAllocations, allocation("10.1.1.3", undefined, ordinal)),
                () => a.create(ipAllocations, allocation("10.1.1.4", undefined, { kind: "Node", name: "a" })),
                () => a.create(ipAllocations, allocation("10.1.1.5", "a", ordinal)),
            ),
        expected: ["OK", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "OK"],
    },
    {
        name: "an agent takes a reservation for its own Node, and only that agent returns it",
        run: async ({ controller, a, b }) => {
            const reserved = await controller.create(ipAllocations, allocation("10.1.2.1", undefined, ordinal));
            const taken = { ...reserved, spec: allocation("10.1.2.1", "b", ordinal).spec };
            const first = await inTurn(
                () => a.update(ipAllocations, taken),
                () => a.delete(ipAllocations, { name: "10.1.2.1" }),
                () => b.update(ipAllocations, taken),
            );
            const now = await a.get(ipAllocations, { name: "10.1.2.1" });
            const back = { ...now, spec: reserved.spec };
            const other = { ...now, spec: { ...now.spec, owner: { ...ordinal, uid: "another" } } };
            return [
                ...first,
                ...(await inTurn(
                    () => a.update(ipAllocations, back),
                    () => b.update(ipAllocations, other),
                    () => b.delete(ipAllocations, { name: "10.1.2.1" }),
                    () => b.update(ipAllocations, back),
                )),
            ];
        },
        expected: ["FORBIDDEN", "FORBIDDEN", "OK", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "OK"],
    },
    {
        name: "an allocation in use is deleted by its agent and by the controller, by others only by force",
        run: async ({ admin, controller, a, b }) => {
            const used = async (address: string): Promise<IpAllocation> =>
                a.create(ipAllocations, allocation(address, "a"));
            const [mine, kept, forced] = [await used("10.1.3.1"), await used("10.1.3.2"), await used("10.1.3.3")];
            const ref = ({ metadata }: IpAllocation) => ({ name: metadata?.name ?? "" });
            const note = (value: string): Patch => ({
                type: "merge",
                body: { metadata: { annotations: { [forceDeleteAnnotation]: value } } },
            });
            return inTurn(
                () => b.delete(ipAllocations, ref(mine)),
                () => admin.delete(ipAllocations, ref(mine)),
                () => admin.update(ipAllocations, { ...kept, spec: allocation("10.1.3.2", "b").spec }),
                () => admin.patch(ipAllocations, ref(forced), note("false")),
                () => admin.delete(ipAllocations, ref(forced)),
                () => admin.patch(ipAllocations, ref(forced), note("true")),
                () => admin.delete(ipAllocations, ref(forced)),
                () => controller.delete(ipAllocations, ref(kept)),
                () => a.delete(ipAllocations, ref(mine)),
            );
        },
        expected: ["FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "OK", "FORBIDDEN", "OK", "OK", "OK", "OK"],
    },
    {
        name: "an agent writes the state of networks of the Pods on its own Node, and nothing else of them",
        run: async ({ admin, a, b }) => {
            const [own, spec] = [
                { namespace, name: "attached-by-a" },
                { nodeName: "a", containers: [{ name: "main", image: "none" }] },
            ];
            await admin.create(pods, { metadata: { ...own, annotations: { note: "x" } }, spec });
            const write = (agent: ApiClient, body: Readonly<Record<string, unknown>>) => () =>
                agent.patch(pods, own, { type: "merge", body }, { subresource: "status" });
            const noted = (key: string, value: string | null) => ({ metadata: { annotations: { [key]: value } } });
            return inTurn(
                write(a, noted(statusAnnotation, "[]")),
                write(b, noted(statusAnnotation, "[1]")),
                write(a, noted("note", null)),
                write(a, noted("other", "y")),
                write(a, { metadata: { labels: { x: "y" } } }),
                write(a, { ...noted(statusAnnotation, "[2]"), status: { phase: "Succeeded" } }),
                write(a, noted(statusAnnotation, null)),
            );
        },
        expected: ["OK", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "OK"],
    },
    {
        name: "anybody may delete an unused allocation",
        run: async ({ admin, controller }) => {
            await controller.create(ipAllocations, allocation("10.1.4.1", undefined, ordinal));
            return inTurn(() => admin.delete(ipAllocations, { name: "10.1.4.1" }));
        },
        expected: ["OK"],
    },
    {
        name: "the annotations of a Pod and of a template stay as they were created",
        run: async ({ admin }) => {
            const container = { name: "main", image: "none" };
            const template = { metadata: { labels: { app: "x" } }, spec: { containers: [container] } };
            const selector = { matchLabels: { app: "x" } };
            const metadata = { namespace, name: "noted" };
            await admin.create(pods, { metadata, spec: { containers: [container] } });
            await admin.create(deployments, { metadata, spec: { selector, template } });
            await admin.create(statefulSets, { metadata, spec: { serviceName: "x", selector, template } });
            const annotated = (key: string) => ({ metadata: { annotations: { [key]: "p" } } });
            const change = (resource: Resource<KubeObject>, body: unknown) => () =>
                admin.patch(resource, metadata, { type: "merge", body: body as Readonly<Record<string, unknown>> });
            const inTemplate = (key: string) => ({ spec: { template: annotated(key) } });
            return inTurn(
                change(pods, annotated(poolsAnnotation)),
                change(pods, annotated("other")),
                change(deployments, inTemplate(poolsAnnotation)),
                change(deployments, inTemplate("other")),
                change(statefulSets, inTemplate(poolsAnnotation)),
                change(statefulSets, inTemplate("other")),
            );
        },
        expected: ["INVALID", "OK", "INVALID", "OK", "INVALID", "OK"],
    },
    {
        name: "annotations can be removed from a template, regardless of their values, but not from a Pod",
        run: async ({ admin }) => {
            const container = { name: "main", image: "none" };
            const annotations = { [poolsAnnotation]: "no-such-pool", [podIpsAnnotation]: "no address" };
            const template = { metadata: { labels: { app: "y" }, annotations }, spec: { containers: [container] } };
            const selector = { matchLabels: { app: "y" } };
            const metadata = { namespace, name: "stale", annotations };
            await admin.create(pods, { metadata, spec: { containers: [container] } });
            await admin.create(deployments, { metadata, spec: { selector, template } });
            await admin.create(statefulSets, { metadata, spec: { serviceName: "y", selector, template } });
            const patch = (resource: Resource<KubeObject>, body: Readonly<Record<string, unknown>>) => () =>
                admin.patch(resource, metadata, { type: "merge", body });
            const without = (key: string) => ({ metadata: { annotations: { [key]: null } } });
            const spec = (...parts: readonly object[]) => ({ spec: Object.assign({}, ...parts) as object });
            return inTurn(
                patch(pods, without(poolsAnnotation)),
                patch(deployments, spec({ replicas: 2 })),
                patch(deployments, spec({ template: without(poolsAnnotation) })),
                patch(deployments, spec({ template: without(podIpsAnnotation) }, { replicas: 3 })),
                patch(statefulSets, spec({ template: without(podIpsAnnotation) })),
                patch(statefulSets, spec({ template: without(poolsAnnotation) })),
            );
        },
        expected: ["INVALID", "OK", "OK", "OK", "OK", "OK"],
    },
];

function allocation(address: string, nodeName?: string, owner?: AllocationOwner): IpAllocation {
    const ip = parseIp(address);
    const isSets = owner?.kind === "StatefulSet";
    const who = { namespace, name: isSets ? "web-0" : "p", uid: "u" };
    const pod = nodeName === undefined ? {} : { pod: { ...who, nodeName, containerID: "c", interface: "eth0" } };
    const state = nodeName === undefined ? ("Reserved" as const) : ("Allocated" as const);
    const spec = { address: formatIp(ip), block: blockText(ip), pool: "pool", state, ...pod };
    return { metadata: { name: allocationName(ip) }, spec: { ...spec, owner: owner ?? { kind: "Pod", ...who } } };
}

/** What becomes of each request, in order. */
async function inTurn(...requests: readonly (() => Promise<unknown>)[]): Promise<readonly string[]> {
    const codes: string[] = [];
    for (const request of requests) {
        try {
            await request();
            codes.push("OK");
        } catch (error) {
            if (!isKubeError(error)) throw error;
            codes.push(error.code);
        }
    }
    return codes;
}
