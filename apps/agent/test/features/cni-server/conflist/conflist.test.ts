import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
    chmodSync,
    mkdtempSync,
    readdirSync,
    readFileSync,
    rmSync,
    statSync,
    utimesSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseNetworkConfig } from "@antrea/cni";
import { Conflist, conflistText, networkNameOf } from "../../../../src/features/cni-server/conflist/index.ts";

let folder: string;
const name = "10-antrea.conflist";

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "conflist-"));
});

afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
});

function conflist(content = "one", mode = 0o644, where = folder): Conflist {
    return new Conflist({ folder: where, name, content, mode });
}

function file(): { readonly content: string; readonly mode: number; readonly inode: number } {
    const path = join(folder, name);
    const stat = statSync(path);
    return { content: readFileSync(path, "utf8"), mode: stat.mode & 0o777, inode: stat.ino };
}

describe("writing", () => {
    it.each([0o644, 0o600, 0o664, 0o640])("has the mode %o, whatever the umask", async (mode) => {
        const before = process.umask(0o027);
        try {
            await conflist("one", mode).write();
        } finally {
            process.umask(before);
        }
        expect(file()).toMatchObject({ content: "one", mode });
        expect(readdirSync(folder)).toEqual([name]);
    });

    it("leaves a file alone that is as it should be", async () => {
        await conflist().write();
        const { inode } = file();
        await conflist().write();
        expect(file().inode).toBe(inode);
    });

    it("replaces other content by a new file, so that no reader sees half of it", async () => {
        await conflist("one").write();
        const { inode } = file();
        await conflist("two").write();
        expect(file().content).toBe("two");
        expect(file().inode).not.toBe(inode);
    });

    it("puts a changed mode right", async () => {
        await conflist("one", 0o644).write();
        await conflist("one", 0o600).write();
        expect(file().mode).toBe(0o600);
        chmodSync(join(folder, name), 0o666);
        await conflist("one", 0o600).write();
        expect(file().mode).toBe(0o600);
    });

    it("leaves files of others alone", async () => {
        writeFileSync(join(folder, "99-other.conf"), "x");
        await conflist().write();
        await conflist().remove();
        expect(readdirSync(folder)).toEqual(["99-other.conf"]);
    });

    it("reports which path could not be written, and leaves nothing behind", async () => {
        const missing = join(folder, "missing");
        await expect(conflist("one", 0o644, missing).write()).rejects.toMatchObject({
            code: "WRITE_FAILED",
            message: expect.stringContaining(join(missing, name)),
        });
        expect(readdirSync(folder)).toEqual([]);
    });

    it("takes away what a writer that was killed has left, and not what another one is writing", async () => {
        for (const [part, ageS] of [
            ["killed", 120],
            ["writing", 0],
        ] as const) {
            writeFileSync(join(folder, `.${name}.${part}.part`), "half");
            const time = Date.now() / 1000 - ageS;
            utimesSync(join(folder, `.${name}.${part}.part`), time, time);
        }
        writeFileSync(join(folder, ".99-other.conflist.1.part"), "x");
        utimesSync(join(folder, ".99-other.conflist.1.part"), 0, 0);
        await conflist().write();
        await conflist().write();
        expect(readdirSync(folder).toSorted()).toEqual([`.${name}.writing.part`, ".99-other.conflist.1.part", name]);
        await conflist().remove();
        expect(readdirSync(folder)).toEqual([".99-other.conflist.1.part"]);
    });

    it("two at once end with one whole file", async () => {
        await Promise.all([conflist("one").write(), conflist("one").write()]);
        expect(file().content).toBe("one");
        expect(readdirSync(folder)).toEqual([name]);
    });
});

it("removing what is gone succeeds", async () => {
    await conflist().write();
    await conflist().remove();
    await conflist().remove();
    expect(readdirSync(folder)).toEqual([]);
});

describe("the content", () => {
    it.each([
        [true, true, ["antrea", "portmap", "bandwidth"]],
        [true, false, ["antrea", "portmap"]],
        [false, true, ["antrea", "bandwidth"]],
        [false, false, ["antrea"]],
    ])(
        "with portmap %s and bandwidth %s has the plugins %j, each a configuration that we can read ourselves",
        (portmap, bandwidth, types) => {
            const parsed = JSON.parse(conflistText({ portmap, bandwidth })) as {
                readonly cniVersion: string;
                readonly name: string;
                readonly plugins: readonly Record<string, unknown>[];
            };
            expect(parsed).toMatchObject({ cniVersion: "1.0.0", name: "antrea" });
            expect(parsed.plugins.map((plugin) => plugin["type"])).toEqual(types);
            for (const plugin of parsed.plugins) {
                parseNetworkConfig(JSON.stringify({ cniVersion: parsed.cniVersion, name: parsed.name, ...plugin }));
            }
        },
    );
});

describe("the name of the network", () => {
    it("is that of the configuration", () => {
        expect(networkNameOf(conflistText({ portmap: true, bandwidth: true }))).toBe("antrea");
        expect(networkNameOf('{"cniVersion": "1.0.0", "name": "pods", "plugins": []}')).toBe("pods");
    });

    it.each(["", "{", "[]", "null", "{}", '{"name": 5}', '{"name": ""}'])(
        "is antrea where %j names none",
        (content) => {
            expect(networkNameOf(content)).toBe("antrea");
        },
    );
});
