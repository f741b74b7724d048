import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "@jest/globals";

const tools = join(import.meta.dirname, "..");
const nodeVersion = /^NODE_VERSION=(.+)$/m.exec(readFileSync(join(tools, "versions.env"), "utf8"))?.[1] ?? "";
const version = /^appVersion: "(.+)"$/m.exec(readFileSync(join(tools, "../charts/antrea/Chart.yaml"), "utf8"))?.[1];

let cache: string;
beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), "push-"));
    const bin = join(cache, `node-${nodeVersion}`, "bin");
    mkdirSync(bin, { recursive: true });
    // in place of the real one, which lies behind it in PATH
    writeFileSync(join(bin, "docker"), '#!/bin/bash\necho "$*" >>"$ANTREA_CACHE/calls"\n');
    chmodSync(join(bin, "docker"), 0o755);
});
afterEach(() => rmSync(cache, { recursive: true }));

async function push(settings: Readonly<Record<string, string>>): Promise<{ stdout: string; calls: string[] }> {
    const env = { ...process.env, REGISTRY: "", TAG: "", ...settings, ANTREA_CACHE: cache };
    const { stdout } = await promisify(execFile)(join(tools, "images/push.sh"), [], { env });
    return { stdout, calls: readFileSync(join(cache, "calls"), "utf8").trim().split("\n") };
}

it("tags and pushes all three images, and prints the values by which helm takes them", async () => {
    const { stdout, calls } = await push({ REGISTRY: "registry.example.com/net", TAG: "7" });
    expect(calls).toEqual(
        ["agent", "controller", "webhook"].flatMap((app) => [
            `tag antrea/antrea-${app}:dev registry.example.com/net/antrea-${app}:7`,
            `push registry.example.com/net/antrea-${app}:7`,
        ]),
    );
    for (const app of ["agent", "controller", "webhook"]) {
        expect(stdout).toContain(`--set ${app}Image.repository=registry.example.com/net/antrea-${app} `);
        expect(stdout).toContain(`--set ${app}Image.tag=7 `);
    }
});

it("gives them the tag that the chart asks for", async () => {
    const { calls } = await push({ REGISTRY: "registry.example.com" });
    expect(calls).toContain(`push registry.example.com/antrea-agent:${version}`);
});

it.each([
    ["", /REGISTRY is not set\n {2}next: .*make push REGISTRY=registry\.example\.com\/antrea/],
    ["https://registry.example.com", /without https:\/\//],
    ["registry.example.com/", /without a \/ at its end/],
])("refuses REGISTRY=%s before anything is pushed", async (registry, words) => {
    await expect(push({ REGISTRY: registry })).rejects.toThrow(words);
});
