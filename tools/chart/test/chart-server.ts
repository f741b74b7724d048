import { type KubeObject, isKubeError, nodes, pods } from "@antrea/kube";
import { TestApiServer, type TestApiServerOptions } from "@antrea/kube/testing";
import { render } from "./render.ts";

/** The programs whose rights the chart grants. */
export type Program = "antrea-agent" | "antrea-controller" | "antrea-webhook";

const namespace = "kube-system";
/** What of the chart decides who may do what, by which rules, and with which share of the API server. */
const kinds: ReadonlySet<string> = new Set([
    "CustomResourceDefinition",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "PriorityLevelConfiguration",
    "FlowSchema",
]);
const values = [
    "featureGates.AntreaIPAM=true",
    "nodeIPAM.enable=true",
    "nodeIPAM.clusterCIDRs={10.0.0.0/8,fd00:10::/48}",
];

/**
 * A real API server with the chart's definitions, RBAC, admission policies and flow control in force. The programs that
 * are measured use the tokens of `kubeconfigOf` and `agentKubeconfig`: those of group system:masters, which only set up
 * and read metrics here, are limited by none of these.
 */
export async function startChartServer(options: TestApiServerOptions = {}): Promise<TestApiServer> {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await TestApiServer.start({ ...options, authorization: "RBAC" }));
    const manifests = await render(...values.flatMap((value) => ["--set", value]));
    await server.apply(manifests.filter(({ kind }) => kinds.has(kind)) as readonly KubeObject[]);
    stack.move();
    return server;
}

/** Path of a kubeconfig with the token of a program's ServiceAccount. */
export async function kubeconfigOf(server: TestApiServer, program: Program): Promise<string> {
    return server.kubeconfig(await server.addServiceAccountUser({ namespace, name: program }));
}

/** Path of a kubeconfig with the token that the agent of a Node has: bound to its Pod there. Makes the Node if need be. */
export async function agentKubeconfig(server: TestApiServer, nodeName: string): Promise<string> {
    const { api } = server.clients();
    const account = "antrea-agent";
    const name = `${account}-${nodeName}`;
    await api.create(nodes, { metadata: { name: nodeName } }).catch(unlessThere);
    const spec = { nodeName, serviceAccountName: account, containers: [{ name: account, image: account }] };
    await api.create(pods, { metadata: { namespace, name }, spec }).catch(unlessThere);
    return server.kubeconfig(await server.addServiceAccountUser({ namespace, name: account }, { name }));
}

function unlessThere(error: unknown): void {
    if (!isKubeError(error, "ALREADY_EXISTS")) throw error;
}
