import { writeFileSync } from "node:fs";
import { type KubeObject } from "@antrea/kube";
import { kubeProxyConfig, type TestApiServer } from "@antrea/kube/testing";
import { Daemon } from "../daemon.ts";
import { kubeProxyPath, workPath } from "../paths.ts";

const namespace = "kube-system";
const account = "kube-proxy";
const rbac = "rbac.authorization.k8s.io";

const metadata = { name: "kubeadm:node-proxier" };
const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: "system:node-proxier" };
const subjects = [{ kind: "ServiceAccount", namespace, name: account }];
const binding = { apiVersion: `${rbac}/v1`, kind: "ClusterRoleBinding", metadata, roleRef, subjects };

/** Its ServiceAccount and rights, as kubeadm makes them. */
export const kubeProxyRights: readonly KubeObject[] = [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: account } },
    binding,
];

/** Starts kube-proxy in its mode nftables, with its defaults otherwise; does not wait. The rights must exist. */
export async function startKubeProxy(server: TestApiServer, nodeName: string, netnsPath: string): Promise<Daemon> {
    const kubeconfig = server.kubeconfig(await server.addServiceAccountUser({ namespace, name: account }));
    const configPath = workPath(`${nodeName}-kube-proxy.conf`);
    writeFileSync(configPath, kubeProxyConfig({ nodeName, kubeconfig }));
    return new Daemon({
        name: "kube-proxy",
        command: [kubeProxyPath(), "--config", configPath],
        env: { PATH: process.env.PATH },
        logPath: workPath(`${nodeName}-kube-proxy.log`),
        netnsPath,
    });
}
