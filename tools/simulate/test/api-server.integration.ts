import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { admissionPolicies, customResourceDefinitions, nodePolicies } from "@antrea/crd/schema";
import { createKubeClients, pods, type ApiClient, type KubeClients, type KubeObject } from "@antrea/kube";
import { TestApiServer, networkDefinitionsCrd } from "@antrea/kube/testing";
import { apiCases } from "./api-cases.ts";
import { namespaceCases } from "./namespace-cases.ts";
import { networkCases } from "./network-cases.ts";
import { policyCases, type Roles } from "./policy-cases.ts";

const namespace = "kube-system";

let server: TestApiServer;
let api: ApiClient;
const clients: KubeClients[] = [];

beforeAll(async () => {
    server = await TestApiServer.start();
    await server.apply([...customResourceDefinitions(), networkDefinitionsCrd] as readonly KubeObject[]);
    api = server.clients().api;
});
afterAll(async () => {
    for (const one of clients) one.close();
    await server.stop();
});

describe("kube-apiserver, with the same responses as the simulated one", () => {
    it.each([...apiCases, ...namespaceCases, ...networkCases])("$name", async ({ run, expected }) => {
        expect(await run(api)).toEqual(expected);
    });
});

describe("kube-apiserver with the policies of the chart, with the same responses as the simulated one", () => {
    let roles: Roles;
    beforeAll(async () => {
        const policies = [...admissionPolicies({ namespace }), ...nodePolicies({ namespace })];
        await server.apply(policies as readonly KubeObject[]);
        for (const name of ["antrea-agent", "antrea-controller"]) {
            await server.apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } }]);
        }
        roles = { admin: api, a: await agentOn("a"), b: await agentOn("b"), controller: await as("antrea-controller") };
    });

    it.each(policyCases)("$name", async ({ run, expected }) => {
        expect(await run(roles)).toEqual(expected);
    });
});

async function as(account: string, pod?: string): Promise<ApiClient> {
    const user = await server.addServiceAccountUser(
        { namespace, name: account },
        ...(pod === undefined ? [] : [{ name: pod }]),
    );
    const made = createKubeClients({ kubeconfig: server.kubeconfig(user), userAgent: `${account}/0` });
    clients.push(made);
    return made.api;
}

/** The token of an agent is bound to its Pod, and so to the Node. */
async function agentOn(nodeName: string): Promise<ApiClient> {
    await server.addNode(nodeName);
    const [account, name] = ["antrea-agent", `antrea-agent-${nodeName}`];
    const containers = [{ name: "c", image: "i" }];
    await api.create(pods, {
        metadata: { namespace, name },
        spec: { nodeName, serviceAccountName: account, containers },
    });
    return as(account, name);
}
