import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conflistText } from "../../../src/features/cni-server/conflist/index.ts";
import { isCalledFirst } from "../../../src/features/networks/who-attaches.ts";

let folder: string;

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "net.d-"));
});
afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
});

const listOf = (...types: readonly string[]): string => {
    return JSON.stringify({ cniVersion: "1.0.0", name: "x", plugins: types.map((type) => ({ type })) });
};
const antrea = listOf("antrea", "portmap");
const multus = JSON.stringify({
    cniVersion: "1.0.0",
    name: "multus",
    type: "multus-shim",
    clusterNetwork: "10-antrea",
});

it.each<[string, Readonly<Record<string, string>>, boolean]>([
    ["there is only its own list", { "10-antrea.conflist": antrea }, true],
    ["its own list is the first", { "10-antrea.conflist": antrea, "87-podman.conflist": listOf("bridge") }, true],
    ["a meta plugin comes first", { "00-multus.conf": multus, "10-antrea.conflist": antrea }, false],
    ["a meta plugin comes later", { "10-antrea.conflist": antrea, "70-multus.conf": multus }, true],
    [
        "another plugin comes first",
        { "05-other.conflist": listOf("bridge", "portmap"), "10-antrea.conflist": antrea },
        false,
    ],
    ["names are compared byte by byte", { "9-antrea.conflist": antrea, "10-other.conf": multus }, false],
    ["capital letters come first", { "a.conf": multus, "B.conflist": antrea }, true],
    ["it is not the first plugin of the list", { "10-x.conflist": listOf("tuning", "antrea") }, true],
    ["it is a configuration of one plugin", { "10-antrea.conf": '{"type": "antrea"}' }, true],
    ["it is a configuration of one plugin in a .json file", { "10-antrea.json": '{"type": "antrea"}' }, true],
    ["a meta plugin delegates to it", { "00-multus.conf": `{"type": "multus", "delegates": [${antrea}]}` }, false],
    [
        "other files come first",
        { "00-antrea-cni.conf.bak": multus, "01-readme": "?", "10-antrea.conflist": antrea },
        true,
    ],
    ["there is no configuration", { readme: "?" }, false],
    ["the folder is empty", {}, false],
    ["the list is empty", { "10-antrea.conflist": listOf() }, false],
    ["the list has no objects", { "10-antrea.conflist": '{"plugins": [null, "antrea", ["antrea"]]}' }, false],
    ["the document is no object", { "10-antrea.conflist": '["antrea"]' }, false],
    ["the file is broken", { "10-antrea.conflist": antrea.slice(0, -5) }, false],
])("whether the runtime calls this plugin first, where %s", async (_, files, expected) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    expect(await isCalledFirst(folder)).toBe(expected);
});

it("the runtime does so with the list that the agent writes by default", async () => {
    writeFileSync(join(folder, "10-antrea.conflist"), conflistText({ portmap: true, bandwidth: true }));
    expect(await isCalledFirst(folder)).toBe(true);
});

it("nobody knows it without the folder", async () => {
    await expect(isCalledFirst(join(folder, "none"))).rejects.toMatchObject({
        code: "NO_FOLDER",
        message: expect.stringMatching(/ cannot be read \(ENOENT.*\), and with them .*; next: see that the folder /),
    });
});

it("what is no configuration is skipped, as runtimes do", async () => {
    writeFileSync(join(folder, "10-antrea.conflist"), antrea);
    mkdirSync(join(folder, "05-old.conf"));
    writeFileSync(join(folder, "06-broken.conf"), "{");
    expect(await isCalledFirst(folder)).toBe(true);
});

it("it is asked anew each time", async () => {
    mkdirSync(join(folder, "sub"));
    writeFileSync(join(folder, "10-antrea.conflist"), antrea);
    expect(await isCalledFirst(folder)).toBe(true);
    writeFileSync(join(folder, "00-multus.conf"), multus);
    expect(await isCalledFirst(folder)).toBe(false);
});
