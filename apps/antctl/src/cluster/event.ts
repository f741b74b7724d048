import { events, type KubeEvent } from "@antrea/kube";
import { type Cluster } from "./cluster.ts";

/** The fields of an Event that commands print; "" if not set, unless stated otherwise. */
export interface EventInfo {
    /** When it was last seen (RFC 3339); undefined if it has no time. */
    readonly time: string | undefined;
    /** `Normal` or `Warning`; `Normal` if not set. */
    readonly type: string;
    readonly reason: string;
    /** The component that reported it. */
    readonly from: string;
    readonly note: string;
    /** How often it was seen; 1 if not set. */
    readonly count: number;
}

/**
 * The events about an object, latest first. They are selected by kind and name, so those of an earlier object of this
 * name are among them. Rejects with KubeError.
 */
export async function eventsOf(
    cluster: Pick<Cluster, "list">,
    object: { readonly kind: string; readonly namespace: string; readonly name: string },
): Promise<readonly EventInfo[]> {
    const fieldSelector = `regarding.kind=${object.kind},regarding.name=${object.name}`;
    const found = await cluster.list(events, readEvent, { namespace: object.namespace, fieldSelector });
    return found.toSorted((a, b) => momentOf(b) - momentOf(a));
}

/** In milliseconds since 1970; 0 without a readable time. Texts would put a fraction of a second before its start. */
function momentOf({ time }: EventInfo): number {
    return Date.parse(time ?? "") || 0;
}

/** Reads the fields that commands print. */
export function readEvent(event: KubeEvent): EventInfo {
    return {
        time:
            event.series?.lastObservedTime ??
            event.deprecatedLastTimestamp ??
            event.eventTime ??
            event.metadata?.creationTimestamp,
        type: event.type ?? "Normal",
        reason: event.reason ?? "",
        from: event.reportingController || (event.deprecatedSource?.component ?? ""),
        note: event.note ?? "",
        count: event.series?.count ?? event.deprecatedCount ?? 1,
    };
}
