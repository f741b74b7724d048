import {
    crashAgent,
    rebootNode,
    loseNode,
    partitionNode,
    forgetNode,
    forgetCutNode,
    refuseToken,
    loseOvsDatabase,
    stopOvs,
    joinNode,
    breakRequests,
    floodFlows,
    breakWatches,
    stallWatches,
    compact,
    crashController,
    partitionController,
    stopWebhook,
    confuseRuntime,
    killSandbox,
    skewClock,
    stationOf,
} from "./fault-actions.ts";
import { claimInSubnet } from "./hand-made-allocations.ts";
import {
    createPods,
    deletePods,
    recreatePod,
    createSet,
    scaleSet,
    deleteSet,
    createDeployment,
    scaleDeployment,
    deleteDeployment,
    touchAllocation,
    forceDeleteAllocation,
} from "./user-actions.ts";
import {
    changeNetwork,
    createNetwork,
    createNetworkPool,
    deleteNetwork,
    shrinkNetworkPool,
    switchNetworks,
} from "./network-actions.ts";
import { createPool, deletePool, growPool, overlapPool, redefinePool, replacePool, shrinkPool } from "./pools.ts";
import { Random } from "./time/random.ts";
import { annotateNamespace, replaceNamespace } from "./tenants.ts";
import { changeManifest, placeManifest, removeManifest } from "./static-pods.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";

/** An action of a user or a fault. */
export interface Action {
    readonly name: ActionName;
    /** Since the previous action. */
    readonly afterMs: number;
    /** Seed of the choices that the action makes in the current state. */
    readonly seed: number;
}

type Act = (cluster: SimulatedCluster, random: Random) => Promise<void> | void;

/** Each with its weight. */
const acts = {
    createPods: [14, createPods],
    deletePods: [9, (cluster, random) => deletePods(cluster, random, undefined)],
    forceDeletePods: [3, (cluster, random) => deletePods(cluster, random, 0)],
    recreatePod: [4, recreatePod],
    placeManifest: [4, placeManifest],
    changeManifest: [2, changeManifest],
    removeManifest: [1, removeManifest],
    createDeployment: [3, createDeployment],
    scaleDeployment: [2, scaleDeployment],
    deleteDeployment: [1.5, deleteDeployment],
    annotateNamespace: [2, annotateNamespace],
    replaceNamespace: [1.5, replaceNamespace],
    createSet: [5, (cluster, random) => createSet(cluster, random)],
    scaleSet: [6, scaleSet],
    deleteSet: [2, (cluster, random) => deleteSet(cluster, random, "Background")],
    orphanSet: [1.5, (cluster, random) => deleteSet(cluster, random, "Orphan")],
    createPool: [2, createPool],
    overlapPool: [1.5, overlapPool],
    growPool: [2, growPool],
    shrinkPool: [1.5, shrinkPool],
    deletePool: [1.5, deletePool],
    redefinePool: [1.5, redefinePool],
    replacePool: [1.5, replacePool],
    createNetworkPool: [1, createNetworkPool],
    createNetwork: [1.5, createNetwork],
    changeNetwork: [1.5, changeNetwork],
    deleteNetwork: [1, deleteNetwork],
    shrinkNetworkPool: [1, shrinkNetworkPool],
    switchNetworks: [1, switchNetworks],
    touchAllocation: [3, touchAllocation],
    claimInSubnet: [2, claimInSubnet],
    forceDeleteAllocation: [1.5, forceDeleteAllocation],
    crashAgent: [5, crashAgent],
    rebootNode: [2, rebootNode],
    loseNode: [1.5, loseNode],
    partitionNode: [3, partitionNode],
    forgetNode: [1, forgetNode],
    forgetCutNode: [1, forgetCutNode],
    refuseToken: [1, refuseToken],
    loseOvsDatabase: [1, loseOvsDatabase],
    stopOvs: [2, stopOvs],
    joinNode: [1, (cluster) => joinNode(cluster)],
    breakRequests: [4, breakRequests],
    floodFlows: [2, floodFlows],
    breakWatches: [3, breakWatches],
    stallWatches: [3, stallWatches],
    compact: [3, (cluster) => compact(cluster)],
    crashController: [2, crashController],
    partitionController: [2, partitionController],
    stopWebhook: [2, stopWebhook],
    confuseRuntime: [4, confuseRuntime],
    killSandbox: [4, killSandbox],
    collectGarbage: [2, (cluster, random) => stationOf(cluster, random)?.kubelet.collect()],
    check: [1, (cluster, random) => stationOf(cluster, random)?.kubelet.check()],
    skewClock: [1, skewClock],
} as const satisfies Readonly<Record<string, readonly [weight: number, act: Act]>>;

export type ActionName = keyof typeof acts;
/** The names of all actions. */
export const actionNames = Object.keys(acts) as readonly ActionName[];

/** The actions of a seed, more than a run uses. */
export function actionsOf(seed: number, count: number): readonly Action[] {
    const random = new Random(seed, 7);
    const total = Object.values(acts).reduce((sum, [weight]) => sum + weight, 0);
    const draw = (): ActionName => {
        let left = random.next() * total;
        for (const name of actionNames) {
            left -= acts[name][0];
            if (left < 0) return name;
        }
        return "createPods";
    };
    return Array.from({ length: count }, () => ({
        name: draw(),
        afterMs: random.latency(5, 15_000),
        seed: random.bits(),
    }));
}

/** Counts, logs and performs an action. */
export async function perform({ name, seed }: Action, cluster: SimulatedCluster): Promise<void> {
    cluster.counters.count(`action.${name}`);
    cluster.step(() => `--- ${name}`);
    const [, act]: readonly [number, Act] = acts[name];
    await act(cluster, new Random(seed, 8));
}
