import { execFile } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { named, render, type Manifest } from "@antrea/chart/testing/render";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const versions = readFileSync(join(root, "tools/versions.env"), "utf8");
const nodeVersion = /^NODE_VERSION=(.+)$/m.exec(versions)?.[1] ?? "";
const appVersion =
    /^appVersion: "(.+)"$/m.exec(readFileSync(join(root, "charts/antrea/Chart.yaml"), "utf8"))?.[1] ?? "";
const apps = ["agent", "controller", "webhook"];

/** Notes its command line. */
const stub = (name: string): string => `#!/bin/bash\necho "${name} $*" | sed 's/ $//' >>"$ANTREA_CACHE/calls"\n`;
/** A registry that wants to know who pushes. */
const refusing = `${stub("docker")}case $1 in push) echo "no basic auth credentials" >&2; exit 1 ;; esac\n`;

/** What the container of a workload runs. */
function imageOf(manifests: readonly Manifest[], kind: string, name: string): string | undefined {
    const { template } = named(manifests, kind, name).spec as {
        readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
    };
    return template.spec.containers[0]?.image;
}

describe("make push", () => {
    let folder = "";
    const place = (path: string, text: string): void => {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
        chmodSync(join(folder, path), 0o755);
    };
    // A checkout with what is run here, in which set-up and build do nothing; lib.sh looks for programs in the cache first.
    beforeEach(() => {
        folder = mkdtempSync(join(tmpdir(), "push-"));
        for (const path of [
            "Makefile",
            "tools/lib.sh",
            "tools/versions.env",
            "tools/images/push.sh",
            "charts/antrea/Chart.yaml",
        ])
            cpSync(join(root, path), join(folder, path));
        place("tools/setup/bootstrap.sh", stub("bootstrap"));
        place("tools/build.sh", stub("build"));
        place(`cache/node-${nodeVersion}/bin/docker`, stub("docker"));
    });
    afterEach(() => rmSync(folder, { recursive: true }));
    const push = async (...variables: readonly string[]): Promise<string> => {
        const { REGISTRY: _, TAG: __, ...others } = process.env;
        const env = { ...others, ANTREA_CACHE: join(folder, "cache") };
        return (await run("make", ["--no-print-directory", "-C", folder, "push", ...variables], { env })).stdout;
    };
    const calls = (): readonly string[] => readFileSync(join(folder, "cache/calls"), "utf8").trim().split("\n");
    /** The options of Helm in what was printed. */
    const flags = (printed: string): readonly string[] =>
        [...printed.matchAll(/--set-string \S+/g)].join(" ").split(" ");

    it.each([
        { what: "of the chart's default", tag: appVersion, variables: [] },
        { what: "that is given", tag: "20261124", variables: ["TAG=20261124"] },
    ])(
        "builds, pushes three images with the tag $what, and prints the values by which the chart runs them",
        async (one) => {
            const printed = await push("REGISTRY=registry.example.com:5000/team/", ...one.variables);
            const pushed = (app: string): string => `registry.example.com:5000/team/antrea-${app}:${one.tag}`;
            expect(calls()).toEqual([
                "bootstrap",
                "build",
                ...apps.flatMap((app) => [
                    `docker tag antrea/antrea-${app}:dev ${pushed(app)}`,
                    `docker push ${pushed(app)}`,
                ]),
            ]);
            const manifests = await render(...flags(printed));
            expect(imageOf(manifests, "DaemonSet", "antrea-agent")).toBe(pushed("agent"));
            expect(imageOf(manifests, "Deployment", "antrea-controller")).toBe(pushed("controller"));
            expect(imageOf(manifests, "Deployment", "antrea-webhook")).toBe(pushed("webhook"));
        },
    );

    it.each([
        [[], /REGISTRY is not set/],
        [["REGISTRY="], /REGISTRY is not set/],
        [["REGISTRY=https://registry.example.com"], /REGISTRY=https:.* without a scheme/],
        [["REGISTRY=registry.example.com", "TAG=a b"], /TAG=a b is no tag/],
    ] as const)("refuses %j before anything is built, with an example", async (variables, message) => {
        await expect(push(...variables)).rejects.toMatchObject({
            stderr: expect.stringMatching(message),
        });
        await expect(push(...variables)).rejects.toMatchObject({
            stderr: expect.stringMatching(/next: for example: make push REGISTRY=registry\.example\.com/),
        });
        expect(existsSync(join(folder, "cache/calls"))).toBe(false);
    });

    it("ends at the first image that the registry refuses, and names docker login", async () => {
        place(`cache/node-${nodeVersion}/bin/docker`, refusing);
        await expect(push("REGISTRY=registry.example.com/team")).rejects.toMatchObject({
            stdout: "",
            stderr: expect.stringMatching(/no basic auth credentials\n.*docker login registry\.example\.com'/),
        });
        expect(calls().filter((line) => line.startsWith("docker push"))).toHaveLength(1);
    });
});

it("make help names the three images, and make push", async () => {
    const { stdout } = await run("make", ["--no-print-directory", "-C", root, "help"]);
    for (const app of apps) expect(stdout).toContain(`antrea-${app}`);
    expect(stdout).toMatch(/make push .*REGISTRY=/);
});

it("make help names the variables of each target", async () => {
    const { stdout } = await run("make", ["--no-print-directory", "-C", root, "help"]);
    const help = new Map(stdout.split("\n").map((line) => [line.trim().split(/ +/)[1] ?? "", line]));
    const makefile = readFileSync(join(root, "Makefile"), "utf8");
    const missing = makefile.split(/\n(?=\S)/).flatMap((rule) => {
        const [, target = "", recipe = ""] = /^([a-z-]+):.*\n([^]*)/.exec(rule) ?? [];
        const names = [...recipe.matchAll(/\$[({]([A-Z_]+)/g)].map(([, name]) => name ?? "");
        const words = new Set(help.get(target)?.match(/\b[A-Z_]+\b/g));
        return names.filter((name) => name !== "MAKEFILE_LIST" && !words.has(name)).map((name) => [target, name]);
    });
    expect(missing).toEqual([]);
});
