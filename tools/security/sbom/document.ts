import { createHash } from "node:crypto";
import * as CycloneDX from "@cyclonedx/cyclonedx-library";
import parseExpression from "spdx-expression-parse";
import { sorted, type Part } from "./part.ts";

export interface DocumentOptions {
    /** Of the image: `antrea-agent`. */
    readonly name: string;
    readonly version: string;
    /**
     * Creation time in seconds since 1970 (SOURCE_DATE_EPOCH). Default: omitted, so that equal inputs give equal
     * bytes.
     */
    readonly epoch?: number | undefined;
}

const types = {
    npm: CycloneDX.Enums.ComponentType.Library,
    go: CycloneDX.Enums.ComponentType.Library,
    debian: CycloneDX.Enums.ComponentType.Library,
    program: CycloneDX.Enums.ComponentType.Application,
} as const;

/** The SBOM of an image: CycloneDX 1.6 in JSON, the same bytes for the same parts. */
export function sbom(parts: readonly Part[], options: DocumentOptions): string {
    const { name, version, epoch } = options;
    const { Models, Enums, Serialize, Spec } = CycloneDX;
    const purl = `pkg:oci/${name}@${version}`;
    const image = new Models.Component(Enums.ComponentType.Container, name, { version, purl, bomRef: purl });
    image.licenses.add(new Models.SpdxLicense("Apache-2.0"));
    const bom = new Models.Bom({
        metadata: new Models.Metadata({
            component: image,
            ...(epoch !== undefined && { timestamp: new Date(epoch * 1000) }),
        }),
    });
    for (const part of sorted(parts)) {
        const component = componentOf(part);
        bom.components.add(component);
        image.dependencies.add(component.bomRef);
    }
    bom.serialNumber = serialNumberOf([purl, ...sorted(parts).map((part) => JSON.stringify(part))].join("\n"));
    const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
    return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

function componentOf(part: Part): CycloneDX.Models.Component {
    const { Models } = CycloneDX;
    const { name, version, purl, kind, licences, hashes, of = [] } = part;
    const component = new Models.Component(types[kind], name, { version, purl, bomRef: purl });
    for (const [algorithm, content] of Object.entries(hashes)) {
        component.hashes.set(algorithm as CycloneDX.Enums.HashAlgorithm, content);
    }
    // Debian's short names are its own, and some resemble SPDX identifiers with another meaning.
    for (const licence of licences)
        component.licenses.add(kind === "debian" ? new Models.NamedLicense(licence) : licenceOf(licence));
    for (const program of of) component.properties.add(new Models.Property("antrea:in", program));
    return component;
}

function licenceOf(text: string): CycloneDX.Models.License {
    return new CycloneDX.Contrib.License.Factories.LicenseFactory(
        (value) => void parseExpression(value),
    ).makeFromString(text);
}

/** A UUID derived from the content (RFC 9562 section 5.8), not from time or random numbers. */
function serialNumberOf(content: string): string {
    const hex = createHash("sha256").update(content).digest("hex");
    const variant = ((parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
    return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
