import {
    networkAttachmentDefinitions,
    nodes,
    pods,
    type NetworkAttachmentDefinition,
    type Node,
    type Patch,
} from "@antrea/kube";
import { statusAnnotation } from "@antrea/networks";
import { codeOf, pod, type ApiCase } from "./api-cases.ts";

const namespace = "default";
const o = { subresource: "status" };

/** What the agent needs of the API server for networks other than the Pod network. */
export const networkCases: readonly ApiCase[] = [
    {
        name: "keeps networks of a Namespace, with the text of their configuration as it is",
        run: async (api) => {
            const ref = { namespace, name: "vlan100" };
            const made = await api.create(networkAttachmentDefinitions, network("vlan100", '{"vlan": 1}'));
            const again = await codeOf(api.create(networkAttachmentDefinitions, network("vlan100", "")));
            const body = { spec: { config: '{"vlan": 2}' } };
            const changed = await api.patch(networkAttachmentDefinitions, ref, { type: "merge", body });
            const other = await api.find(networkAttachmentDefinitions, { ...ref, namespace: "kube-system" });
            await api.delete(networkAttachmentDefinitions, ref);
            return [
                made.spec?.config,
                again,
                changed.spec?.config,
                [made, changed].map(({ metadata }) => metadata?.generation),
                other,
                await api.find(networkAttachmentDefinitions, ref),
            ];
        },
        expected: ['{"vlan": 1}', "ALREADY_EXISTS", '{"vlan": 2}', [1, 2], undefined, undefined],
    },
    {
        name: "writes an annotation of a Pod by its status, in the version that the patch names, and keeps status and labels",
        run: async (api) => {
            const ref = { namespace, name: "attached" };
            const made = await api.create(pods, { ...pod("attached"), metadata: { ...ref, labels: { a: "b" } } });
            const running = { type: "merge", body: { status: { phase: "Running", podIP: "10.0.20.1" } } } as const;
            const now = await api.patch(pods, ref, running, o);
            const note = (text: string, version: string | undefined): Patch => ({
                type: "merge",
                body: { metadata: { resourceVersion: version, annotations: { [statusAnnotation]: text } } },
            });
            const stale = await codeOf(api.patch(pods, ref, note("old", made.metadata?.resourceVersion), o));
            const noted = await api.patch(pods, ref, note("new", now.metadata?.resourceVersion), o);
            return [
                stale,
                noted.metadata?.annotations?.[statusAnnotation],
                noted.metadata?.labels,
                noted.status?.phase,
                noted.status?.podIP,
            ];
        },
        expected: ["CONFLICT", "new", { a: "b" }, "Running", "10.0.20.1"],
    },
    {
        name: "merges the conditions of a Node by type, and deletes one",
        run: async (api) => {
            const ref = { name: "conditioned" };
            await api.create(nodes, { metadata: ref });
            const strategic = (...conditions: readonly object[]) => ({
                type: "strategic" as const,
                body: { status: { conditions } },
            });
            const patched = async (...conditions: readonly object[]): Promise<readonly string[]> =>
                conditionsOf(await api.patch(nodes, ref, strategic(...conditions), o));
            return [
                await patched(condition("One", "True")),
                await patched(condition("Two", "False")),
                await patched({ type: "One", status: "False" }),
                await patched({ type: "One", $patch: "delete" }),
            ];
        },
        expected: [
            ["One True why"],
            ["One True why", "Two False why"],
            ["One False why", "Two False why"],
            ["Two False why"],
        ],
    },
];

function network(name: string, config: string): NetworkAttachmentDefinition {
    return { metadata: { namespace, name }, spec: { config } };
}

function condition(type: string, status: string): object {
    return { type, status, reason: "why", message: "" };
}

function conditionsOf({ status }: Node): readonly string[] {
    return (status?.conditions ?? []).map((one) => `${one.type} ${one.status} ${one.reason}`).sort();
}
