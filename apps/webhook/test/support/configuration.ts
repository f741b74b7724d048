import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type KubeObject, type ValidatingWebhookConfiguration } from "@antrea/kube";
import { parseAllDocuments } from "yaml";

const chart = new URL("../../../../charts/antrea/", import.meta.url).pathname;

/** What the chart installs for admission: the policies, and the webhooks as they reach a server at this address. */
export async function admissionObjects(url: string): Promise<readonly KubeObject[]> {
    const objects = await render("webhook/configuration", "ipam/policies");
    return objects.map((object) => {
        if (object.kind !== "ValidatingWebhookConfiguration") return object;
        // There is no Service network: each webhook is reached by its URL. The chart has the API server wait for 2 s, and
        // some are ignored then: a busy machine would have it accept what a test shows to be refused.
        const { webhooks = [] } = object as ValidatingWebhookConfiguration;
        const reachable = webhooks.map(({ clientConfig, ...webhook }) => ({
            ...webhook,
            timeoutSeconds: 30,
            clientConfig: { url: `${url}${clientConfig.service?.path ?? ""}` },
        }));
        return { ...object, webhooks: reachable } as KubeObject;
    });
}

/** The rights that the chart gives the webhook, for this user instead. */
export async function rightsOf(user: string): Promise<readonly KubeObject[]> {
    const objects = await render("webhook/rbac");
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }];
    return objects
        .filter(({ kind }) => kind !== "ServiceAccount")
        .map((object) => ("subjects" in object ? { ...object, subjects } : object));
}

async function render(...templates: readonly string[]): Promise<readonly KubeObject[]> {
    const values = ["--set", "trafficEncapMode=noEncap,featureGates.AntreaIPAM=true"];
    const only = templates.map((name) => `--show-only=templates/${name}.yaml`);
    const args = ["template", "antrea", chart, "--kube-version=1.33.0", "--namespace=kube-system", ...values, ...only];
    const { stdout } = await promisify(execFile)("helm", args);
    return parseAllDocuments(stdout).map((document) => document.toJSON() as KubeObject);
}
