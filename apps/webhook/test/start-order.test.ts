import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "@jest/globals";

const main = new URL("../src/main.ts", import.meta.url).pathname;
const kubeconfig = {
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster: { server: "https://127.0.0.1:1" } }],
    users: [{ name: "a", user: {} }],
};
let folder: string;

beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "start-order-"));
    writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
});
afterAll(() => rmSync(folder, { recursive: true }));

it("--print-start-order prints the parts of the webhook, and starts none", async () => {
    const args = ["--kubeconfig", join(folder, "kubeconfig"), "--print-start-order"];
    const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", main, ...args]);
    expect(stdout).toBe(["kube-clients", "server", "cluster", "certificates", "leaving", ""].join("\n"));
});
