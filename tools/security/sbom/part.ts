/** A piece of software that ships in an image. */
export interface Part {
    readonly kind: "npm" | "debian" | "go" | "program";
    readonly name: string;
    readonly version: string;
    /** SPDX expressions, or names where a package has its own. Empty: not known. */
    readonly licences: readonly string[];
    /** https://github.com/package-url/purl-spec */
    readonly purl: string;
    /** By the names that CycloneDX has for algorithms, hexadecimal. */
    readonly hashes: Readonly<Record<string, string>>;
    /** Of what in the image it is part. */
    readonly of?: readonly string[];
}

/** Parts by their purl, each once, in one order. */
export function sorted(parts: readonly Part[]): readonly Part[] {
    const known = new Map<string, Part>();
    for (const part of parts) {
        const before = known.get(part.purl);
        const of = [...new Set([...(before?.of ?? []), ...(part.of ?? [])])].sort();
        known.set(part.purl, { ...part, ...(of.length > 0 && { of }) });
    }
    return [...known.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}
