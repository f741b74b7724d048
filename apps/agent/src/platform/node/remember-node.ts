import { changesRoutes } from "./slim-node.ts";
import type { Platform } from "../platform.ts";
import { rememberedAfter, rememberedNodeKey } from "./config/index.ts";

const resyncMs = 60_000;

/**
 * Adds the job that stores this Node in the OVS database, for a start while the API server is unavailable or reports no
 * podCIDRs for it.
 */
export function addRememberJob(
    { bridge, environment, jobs, nodes }: Pick<Platform, "bridge" | "environment" | "jobs" | "nodes">,
    o: {
        /** Checks whether the Node is as found at startup. */
        readonly lookAtNode: () => void;
        /** Deletion time of the Node object (wall time, milliseconds); the current time if unknown. */
        readonly goneAt: () => number;
    },
): void {
    const { nodeName } = environment;
    const remembering = jobs.every("remember-node", resyncMs, async (limit) => {
        await nodes.synced(limit);
        o.lookAtNode();
        const before = bridge.externalId(rememberedNodeKey);
        const text = rememberedAfter(before, nodes.get(nodeName), { nodeName, goneAt: o.goneAt() });
        if (text !== undefined && text !== before) await bridge.setExternalId(rememberedNodeKey, text, limit);
    });
    nodes.onChange((type, key, object, old) => {
        if (key === nodeName && changesRoutes(type, object, old)) remembering.trigger();
    });
}
