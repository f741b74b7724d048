import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Ajv } from "ajv";
import { bundledFiles, daemons, filesIn } from "../programs.ts";
import { chainedPlugins, nodeProgram, packagesInBinary, pinned } from "../sbom/contents.ts";
import { debianPackages } from "../sbom/debian.ts";
import { goModules } from "../sbom/go.ts";
import { sbom } from "../sbom/document.ts";
import { packageIn, packagesOf } from "../sbom/npm.ts";
import { type Part } from "../sbom/part.ts";

interface Bom {
    readonly metadata: { readonly timestamp?: string; readonly component: { readonly name: string } };
    readonly components: readonly {
        readonly name: string;
        readonly version: string;
        readonly purl: string;
        readonly licenses?: readonly unknown[];
        readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
        readonly properties?: readonly { readonly value: string }[];
    }[];
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

const library = dirname(createRequire(import.meta.url).resolve("@cyclonedx/cyclonedx-library/package.json"));

/** The schema of CycloneDX 1.6, with what it refers to. What a text of a format looks like is not judged. */
function validator(): (bom: unknown) => readonly string[] {
    const read = (name: string): object =>
        JSON.parse(readFileSync(join(library, "res/schema", `${name}.SNAPSHOT.schema.json`), "utf8")) as object;
    const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
    for (const name of ["spdx", "jsf-0.82"]) {
        ajv.addSchema({ ...read(name), $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json` });
    }
    const validate = ajv.compile(read("bom-1.6"));
    return (bom) =>
        validate(bom) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

const options = { name: "antrea-agent", version: "0.1.0" };
const part: Part = {
    kind: "npm",
    name: "@a/b",
    version: "1.0.0",
    licences: ["MIT"],
    purl: "pkg:npm/%40a/b@1.0.0",
    hashes: { "SHA-512": "ab".repeat(64) },
    of: ["antrea-agent"],
};
const parse = (text: string): Bom => JSON.parse(text) as Bom;

describe("a bill of materials", () => {
    const errorsIn = validator();
    let folder: string;

    beforeAll(() => {
        folder = mkdtempSync(join(tmpdir(), "root-"));
        const write = (path: string, text: string): void => {
            mkdirSync(dirname(join(folder, path)), { recursive: true });
            writeFileSync(join(folder, path), text);
        };
        const one =
            "Package: zlib1g\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:1.2.13.dfsg-1~a+b\n";
        const gone = "Package: old\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n";
        write("var/lib/dpkg/status", `${one}\n${gone}\n${one.replaceAll("zlib1g", "libstdc++6")}`);
        write("etc/os-release", 'ID=debian\nVERSION_ID="12"\n');
        const dep5 = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n";
        write(
            "usr/share/doc/zlib1g/copyright",
            `${dep5}\nFiles: *\nLicense: Zlib\n Text\n\nFiles: a\nLicense: GPL-2+\n`,
        );
        write("usr/share/doc/libstdc++6/copyright", "This is prose. License: none\n");
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it("fits the schema of CycloneDX 1.6", () => {
        const { of: _, ...single } = part;
        const parts: Part[] = [
            part,
            { ...single, name: "dual", purl: "pkg:npm/dual@1", licences: ["(MIT OR Apache-2.0)"], hashes: {} },
            { ...single, name: "own", purl: "pkg:npm/own@1", licences: ["SEE LICENSE IN x"] },
            { ...single, name: "none", purl: "pkg:npm/none@1", licences: [] },
            nodeProgram(pinned()),
            ...debianPackages(folder),
        ];
        for (const epoch of [undefined, 1_700_000_000])
            expect(errorsIn(parse(sbom(parts, { ...options, epoch })))).toEqual([]);
        const broken = { ...parse(sbom(parts, options)), components: [{ name: "a" }] };
        expect(errorsIn(broken)).toEqual([expect.stringContaining("must have required property 'type'")]);
    });

    it("is the same for the same parts, in whichever order, and has a time only when it is given one", () => {
        const other = { ...part, name: "c", purl: "pkg:npm/c@1.0.0" };
        const text = sbom([part, other], options);
        expect(sbom([other, part, part], options)).toBe(text);
        expect(parse(text).metadata.timestamp).toBeUndefined();
        expect(parse(sbom([part], { ...options, epoch: 0 })).metadata.timestamp).toBe("1970-01-01T00:00:00.000Z");
        const serial = (of: string): unknown => (JSON.parse(of) as { serialNumber: string }).serialNumber;
        expect(serial(text)).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(serial(sbom([part], options))).not.toBe(serial(text));
    });

    it("reports in which programs a package is, and that the image needs it", () => {
        const bom = parse(sbom([part, { ...part, of: ["antctl"] }], options));
        expect(bom.components).toHaveLength(1);
        expect(bom.components[0]).toMatchObject({
            name: "@a/b",
            version: "1.0.0",
            purl: part.purl,
            hashes: [{ alg: "SHA-512", content: "ab".repeat(64) }],
            licenses: [{ license: { id: "MIT" } }],
        });
        expect(bom.components[0]?.properties?.map(({ value }) => value).sort()).toEqual(["antctl", "antrea-agent"]);
        expect(bom.dependencies.find(({ ref }) => ref.startsWith("pkg:oci/"))?.dependsOn).toEqual([part.purl]);
    });

    it("has Debian's packages that are installed, with the licences that their copyright files name", () => {
        expect(debianPackages(folder)).toEqual([
            {
                kind: "debian",
                name: "zlib1g",
                version: "1:1.2.13.dfsg-1~a+b",
                licences: ["GPL-2+", "Zlib"],
                purl: "pkg:deb/debian/zlib1g@1:1.2.13.dfsg-1%7Ea%2Bb?arch=amd64&distro=debian-12",
                hashes: {},
            },
            expect.objectContaining({
                name: "libstdc++6",
                licences: [],
                purl: expect.stringMatching(/^pkg:deb\/debian\/libstdc%2B%2B6@/),
            }),
        ]);
    });

    describe("lists every package of which code is bundled", () => {
        /** By the paths alone, in another way than the product of the test does it. */
        const names = (files: readonly string[]): string[] => {
            const found = files.flatMap((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []);
            return [...new Set(found)].sort();
        };

        it.each(daemons)(
            "antrea-%s",
            async (daemon) => {
                const files = await bundledFiles(daemon);
                const parts = packagesOf(files, `antrea-${daemon}`);
                const bom = parse(sbom(parts, options));
                expect(names(files).length).toBeGreaterThan(5);
                expect([...new Set(bom.components.map(({ name }) => name))].sort()).toEqual(names(files));
                expect(bom.components.filter(({ hashes }) => hashes?.length !== 1)).toEqual([]);
                expect(bom.components.filter(({ licenses }) => licenses?.length !== 1)).toEqual([]);
                expect(errorsIn(bom)).toEqual([]);
            },
            120_000,
        );

        it("but none of which the bundler dropped all", () => {
            const inputs = {
                "node_modules/zod/index.js": { bytesInOutput: 0 },
                "node_modules/ws/a.js": { bytesInOutput: 1 },
            };
            expect(filesIn({ outputs: { "a.mjs": { inputs } as never } })).toEqual(["node_modules/ws/a.js"]);
        });

        it.each(chainedPlugins)("%s, a program of its own, with its modules", (name) => {
            const { cniPlugins, goHome } = pinned();
            const parts = goModules({ program: join(cniPlugins, name), name, goHome });
            const program = parts.find((one) => one.hashes["SHA-256"] !== undefined);
            expect(program).toMatchObject({
                name: `github.com/containernetworking/plugins/plugins/meta/${name}`,
                purl: expect.stringMatching(
                    new RegExp(`^pkg:golang/github.com/containernetworking/plugins@v[0-9.]+#plugins/meta/${name}$`),
                ),
                of: [name],
            });
            expect(parts.filter(({ licences }) => licences.length !== 1)).toEqual([]);
            const both = chainedPlugins.flatMap((one) =>
                goModules({ program: join(cniPlugins, one), name: one, goHome }),
            );
            const bom = parse(sbom(both, options));
            expect(errorsIn(bom)).toEqual([]);
            expect(bom.components.filter(({ hashes }) => hashes !== undefined && hashes.length > 0)).toHaveLength(2);
        });

        it("antctl and antrea-cni, with the runtime that is compiled into them", () => {
            const antctl = packagesInBinary("antctl").map(({ name }) => name);
            expect(antctl).toEqual(expect.arrayContaining(["commander", "yaml", "@oven/bun-linux-x64-baseline"]));
            expect(packagesInBinary("cni").map(({ name }) => name)).toEqual(["@oven/bun-linux-x64-baseline"]);
        });
    });

    it("reports version, licence and hash of an installed package", () => {
        const { hashes, ...koffi } = packageIn("koffi", "antrea-agent");
        expect(koffi).toMatchObject({ name: "koffi", licences: ["MIT"], of: ["antrea-agent"] });
        expect(koffi.purl).toBe(`pkg:npm/koffi@${koffi.version}`);
        expect(hashes["SHA-512"]).toMatch(/^[0-9a-f]{128}$/);
    });
});
