const text = { type: "string" } as const;

/** The CustomResourceDefinition of networks, as in the multi-network specification 1.3 of the Network Plumbing WG. */
export const networkDefinitionsCrd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "network-attachment-definitions.k8s.cni.cncf.io" },
    spec: {
        group: "k8s.cni.cncf.io",
        scope: "Namespaced",
        names: {
            plural: "network-attachment-definitions",
            singular: "network-attachment-definition",
            kind: "NetworkAttachmentDefinition",
            shortNames: ["net-attach-def"],
        },
        versions: [
            {
                name: "v1",
                served: true,
                storage: true,
                schema: {
                    openAPIV3Schema: {
                        type: "object",
                        properties: {
                            apiVersion: text,
                            kind: text,
                            metadata: { type: "object" },
                            spec: { type: "object", properties: { config: text } },
                        },
                    },
                },
            },
        ],
    },
} as const;
