import { podCidrTexts } from "@antrea/ipam";
import type { NodeObject } from "../node-object.ts";

/** The key in the bridge's external_ids that keeps what the agent must know of its Node. */
export const rememberedNodeKey = "antrea-node";

/**
 * The parts of the own Node object that a start needs, as text; for a start while the API server is away.
 *
 * @param goneAt when the Node object was deleted, in milliseconds of wall time; undefined while it is there
 */
export function formatRemembered(node: NodeObject, goneAt?: number): string {
    return JSON.stringify({
        name: node.metadata?.name,
        podCIDRs: podCidrTexts(node),
        internalIPs: (node.status?.addresses ?? [])
            .filter(({ type }) => type === "InternalIP")
            .map(({ address }) => address),
        ...(goneAt !== undefined && { goneAt }),
    });
}

/**
 * What is to be remembered after what was, now that the Nodes are known; undefined: nothing, of a Node that never had
 * podCIDRs. The podCIDRs of a Node that has none any more stay, and so does the time of the deletion that was heard of first.
 *
 * @param goneAt when the Node object was deleted at the earliest, if it is not there
 */
export function rememberedAfter(
    before: string | undefined,
    own: NodeObject | undefined,
    { nodeName, goneAt }: { readonly nodeName: string; readonly goneAt: number },
): string | undefined {
    if (own !== undefined && podCidrTexts(own).length > 0) return formatRemembered(own);
    const memory = parseRemembered(before, nodeName);
    if (memory === undefined) return undefined;
    return formatRemembered(memory, own === undefined ? (parseGoneAt(before, nodeName) ?? goneAt) : undefined);
}

/** When the Node object was deleted, in milliseconds of wall time; undefined if it was there when it was heard of last. */
export function parseGoneAt(text: string | undefined, nodeName: string): number | undefined {
    if (text === undefined || parseRemembered(text, nodeName) === undefined) return undefined;
    const { goneAt } = JSON.parse(text) as { readonly goneAt?: unknown };
    return typeof goneAt === "number" ? goneAt : undefined;
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
