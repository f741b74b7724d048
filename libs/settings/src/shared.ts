import { z } from "zod";
import { anyText, flag, type Group, group, wholeNumber } from "./leaves.ts";

// Keys that both files have.

/** Switches of features by name; what they mean is in features/. */
export const featureGates: z.ZodDefault<z.ZodRecord<z.ZodString, z.ZodBoolean>> = z
    .record(z.string(), flag, { error: "must be a map of names to true or false" })
    .default({});

const qpsRule = "must be a number of at least 0";

/** How to reach an API server. */
export type ClientConnection = {
    /** Path of a kubeconfig file; "" for the ServiceAccount of the Pod. */
    readonly kubeconfig: z.ZodDefault<z.ZodString>;
    readonly acceptContentTypes: z.ZodDefault<z.ZodString>;
    readonly contentType: z.ZodDefault<z.ZodString>;
    /** Requests a second, 0 for the client's own limit. */
    readonly qps: z.ZodDefault<z.ZodNumber>;
    /** Requests at once, 0 for the client's own limit. */
    readonly burst: z.ZodDefault<z.ZodInt>;
};

export function clientConnection(qps: number, burst: number): Group<ClientConnection> {
    return group({
        kubeconfig: anyText.default(""),
        acceptContentTypes: anyText.default(""),
        contentType: anyText.default(""),
        qps: z.number({ error: qpsRule }).min(0, { error: qpsRule }).default(qps),
        burst: wholeNumber(0, 1_000_000).default(burst),
    });
}

export const prometheus: z.ZodDefault<z.ZodBoolean> = flag.default(true);
