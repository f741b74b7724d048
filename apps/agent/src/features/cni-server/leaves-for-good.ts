import { sleep, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { daemonSets, isKubeError, type ApiClient } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";

const askLimitMs = 2_000;

/** Two requests and this pause fit into the stop timeout of a part. */
const secondCheckMs = 4_000;

/**
 * Whether the DaemonSet antrea-agent in this namespace is being deleted, so that no agent will run on this Node. False
 * in doubt, which is logged; never rejects, and takes up to 8 s. An uninstall revokes the agent's permissions, or its
 * account, before the Pods end; but an API server that has just started rejects all requests until it has loaded the
 * roles, so a rejection counts only if a second check confirms it.
 */
export async function leavesForGood(
    api: Pick<ApiClient, "find">,
    namespace: string,
    { logger, clock }: { readonly logger: Logger; readonly clock?: Clock },
): Promise<boolean> {
    try {
        const first = await checkOwnDaemonSet(api, namespace);
        if (first !== "refused") return first === "gone";
        await sleep(secondCheckMs, undefined, clock);
        return (await checkOwnDaemonSet(api, namespace)) !== "there";
    } catch (error) {
        logger.warn("cannot determine whether the DaemonSet is being deleted; the CNI configuration is kept", {
            reason: messageOf(error),
        });
        return false;
    }
}

async function checkOwnDaemonSet(
    api: Pick<ApiClient, "find">,
    namespace: string,
): Promise<"there" | "gone" | "refused"> {
    try {
        const found = await api.find(daemonSets, { namespace, name: "antrea-agent" }, { timeoutMs: askLimitMs });
        return found === undefined || found.metadata?.deletionTimestamp !== undefined ? "gone" : "there";
    } catch (error) {
        if (isKubeError(error, "FORBIDDEN") || isKubeError(error, "UNAUTHORIZED")) return "refused";
        throw error;
    }
}
