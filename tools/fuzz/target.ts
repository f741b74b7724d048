import { AntreaError } from "@antrea/errors";

/** One entry of the product that takes what others wrote. */
export interface Target {
    /** What an input is; `json` and `text` let the mutator work on values and tokens too. Default: `bytes`. */
    readonly format?: "bytes" | "json" | "text";
    /** Real inputs to begin with. */
    readonly seeds: () => readonly (Uint8Array | string)[];
    /** Words that inputs are made of, besides those found in the sources. */
    readonly tokens?: readonly string[];
    /** Longest input that is tried. Default: 4,096 bytes. */
    readonly maxBytes?: number;
    /** What one execution may allocate for each byte of its input, besides 8 MiB. Default: 2,048. */
    readonly bytesPerByte?: number;
    /** Feeds the input to the product's own code, and throws when that breaks a promise. */
    readonly run: (input: Uint8Array) => void | Promise<void>;
    /** Whether what `run` threw is the product's way to refuse an input. Default: an AntreaError that is no defect. */
    readonly isRefusal?: (error: unknown) => boolean;
}

/** True for errors that say who else is at fault. */
export function isTypedRefusal(error: unknown): boolean {
    return error instanceof AntreaError && error.fault !== "internal";
}

/** A property that the product must have for every input does not hold. */
export class BrokenProperty extends Error {
    override readonly name = "BrokenProperty";
}

/** Throws BrokenProperty unless the two are equal as JSON, big integers and bytes included. */
export function mustEqual(what: string, left: unknown, right: unknown): void {
    const [a, b] = [textOf(left), textOf(right)];
    if (a !== b) throw new BrokenProperty(`${what}: ${a.slice(0, 2_000)} is not ${b.slice(0, 2_000)}`);
}

function textOf(value: unknown): string {
    return (
        JSON.stringify(value, (_key, part: unknown) => {
            if (typeof part === "bigint") return `${part}n`;
            if (part instanceof Uint8Array) return `bytes ${Buffer.from(part).toString("hex")}`;
            if (part instanceof Map) return { map: [...(part as Map<unknown, unknown>)] };
            if (part === Infinity) return "Infinity";
            return part;
        }) ?? "undefined"
    );
}
