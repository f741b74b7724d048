import type { Feature } from "../feature.ts";
import type { Platform } from "../platform.ts";
import {
    awaitOwnNode,
    followOwnNode,
    parseGoneAt,
    parseCachedNode,
    cachedNodeAfter,
    cachedNodeKey,
    type NodeConfig,
} from "./config/index.ts";
import { changesRoutes } from "./node-changes.ts";

const resyncMs = 60_000;

/** Observes when the object of this Node was deleted; times are wall time in milliseconds. */
export interface NodeDeletion {
    /**
     * Restores the time that an earlier run of the agent observed; no effect once it is known whether the Node exists.
     */
    recallGone(goneAt: number): void;
    /** The earliest possible time; undefined while the Node exists or nothing is known. */
    readonly nodeGoneAt: number | undefined;
}

/** The Node on which the agent runs, and the feature that stores it; `startFeatures` starts the feature. */
export interface OwnNode {
    readonly node: NodeConfig;
    /**
     * Stores the Node in the OVS database, for a start while the API server is unavailable or reports no podCIDRs for
     * it: before OVS gets flows of this start, and when it changes.
     */
    readonly remember: Feature;
}

/**
 * Waits until the podCIDRs of the Node are known, and follows the Node object from then on: the condition `node` is
 * unmet while it has no podCIDRs, and changed ones end the process (`fail`). Restores the deletion time of an earlier
 * run in `deletion`. What it waits for is logged. Rejects only if the signal aborts.
 */
export async function ownNode(
    platform: Platform,
    o: {
        /** Undefined if nothing observes the deletion: then the time of the first check after it is stored. */
        readonly deletion: NodeDeletion | undefined;
        /** See OwnNodeOptions; undefined: its default. */
        readonly syncLimitMs: number | undefined;
    },
    signal: AbortSignal,
): Promise<OwnNode> {
    const { bridge, clock, config, environment, fail, jobs, logger, netlink, nodes, readiness } = platform;
    const { nodeName } = environment;
    const stored = (): string | undefined => bridge.externalId(cachedNodeKey);
    const node = await awaitOwnNode(
        { nodes, cachedNode: () => parseCachedNode(stored(), nodeName), netlink, clock, logger },
        { nodeName, config, syncLimitMs: o.syncLimitMs },
        signal,
    );
    const goneAt = parseGoneAt(stored(), nodeName);
    if (goneAt !== undefined) o.deletion?.recallGone(goneAt);
    // Changed podCIDRs affect everything built from them: the process restarts.
    const checkNode = followOwnNode({ nodes, goneAt, readiness, fail, logger }, node);
    const store = async (limit: AbortSignal): Promise<void> => {
        const before = stored();
        const now = { nodeName, goneAt: o.deletion?.nodeGoneAt ?? clock.now() };
        const text = cachedNodeAfter(before, nodes.get(nodeName), now);
        if (text !== undefined && text !== before) await bridge.setExternalId(cachedNodeKey, text, limit);
    };
    // A start that does not know its Node waits, and isolates no Pod: so there are no flows of Pods without this record,
    // also if the agent is killed before its jobs run.
    const stage = async (limit: AbortSignal): Promise<void> => {
        if (nodes.get(nodeName) !== undefined) await store(limit);
    };
    const start = (): void => {
        const remembering = jobs.every("node/cached-node", resyncMs, async (limit) => {
            await nodes.synced(limit);
            checkNode();
            await store(limit);
        });
        nodes.onChange((type, key, object, old) => {
            if (key === nodeName && changesRoutes(type, object, old)) remembering.trigger();
        });
    };
    return { node, remember: { name: "node", stage, start } };
}
