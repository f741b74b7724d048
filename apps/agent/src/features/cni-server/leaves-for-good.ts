import { sleep, systemClock, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { daemonSets, isKubeError, type ApiClient, type KubeClients } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";

const requestMs = 2_000;
const pauseMs = 500;
/** No request begins later. */
const lastMs = 10_000;
const secondCheckMs = 4_000;

/** Limit of the stop of the part that asks, in milliseconds; it fits into what antrea-ovs gives the agent (start-ovs). */
export const leavesForGoodMs = lastMs + requestMs + 3_000;

/**
 * Whether the DaemonSet antrea-agent in this namespace is being deleted, so that no agent will run on this Node. False
 * in doubt, which is logged; never rejects, and takes up to 12 s. An uninstall revokes the agent's permissions, or its
 * account, before the Pods end; but an API server that has just started rejects all requests until it has loaded the
 * roles, so a rejection counts only if a check some seconds later confirms it. After a request without an answer all
 * connections are closed: one that began before OVS served the ClusterIP of the API server gets neither an answer nor,
 * while the agent ends, a reset.
 */
export async function leavesForGood(
    kube: { readonly api: Pick<ApiClient, "find">; readonly close: KubeClients["close"] },
    namespace: string,
    { logger, clock = systemClock }: { readonly logger: Logger; readonly clock?: Clock },
): Promise<boolean> {
    const begin = clock.monotonic();
    let refusedAt: number | undefined;
    for (;;) {
        const now = clock.monotonic();
        let pause = pauseMs;
        try {
            const found = await checkOwnDaemonSet(kube.api, namespace);
            if (found !== "refused") return found === "gone";
            if (refusedAt !== undefined && now - refusedAt >= secondCheckMs) return true;
            refusedAt ??= now;
            pause = secondCheckMs;
        } catch (error) {
            kube.close();
            if (clock.monotonic() + pause - begin > lastMs) {
                logger.warn("cannot determine whether the DaemonSet is being deleted; the CNI configuration is kept", {
                    reason: messageOf(error),
                });
                return false;
            }
        }
        await sleep(pause, undefined, clock);
    }
}

async function checkOwnDaemonSet(
    api: Pick<ApiClient, "find">,
    namespace: string,
): Promise<"there" | "gone" | "refused"> {
    try {
        const found = await api.find(daemonSets, { namespace, name: "antrea-agent" }, { timeoutMs: requestMs });
        return found === undefined || found.metadata?.deletionTimestamp !== undefined ? "gone" : "there";
    } catch (error) {
        if (isKubeError(error, "FORBIDDEN") || isKubeError(error, "UNAUTHORIZED")) return "refused";
        throw error;
    }
}
