import type { NodeObject } from "../node-object.ts";

/** The key in the bridge's external_ids that keeps what the agent must know of its Node. */
export const rememberedNodeKey = "antrea-node";

/** The parts of the own Node object that a start needs, as text; for a start while the API server is away. */
export function formatRemembered(node: NodeObject): string {
    return JSON.stringify({
        name: node.metadata?.name,
        podCIDRs: node.spec?.podCIDRs ?? [],
        internalIPs: (node.status?.addresses ?? [])
            .filter(({ type }) => type === "InternalIP")
            .map(({ address }) => address),
    });
}

/** Reads it back. Undefined for another Node's, for one without podCIDRs, and for text that is not ours. */
export function parseRemembered(text: string | undefined, nodeName: string): NodeObject | undefined {
    if (text === undefined) return undefined;
    let value: unknown;
    try {
        value = JSON.parse(text);
    } catch {
        return undefined;
    }
    if (typeof value !== "object" || value === null) return undefined;
    const { name, podCIDRs, internalIPs } = value as Readonly<Record<string, unknown>>;
    if (name !== nodeName || !isTexts(podCIDRs) || !isTexts(internalIPs) || podCIDRs.length === 0) return undefined;
    return {
        metadata: { name: nodeName },
        spec: { podCIDRs },
        status: { addresses: internalIPs.map((address) => ({ type: "InternalIP", address })) },
    };
}

function isTexts(value: unknown): value is readonly string[] {
    return Array.isArray(value) && value.every((item) => typeof item === "string");
}
