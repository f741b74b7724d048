import { podCidrTexts } from "@antrea/ipam";
import type { NodeObject } from "../node-object.ts";

/** The key in the bridge's external_ids that stores the Node's properties, as `formatCachedNode` encodes them. */
export const cachedNodeKey = "antrea-node";

/**
 * Encodes the parts of the own Node object that a start needs while the API server is unavailable, as JSON for
 * `parseCachedNode`: name, podCIDRs, internalIPs and, for a deleted Node, goneAt.
 *
 * @param goneAt when the Node object was deleted (wall time, milliseconds); undefined while it exists
 */
export function formatCachedNode(node: NodeObject, goneAt?: number): string {
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
 * The text to store under `cachedNodeKey` after the previous one (`before`), once the Nodes are synced; undefined to
 * store nothing, for a Node that never had podCIDRs. `own` undefined: the Node object does not exist. The podCIDRs of a
 * Node that has lost them are kept, and so is the deletion time observed first. Pure function.
 *
 * @param goneAt the earliest deletion time of the Node object (wall time, milliseconds), used if it does not exist
 */
export function cachedNodeAfter(
    before: string | undefined,
    own: NodeObject | undefined,
    { nodeName, goneAt }: { readonly nodeName: string; readonly goneAt: number },
): string | undefined {
    if (own !== undefined && podCidrTexts(own).length > 0) return formatCachedNode(own);
    const memory = parseCachedNode(before, nodeName);
    if (memory === undefined) return undefined;
    return formatCachedNode(memory, own === undefined ? (parseGoneAt(before, nodeName) ?? goneAt) : undefined);
}

/**
 * The deletion time of the Node object (wall time, milliseconds) in the stored text; undefined if it existed when last
 * observed, or if `parseCachedNode` finds no such Node.
 */
export function parseGoneAt(text: string | undefined, nodeName: string): number | undefined {
    if (text === undefined || parseCachedNode(text, nodeName) === undefined) return undefined;
    const { goneAt } = JSON.parse(text) as { readonly goneAt?: unknown };
    return typeof goneAt === "number" ? goneAt : undefined;
}

/**
 * Decodes the stored Node (`formatCachedNode`); its only addresses are InternalIPs. Undefined for another Node, for one
 * without podCIDRs, and for invalid or no text.
 */
export function parseCachedNode(text: string | undefined, nodeName: string): NodeObject | undefined {
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
