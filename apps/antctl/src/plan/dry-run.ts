import { ipPools, type IpPool } from "@antrea/crd";
import { isKubeError, pathOf, type ApiClient } from "@antrea/kube";
import { oneLine } from "../output/index.ts";

/**
 * The API server's answer to a dry run (dryRun=All); `message` is its text on one line. `none`: the user may not write
 * IPPools, or there was no verdict, for example no answer.
 */
export type DryRun =
    | { readonly answer: "accepted" }
    | { readonly answer: "refused"; readonly message: string }
    /** The user may not write IPPools, or there was no verdict. */
    | { readonly answer: "none"; readonly message: string };

/**
 * Creates the pool, or updates the existing one, as a dry run: nothing is stored. Labels and annotations are merged
 * with the existing ones. Never rejects with KubeError: a rejection by the API server is `refused`, any other failure
 * `none`. `timeoutMs` is in milliseconds.
 */
export async function tryOnServer(
    api: Pick<ApiClient, "request">,
    planned: IpPool,
    existing: IpPool | undefined,
    timeoutMs: number,
): Promise<DryRun> {
    const { name = "", annotations, labels } = planned.metadata ?? {};
    const query = "dryRun=All&fieldManager=antctl&fieldValidation=Strict";
    const request =
        existing === undefined
            ? { method: "POST" as const, path: `${pathOf(ipPools)}?${query}`, body: JSON.stringify(planned) }
            : {
                  method: "PUT" as const,
                  path: `${pathOf(ipPools, { name })}?${query}`,
                  body: JSON.stringify({
                      ...planned,
                      metadata: {
                          ...existing.metadata,
                          labels: { ...existing.metadata?.labels, ...labels },
                          annotations: { ...existing.metadata?.annotations, ...annotations },
                      },
                  }),
              };
    try {
        await api.request(request, { timeoutMs });
        return { answer: "accepted" };
    } catch (error) {
        if (!isKubeError(error)) throw error;
        // The request line is an implementation detail of antctl.
        const message = oneLine(error.message).replace(/^[A-Z]+ \/\S+: (the API server answered \d+ \S+: )?/, "");
        if (isKubeError(error, "FORBIDDEN") && /\bcannot (create|update) resource\b/.test(message)) {
            return { answer: "none", message: "you may not create or change IPPools" };
        }
        const judged = isKubeError(error, "INVALID", "BAD_REQUEST", "FORBIDDEN", "ALREADY_EXISTS", "CONFLICT");
        return { answer: judged ? "refused" : "none", message };
    }
}
