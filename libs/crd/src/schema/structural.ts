import { z } from "zod";

/** JSON Schema as a CustomResourceDefinition takes it (a "structural schema"). */
export type StructuralSchema = Readonly<Record<string, unknown>>;

/** The schema of a zod type, without the keywords that the API server refuses. */
export function structuralSchema(type: z.ZodType): StructuralSchema {
    const { $schema: _, ...schema } = z.toJSONSchema(type, {
        io: "input",
        override: ({ jsonSchema }) => {
            // What an integer is limited to when nobody limits it.
            if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
            if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
            if (jsonSchema.type === "number" && jsonSchema.enum?.every(Number.isInteger)) jsonSchema.type = "integer";
            if (jsonSchema.type === "integer") jsonSchema["format"] = "int64";
        },
    });
    return schema;
}
