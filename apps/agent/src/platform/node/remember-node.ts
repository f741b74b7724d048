import { changesRoutes } from "./slim-node.ts";
import type { Platform } from "../platform.ts";
import { rememberedAfter, rememberedNodeKey } from "./config/index.ts";

const resyncMs = 60_000;

/** Remembers this Node in OVS's database, for a start while the API server is away, or has no podCIDRs for this Node. */
export function addRememberJob(
    { bridge, environment, jobs, nodes }: Pick<Platform, "bridge" | "environment" | "jobs" | "nodes">,
    o: {
        /** Looks whether the Node is as the start found it. */
        readonly lookAtNode: () => void;
        /** When the Node object was found deleted, in milliseconds of wall time; now if that is not known. */
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
