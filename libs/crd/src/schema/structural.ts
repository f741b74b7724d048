import { z } from "zod";

/** A JSON Schema as `openAPIV3Schema` of a CustomResourceDefinition accepts it (a "structural schema"). */
export type StructuralSchema = Readonly<Record<string, unknown>>;

/**
 * Converts a zod type to a structural schema, without the keywords that the API server rejects; integers get format
 * int64. Rules in the metadata of fields (`described`) are kept. Throws zod's error for a type that JSON Schema cannot
 * express.
 */
export function structuralSchema(type: z.ZodType): StructuralSchema {
    const { $schema: _, ...schema } = z.toJSONSchema(type, {
        io: "input",
        override: ({ jsonSchema }) => {
            // Limits that zod adds to every integer.
            if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
            if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
            if (jsonSchema.type === "number" && jsonSchema.enum?.every(Number.isInteger)) jsonSchema.type = "integer";
            if (jsonSchema.type === "integer") jsonSchema["format"] = "int64";
        },
    });
    return schema;
}
