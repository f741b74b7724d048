import { AntreaError } from "@antrea/errors";
import { type z } from "zod";
import { agentSchema } from "./agent/schema.ts";
import { controllerSchema } from "./controller/schema.ts";
import { type Component } from "./features/specs.ts";
import { unwrap } from "./known-keys.ts";
import { type DescribedTest, valueTests } from "./value-tests.ts";

/** The test of one value of a settings file, and its rule as a sentence that continues "the value". */
export interface KeyTest extends DescribedTest {
    /** True if the value is a list, whose members are tested. */
    readonly isList: boolean;
}

const schemas: Readonly<Record<Component, z.ZodType>> = { agent: agentSchema, controller: controllerSchema };

class UnknownKeyError extends AntreaError<"UNKNOWN_KEY"> {}

/**
 * Returns the test of a dotted key of a settings file; undefined if any value of its type is valid, or if its rule is
 * not available as data. Throws an AntreaError `UNKNOWN_KEY`.
 */
export function testOf(component: Component, key: string): KeyTest | undefined {
    const leaf = key
        .split(".")
        .reduce<z.ZodType | undefined>((level, step) => membersOf(level)?.[step], schemas[component]);
    if (leaf === undefined)
        throw new UnknownKeyError("UNKNOWN_KEY", "caller", `antrea-${component}.conf has no key ${key}`);
    const inner = unwrap(leaf);
    const element = (inner as Partial<z.ZodArray<z.ZodType>>).element;
    const test = valueTests.of(element ?? inner);
    return test && { ...test, isList: element !== undefined };
}

function membersOf(schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> | undefined {
    if (schema === undefined) return undefined;
    return (unwrap(schema) as Partial<z.ZodObject<Readonly<Record<string, z.ZodType>>>>).shape;
}
