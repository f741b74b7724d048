import { AntreaError, messageOf } from "@antrea/errors";
import type { FlowTable } from "../../platform/ovs/flow-table/index.ts";
import type { Gateway } from "../../platform/host/gateway/index.ts";
import { reporting } from "../../platform/reporting.ts";
import type { BridgeDevice, OvsBridge } from "../../platform/ovs/bridge/index.ts";
import type { PodReconciler } from "./index.ts";
import type { Readiness } from "../../platform/readiness.ts";

/** The readiness condition that the Node and other Nodes can reach Pods. Present only while it is unmet. */
const gatewayCondition = "gateway";

/** - `NOT_KEPT`: several steps failed; `details` has their errors. */
class NetworkError extends AntreaError<"NOT_KEPT", { readonly errors: readonly unknown[] }> {}

/** The parts that `keepNetwork` reconciles. */
export interface NetworkParts {
    readonly bridge: Pick<OvsBridge, "endFlowRestore">;
    readonly bridgeDevice: Pick<BridgeDevice, "ensure">;
    readonly flowTable: Pick<FlowTable, "repair">;
    readonly gateway: Pick<Gateway, "ensurePort" | "ensureDevice">;
    /** Brings the flows that no Pod owns into OVS, for the current ports. */
    readonly applyPipeline: (limit: AbortSignal) => Promise<void>;
    readonly readiness: Pick<Readiness, "met" | "unmet">;
    readonly reconciler: Pick<PodReconciler, "reconcile">;
}

/**
 * Reconciles gateway, flows, Pod interfaces and the bridge device. A failure of the gateway or the tunnel does not
 * prevent the repair of Pod flows and interfaces, since Pods on the Node reach each other without them. Rejects at the
 * end, with the error if all failures have the same message, else with NetworkError `NOT_KEPT`; at once if `limit`
 * aborts. The readiness condition `gateway` is unmet while the gateway's step fails.
 */
export async function keepNetwork(
    { bridge, bridgeDevice, flowTable, gateway, applyPipeline, readiness, reconciler }: NetworkParts,
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
    await attempt(() => applyPipeline(limit));
    await attempt(async () => {
        await flowTable.repair();
        // Also after a failed replay, or if the database was unavailable after it.
        await bridge.endFlowRestore(limit);
        await reconciler.reconcile(limit);
    });
    // Last: no Pod traffic passes the bridge device.
    await attempt(() => bridgeDevice.ensure(limit));
    if (errors.length === 0) return;
    // The pipeline fails with the gateway, for the same reason.
    const reasons = new Set(errors.map(messageOf));
    if (reasons.size === 1) throw errors[0];
    const fault = errors[0] instanceof AntreaError ? errors[0].fault : "internal";
    throw new NetworkError("NOT_KEPT", fault, [...reasons].join("; "), { cause: errors[0], details: { errors } });
}
