import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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

const features = readdirSync(new URL("../src/features/", import.meta.url));

it("--print-start-order prints the parts and features of the agent, and starts none", async () => {
    expect(await startOrder({ trafficEncapMode: "noEncap" })).toEqual([
        "ovsdb-session",
        "uplink-end",
        "uplink-recovery",
        "nic-end",
        "nic-recovery",
        "health",
        "kube",
        "ovsdb",
        "cni-server",
        "features",
        "features/cni-server",
        "features/secondary-bridge",
        "features/pod-network",
        "features/host-services",
        "features/services",
        "features/node-routes",
        "features/masquerade",
        "features/node",
        "features/host-filter",
        "features/bridging",
        "features/virtual-functions",
        "features/secondary-networks",
        "features/ip-pools",
        "uplink",
        "nics",
        "jobs",
        "known-addresses",
    ]);
});

it("--print-start-order names features by their folders, and only those that the settings have", async () => {
    const ofFeatures = async (settings: object): Promise<readonly string[]> =>
        (await startOrder(settings)).flatMap((line) => line.split("features/").slice(1));
    const without = await ofFeatures({ antreaProxy: { proxyAll: true, disableServiceHealthCheckServer: true } });
    const featureGates = { AntreaIPAM: true, AntreaProxy: true, SecondaryNetwork: true };
    const withAll = await ofFeatures({ featureGates, antreaProxy: { proxyAll: true } });
    expect(without.filter((name) => !withAll.includes(name))).toEqual(["secondary-networks"]);
    expect(withAll.filter((name) => !without.includes(name))).toEqual(["service-health", "networks", "delegated-ipam"]);
    // `node` is of the platform.
    expect([...new Set([...without, ...withAll])].sort()).toEqual([...features, "node"].sort());
});
