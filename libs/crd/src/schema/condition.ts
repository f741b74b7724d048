import { z } from "zod";

/** Schema of a status condition by the Kubernetes API conventions (metav1.Condition). */
export const condition = z
    .object({
        type: z.string().meta({ description: "What the condition is about." }),
        status: z.enum(["True", "False", "Unknown"]).meta({ description: "Whether it holds." }),
        reason: z.string().meta({ description: "Why, in one word of UpperCamelCase." }),
        message: z.string().meta({ description: "Why, for people." }),
        lastTransitionTime: z.string().meta({ description: "When status last changed.", format: "date-time" }),
        observedGeneration: z.int().optional().meta({ description: "The generation of the spec that this is about." }),
    })
    .meta({ description: "One condition of the object." });
