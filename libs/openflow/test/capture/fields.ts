/**
 * Records ../fixtures/fields.json, the tables of fields in ovs-fields(7) of Debian's openvswitch-common: run
 * `node libs/openflow/test/capture/fields.ts`.
 */
import { readFile, writeFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";

const manual = gunzipSync(await readFile("/usr/share/man/man7/ovs-fields.7.gz")).toString("utf8");
const fields = [...manual.matchAll(/^Name:;[^]*?^\.TE$/gm)].flatMap(([table]) => {
    const plain = table.replaceAll(/\\f[BRI]/g, "").replaceAll(/T\{\n|\nT\}/g, "");
    const row = (name: string): string => new RegExp(`^${name}:;(.*)$`, "m").exec(plain)?.[1] ?? "";
    const [, width, low] = /^(\d+) bits(?: \(only the least-significant (\d+) bits)?/.exec(row("Width")) ?? [];
    // Some of a tunnel have no fixed width, some no number on the wire.
    const codes = [...row("OXM").matchAll(/(\w+) \((\d+)\)/g), ...row("NXM").matchAll(/(\w+) \((\d+)\)/g)];
    if (width === undefined || codes.length === 0) return [];
    return [
        {
            names: row("Name").replaceAll(/[(),]|aka /g, ""),
            bits: Number(low ?? width),
            format: row("Format"),
            maskable: row("Masking") !== "not maskable",
            prerequisites: row("Prerequisites"),
            writable: row("Access") === "read/write",
            codes: Object.fromEntries(codes.map(([, name = "", code]) => [name, Number(code)])),
        },
    ];
});
await writeFile(`${import.meta.dirname}/../fixtures/fields.json`, `${JSON.stringify(fields, undefined, 4)}\n`);
