/** A software component in an image. */
export interface Part {
    readonly kind: "npm" | "debian" | "go" | "program";
    readonly name: string;
    readonly version: string;
    /** SPDX expressions, or names of a package's own licence. Empty: unknown. */
    readonly licences: readonly string[];
    /** https://github.com/package-url/purl-spec */
    readonly purl: string;
    /** By CycloneDX algorithm names, hexadecimal. */
    readonly hashes: Readonly<Record<string, string>>;
    /** The parts of the image that contain it. */
    readonly of?: readonly string[];
}

/** Parts without duplicates, sorted by purl. */
export function sorted(parts: readonly Part[]): readonly Part[] {
    const known = new Map<string, Part>();
    for (const part of parts) {
        const before = known.get(part.purl);
        const of = [...new Set([...(before?.of ?? []), ...(part.of ?? [])])].sort();
        known.set(part.purl, { ...part, ...(of.length > 0 && { of }) });
    }
    return [...known.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}
