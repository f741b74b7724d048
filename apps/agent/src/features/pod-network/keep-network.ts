import { AntreaError, messageOf } from "@antrea/errors";
import type { FlowTable } from "../../platform/ovs/flow-table/index.ts";
import type { PipelineFlows } from "../../platform/ovs/pipeline.ts";
import type { Gateway } from "../../platform/host/gateway/index.ts";
import { reporting } from "../../platform/reporting.ts";
import type { BridgeDevice, OvsBridge } from "../../platform/ovs/bridge/index.ts";
import type { PodReconciler } from "./index.ts";
import type { Readiness } from "../../platform/readiness.ts";

/** The name of the condition that the Node's stack and other Nodes have their way to Pods. Missing only while it is. */
const gatewayCondition = "gateway";

/** - `NOT_KEPT`: several things failed; `details` has their errors. */
class NetworkError extends AntreaError<"NOT_KEPT", { readonly errors: readonly unknown[] }> {}

export interface NetworkParts {
    readonly bridge: Pick<OvsBridge, "endFlowRestore">;
    readonly bridgeDevice: Pick<BridgeDevice, "ensure">;
    readonly flowTable: Pick<FlowTable, "apply" | "repair">;
    readonly gateway: Pick<Gateway, "ensurePort" | "ensureDevice">;
    /** The flows that no Pod owns, for the ports as they are now. */
    readonly pipeline: (limit: AbortSignal) => Promise<readonly PipelineFlows[]>;
    readonly readiness: Pick<Readiness, "met" | "unmet">;
    readonly reconciler: Pick<PodReconciler, "reconcile">;
}

/**
 * Makes gateway, flows, Pod interfaces and the device of the bridge what they must be, where the bridge is there. What
 * fails of the gateway or the tunnel does not keep flows and interfaces of Pods from being repaired, which reach each other
 * without these. Rejects with what failed, at the end.
 */
export async function keepNetwork(
    { bridge, bridgeDevice, flowTable, gateway, pipeline, readiness, reconciler }: NetworkParts,
    limit: AbortSignal,
): Promise<void> {
    const errors: unknown[] = [];
    const attempt = async (work: () => Promise<void>): Promise<void> => {
        try {
            await work();
        } catch (error) {
            limit.throwIfAborted();
            errors.push(error);
        }
    };
    const report = (problem: string | undefined): void => {
        if (problem === undefined) readiness.met(gatewayCondition);
        else readiness.unmet(gatewayCondition, problem);
    };
    await attempt(() =>
        reporting({ what: "the gateway is not as it must be", report }, async () => {
            await gateway.ensurePort(limit);
            await gateway.ensureDevice(limit);
        }),
    );
    await attempt(async () => flowTable.apply(await pipeline(limit), limit));
    await attempt(async () => {
        await flowTable.repair();
        // Also where a replay failed, or the database was away after it.
        await bridge.endFlowRestore(limit);
        await reconciler.reconcile(limit);
    });
    // Last: no traffic of Pods passes it.
    await attempt(() => bridgeDevice.ensure(limit));
    if (errors.length === 0) return;
    // The pipeline fails with the gateway, for the same reason.
    const reasons = new Set(errors.map(messageOf));
    if (reasons.size === 1) throw errors[0];
    const fault = errors[0] instanceof AntreaError ? errors[0].fault : "internal";
    throw new NetworkError("NOT_KEPT", fault, [...reasons].join("; "), { cause: errors[0], details: { errors } });
}
