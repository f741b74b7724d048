import { namespaces, pods, type ApiClient, type Namespace } from "@antrea/kube";
import { codeOf, pod, type ApiCase } from "./api-cases.ts";

/** A Namespace ends in two steps: new objects are rejected until it is empty and finalized. */
export const namespaceCases: readonly ApiCase[] = [
    {
        name: "a Namespace that is deleted exists until it is finalized, and rejects new objects",
        run: async (api) => {
            const made = await api.create(namespaces, { metadata: { name: "ending" } });
            await api.delete(namespaces, { name: "ending" });
            const ending = await api.get(namespaces, { name: "ending" });
            const refused = await codeOf(api.create(pods, pod("late", { namespace: "ending" })));
            const again = await codeOf(api.create(namespaces, { metadata: { name: "ending" } }));
            const twice = await codeOf(api.delete(namespaces, { name: "ending" }));
            const annotated = await codeOf(
                api.patch(
                    namespaces,
                    { name: "ending" },
                    { type: "merge", body: { metadata: { annotations: { a: "b" } } } },
                ),
            );
            await finalize(api, "ending");
            const gone = await api.find(namespaces, { name: "ending" });
            const anew = await api.create(namespaces, { metadata: { name: "ending" } });
            return [
                phaseOf(made),
                phaseOf(ending),
                ending.metadata?.deletionTimestamp !== undefined,
                refused,
                again,
                twice,
                annotated,
                gone,
                phaseOf(anew),
                anew.metadata?.uid === made.metadata?.uid,
                await codeOf(api.create(pods, pod("early", { namespace: "ending" }))),
            ];
        },
        expected: [
            "Active",
            "Terminating",
            true,
            "FORBIDDEN",
            "ALREADY_EXISTS",
            "OK",
            "OK",
            undefined,
            "Active",
            false,
            "OK",
        ],
    },
    {
        name: "a system Namespace is not deleted",
        run: async (api) => [await codeOf(api.delete(namespaces, { name: "default" }))],
        expected: ["FORBIDDEN"],
    },
];

function phaseOf(namespace: Namespace): string | undefined {
    return (namespace as { readonly status?: { readonly phase?: string } }).status?.phase;
}

/** As the controller of Namespaces does when nothing is left in one. */
async function finalize(api: ApiClient, name: string): Promise<void> {
    const { spec: _, ...rest } = (await api.get(namespaces, { name })) as Namespace & { readonly spec?: unknown };
    await api.update(namespaces, { ...rest, spec: { finalizers: [] } } as Namespace, { subresource: "finalize" });
}
