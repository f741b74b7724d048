import { z } from "zod";
import { described } from "./cel.ts";
import { condition } from "./condition.ts";

const count = (description: string): z.ZodInt => z.int().min(0).meta(described(description));

/** Schema of `status.usage` of an IPPool: numbers of addresses. */
export const ipPoolUsage = z.object({
    total: count("Addresses that can be handed out, at most 2^53-1."),
    used: count("Addresses that a Pod uses."),
    reserved: count("Addresses held for an owner that no Pod uses now."),
    free: count("Addresses that are neither used nor reserved, at most 2^53-1."),
});

/** Schema of `status` of an IPPool, which antrea-controller writes. */
export const ipPoolStatus = z
    .object({
        usage: ipPoolUsage.optional().meta(described("How many addresses are in use.")),
        conditions: z
            .array(condition)
            .optional()
            .meta({
                ...described("Ready, Exhausted and Overlapping."),
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            }),
        freeBlocks: z
            .array(z.string())
            .max(32)
            .optional()
            .meta(described("Hints where addresses are free: aligned /24 (IPv4) or /120 (IPv6) blocks.")),
        observedGeneration: z.int().optional().meta(described("The generation of the spec that this status is of.")),
    })
    .meta(described("What antrea-controller found out about the pool."));
