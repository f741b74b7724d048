import { writeFileSync } from "node:fs";
import { leases } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { kubeconfigOf } from "@antrea/chart/testing/chart-server";
import { Daemon } from "./daemon.ts";
import { commandOf, workPath } from "./paths.ts";

const readyLimitMs = 60_000;

/** Feature gates that differ from their defaults. */
export type Gates = Readonly<Record<string, boolean>>;

/** Starts the bundled controller with NodeIPAM enabled; does not wait. */
export function spawnController(name: string, kubeconfig: string, featureGates: Gates = {}): Daemon {
    const configPath = workPath(`${name}.conf`);
    const config = {
        clientConnection: { kubeconfig },
        featureGates,
        nodeIPAM: {
            enableNodeIPAM: true,
            clusterCIDRs: ["10.0.0.0/8", "fd00:10::/48"],
            serviceCIDR: "10.96.0.0/16",
            serviceCIDRv6: "fd00:10:96::/112",
        },
    };
    writeFileSync(configPath, JSON.stringify(config)); // YAML is a superset of JSON
    return new Daemon({
        name: "antrea-controller",
        command: commandOf("controller", ["--config", configPath]),
        env: { PATH: process.env.PATH, POD_NAME: name, POD_NAMESPACE: "kube-system" },
        logPath: workPath(`${name}.log`),
    });
}

/** Starts it and waits until it leads. */
export async function startController(name: string, api: TestApiServer, featureGates: Gates = {}): Promise<Daemon> {
    const clients = api.clients();
    const kubeconfig = await kubeconfigOf(api, "antrea-controller");
    const daemon = spawnController(name, kubeconfig, featureGates);
    const leads = async (): Promise<boolean> => {
        const lease = await clients.api.find(leases, { namespace: "kube-system", name: "antrea-controller" });
        return (lease?.spec?.holderIdentity ?? "") !== "";
    };
    await daemon.ready(leads, readyLimitMs);
    return daemon;
}
