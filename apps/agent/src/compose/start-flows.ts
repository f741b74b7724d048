import { EarlierFlows, FlowRestore } from "../platform/ovs/flow-table/index.ts";
import { formatRounds, roundsKey } from "../platform/ovs/bridge/index.ts";
import type { Platform } from "../platform/platform.ts";
import type { PodWiring } from "./pod-wiring.ts";

/** The parts whose flows are started. */
export interface StartedFlows extends Pick<PodWiring, "pipeline" | "reconciler" | "peers"> {
    /** In bridging mode: whether the Service CIDRs are known. */
    readonly serviceCidrsKnown: (() => boolean) | undefined;
}

/**
 * Installs the flows of this start in OVS alongside those of earlier ones, then deletes the earlier ones, but those to
 * other Nodes and to Services only once their replacements are known. The returned function is to be called when the
 * Nodes are synced.
 */
export async function startFlows(
    { bridge, flowTable, logger, nodes, openflow, readiness }: Platform,
    { pipeline, reconciler, peers, serviceCidrsKnown }: StartedFlows,
    signal: AbortSignal,
    replayed: () => void,
): Promise<(limit: AbortSignal) => Promise<void>> {
    for (const { owner, flows } of await pipeline(signal)) flowTable.stage(owner, flows);
    if (nodes.hasSynced) peers.stage();
    const rounds = await bridge.beginRound(signal);
    flowTable.useRound(rounds.current);
    const earlier = new EarlierFlows(
        {
            flowTable,
            learned: async (limit) => {
                if (serviceCidrsKnown === undefined) return true;
                if (!serviceCidrsKnown()) return false;
                await flowTable.apply(await pipeline(limit), limit);
                return true;
            },
            forgotten: (limit) =>
                bridge.setExternalId(roundsKey, formatRounds({ current: rounds.current, earlier: [] }), limit),
        },
        { rounds: rounds.earlier },
    );
    const release = (limit?: AbortSignal): Promise<void> => bridge.endFlowRestore(limit);
    const restore = new FlowRestore({ flowTable, release, logger: logger.child("flows") });
    const firstReplay = Promise.withResolvers<void>();
    openflow.onReady(async (link) => {
        await restore.replay(link);
        readiness.met("openflow");
        firstReplay.resolve();
    });
    openflow.start(signal);
    await firstReplay.promise;
    replayed();
    await reconciler.restoreAll(signal);
    await restore.allKnown(signal);
    await earlier.deleteOwn();
    return (limit) => earlier.deleteLearned(limit);
}
