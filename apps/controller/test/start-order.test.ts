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

async function startOrder(settings: object): Promise<readonly string[]> {
    const config = join(folder, "settings.conf");
    const clientConnection = { kubeconfig: join(folder, "kubeconfig") };
    writeFileSync(config, JSON.stringify({ clientConnection, ...settings }));
    const args = ["--config", config, "--print-start-order"];
    const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", main, ...args]);
    return stdout.split("\n").slice(0, -1);
}

it("--print-start-order prints the parts of the controller, and starts none", async () => {
    const before = ["kube-clients", "health", "events"];
    expect(await startOrder({})).toEqual([...before, "leadership", "started"]);
    const nodeIPAM = { enableNodeIPAM: true, clusterCIDRs: ["10.244.0.0/16"] };
    expect(await startOrder({ featureGates: { AntreaIPAM: true, NodeIPAM: true }, nodeIPAM })).toEqual([
        ...before,
        "nodes",
        "allocations",
        "pool-cache",
        "set-cache",
        "leadership",
        "leadership/node-ipam",
        "leadership/pool-status",
        "leadership/node-addresses",
        "leadership/reservations",
        "leadership/allocation-cleaner",
        "started",
    ]);
});
