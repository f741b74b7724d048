import { z } from "zod";
import { anyText, flag, wholeNumber } from "./leaves.ts";
import { group, type Group } from "./leaves/group.ts";

// Keys that both files have.

/**
 * Schema of the key featureGates: a map of gate names to booleans, by default empty; the names are validated by
 * `readFeatureGates`.
 */
export const featureGates: z.ZodDefault<z.ZodRecord<z.ZodString, z.ZodBoolean>> = z
    .record(z.string(), flag, { error: "must be a map of names to true or false" })
    .default({});

const qpsRule = "must be a number of at least 0";

/**
 * Keys of the groups `clientConnection` and `antreaClientConnection`, as in upstream Antrea. All are validated, but only
 * `clientConnection.kubeconfig` is read; the others have no effect, about which the program warns.
 */
export type ClientConnection = {
    /** Path of a kubeconfig; "" for the ServiceAccount of the Pod. */
    readonly kubeconfig: z.ZodDefault<z.ZodString>;
    readonly acceptContentTypes: z.ZodDefault<z.ZodString>;
    readonly contentType: z.ZodDefault<z.ZodString>;
    /** Requests per second, at least 0. */
    readonly qps: z.ZodDefault<z.ZodNumber>;
    /** Burst of requests, 0 to 1,000,000. */
    readonly burst: z.ZodDefault<z.ZodInt>;
};

/** Returns the schema of such a group with these defaults of requests per second and of burst. */
export function clientConnection(qps: number, burst: number): Group<ClientConnection> {
    return group({
        kubeconfig: anyText.default(""),
        acceptContentTypes: anyText.default(""),
        contentType: anyText.default(""),
        qps: z.number({ error: qpsRule }).min(0, { error: qpsRule }).default(qps),
        burst: wholeNumber(0, 1_000_000).default(burst),
    });
}

/** Schema of the key enablePrometheusMetrics. Default true. */
export const prometheus: z.ZodDefault<z.ZodBoolean> = flag.default(true);
