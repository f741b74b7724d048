import { AntreaError } from "@antrea/errors";

/** An entry point of the product that processes external input. */
export interface Target {
    /** Format of the inputs; `json` and `text` let the mutator work on values and tokens too. Default: `bytes`. */
    readonly format?: "bytes" | "json" | "text";
    /** Real inputs to start with. */
    readonly seeds: () => readonly (Uint8Array | string)[];
    /** Words that inputs consist of, besides those found in the sources. */
    readonly tokens?: readonly string[];
    /** Maximum length of an input. Default: 4,096 bytes. */
    readonly maxBytes?: number;
    /** Allocation limit of one execution per byte of its input, besides 8 MiB. Default: 2,048. */
    readonly bytesPerByte?: number;
    /** Passes the input to the product's code, and throws if a property is violated. */
    readonly run: (input: Uint8Array) => void | Promise<void>;
    /**
     * Whether an error of `run` is the product's rejection of an input. Default: an AntreaError that is not a defect.
     */
    readonly isRefusal?: (error: unknown) => boolean;
}

/** True for errors whose fault is not the program's own. */
export function isTypedRefusal(error: unknown): boolean {
    return error instanceof AntreaError && error.fault !== "internal";
}

/** A property that the product must have for every input is violated. */
export class BrokenProperty extends Error {
    override readonly name = "BrokenProperty";
}

/** Throws BrokenProperty unless the two are equal as JSON, with support for bigints and bytes. */
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
