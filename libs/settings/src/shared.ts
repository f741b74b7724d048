import { z } from "zod";
import { anyText, flag, type Group, group, wholeNumber } from "./leaves.ts";

// Keys that both files have.

/** Schema of the key featureGates: a map of gate names to booleans, validated by `readFeatureGates`. */
export const featureGates: z.ZodDefault<z.ZodRecord<z.ZodString, z.ZodBoolean>> = z
    .record(z.string(), flag, { error: "must be a map of names to true or false" })
    .default({});

const qpsRule = "must be a number of at least 0";

/** Keys of the group clientConnection: the connection to an API server. */
export type ClientConnection = {
    /** Path of a kubeconfig; "" for the ServiceAccount of the Pod. */
    readonly kubeconfig: z.ZodDefault<z.ZodString>;
    readonly acceptContentTypes: z.ZodDefault<z.ZodString>;
    readonly contentType: z.ZodDefault<z.ZodString>;
    /** Requests per second; 0 for the client's own limit. */
    readonly qps: z.ZodDefault<z.ZodNumber>;
    /** Burst of requests; 0 for the client's own limit. */
    readonly burst: z.ZodDefault<z.ZodInt>;
};

/**
 * Returns the group clientConnection with these defaults: requests per second, and burst of requests; 0 for the
 * client's own limit.
 */
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
