import { execFile } from "node:child_process";
import {
    chmodSync,
    existsSync,
    mkdirSync,
    mkdtempSync,
    readdirSync,
    readFileSync,
    rmSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";

const tools = join(import.meta.dirname, "..");
const goVersion = /^GO_VERSION=(.+)$/m.exec(readFileSync(join(tools, "versions.env"), "utf8"))?.[1] ?? "";

/** Notes what it builds and when, takes its time over it, and fails where its output was taken away meanwhile. */
const go = `#!/bin/bash
set -e
case $1 in
build) ;;
*) exit 0 ;;
esac
while [ "$1" != -o ]; do shift; done
echo "begin $(basename "$2")" >>"$ANTREA_CACHE/builds"
echo '#!/bin/sh' >"$2"
chmod 0755 "$2"
sleep 0.5
while [ -e "$ANTREA_CACHE/hold" ]; do sleep 0.05; done
test -e "$2"
echo "end $(basename "$2")" >>"$ANTREA_CACHE/builds"
`;

describe("build-programs.sh", () => {
    let cache = "";
    beforeEach(() => {
        cache = mkdtempSync(join(tmpdir(), "build-programs-"));
        const bin = join(cache, `go-${goVersion}`, "bin");
        mkdirSync(bin, { recursive: true });
        writeFileSync(join(bin, "go"), go);
        chmodSync(join(bin, "go"), 0o755);
    });
    afterEach(() => rmSync(cache, { recursive: true }));
    const build = async (...groups: readonly string[]): Promise<string> => {
        const env = { ...process.env, ANTREA_CACHE: cache };
        const { stderr } = await promisify(execFile)(join(tools, "cluster/build-programs.sh"), groups, { env });
        return stderr;
    };
    const builds = (): readonly string[] => readFileSync(join(cache, "builds"), "utf8").trim().split("\n");

    it("of two runs in one cache builds each program once, and the one that waits reports for what", async () => {
        const outputs = await Promise.all([build("helm", "pause"), build("pause", "helm")]);
        expect(
            builds()
                .filter((line) => line.startsWith("begin"))
                .sort(),
        ).toEqual(["begin helm.part", "begin pause.part"]);
        expect(builds().map((line) => line.split(" ")[0])).toEqual(["begin", "end", "begin", "end"]);
        const waited = outputs.filter((text) => text.includes("is waited for"));
        expect(waited).toHaveLength(1);
        expect(waited[0]).toContain(`another run builds programs in ${cache}`);
    });

    it("waits for nobody where nothing is missing", async () => {
        await build("helm");
        const hold = join(cache, "hold");
        writeFileSync(hold, "");
        const long = build("pause");
        while (!existsSync(join(cache, "builds")) || builds().length < 3) await new Promise((go) => setTimeout(go, 20));
        expect(await build("helm")).toBe("");
        expect(builds()).toHaveLength(3);
        rmSync(hold);
        await long;
        expect(readdirSync(join(cache, "programs")).length).toBe(2);
    });
});
