import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import { chart, render, required, run } from "./render.ts";

it("renders with --reuse-values, where values that the release before had not have their defaults", async () => {
    const folder = mkdtempSync(join(tmpdir(), "antrea-chart-"));
    using _folder = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
    cpSync(chart, folder, { recursive: true });
    // With that flag Helm takes the values of the installed chart for those of the new one.
    const previous = new URL("fixtures/values-of-previous-release.yaml", import.meta.url);
    cpSync(previous, join(folder, "values.yaml"));
    const args = ["template", "antrea", folder, "--kube-version", "1.33.0", "--namespace", "kube-system"];
    const { stdout } = await run("helm", [...args, ...required], { maxBuffer: 16 << 20 });
    const reused = parseAllDocuments(stdout).map((document) => document.toJSON() as unknown);
    // What had another default stays as it was installed.
    const asInstalled = ["agent", "controller", "webhook"].map(
        (app) => `${app}.nodeSelector.kubernetes\\.io/arch=null`,
    );
    expect(reused).toEqual(await render("--set", asInstalled.join(",")));
}, 60_000);
