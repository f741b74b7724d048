import { type ApiClient } from "../api/client.ts";
import { configMaps, pathOf, type Resource } from "../api/resources.ts";
import { type KubeObject } from "../api/types.ts";
import { isKubeError } from "../errors.ts";
import { eventually } from "./eventually.ts";
import { TestApiServerError } from "./programs.ts";

interface ServedKind {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
}

interface Definition extends KubeObject {
    readonly spec: {
        readonly group: string;
        readonly names: { readonly plural: string };
        readonly versions: readonly { readonly name: string; readonly served: boolean }[];
    };
}

/**
 * Applies objects (server-side apply as manager `test`, by force) in order, and waits until the resources they define
 * are served and the admission policies are in force. Rejects with KubeError, with TestApiServerError `UNKNOWN_KIND`
 * for a kind that is not served, or with the Error of `eventually`.
 */
export async function applyObjects(api: ApiClient, objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
        await applyObject(api, object);
        if (object.kind === "CustomResourceDefinition") await served(api, object as Definition);
    }
    if (objects.some(({ kind }) => kind === "ValidatingAdmissionPolicyBinding")) await policiesInForce(api);
}

async function applyObject(api: ApiClient, object: KubeObject): Promise<void> {
    const resource = await resourceOf(api, object);
    const { name = "", namespace } = object.metadata ?? {};
    const ref = { name, ...(resource.namespaced && { namespace: namespace ?? "default" }) };
    await api.patch(resource, ref, { type: "apply", body: { ...object } }, { fieldManager: "test", force: true });
}

async function resourceOf(api: ApiClient, object: KubeObject): Promise<Resource<KubeObject>> {
    const { apiVersion = "v1", kind = "" } = object;
    const parts = apiVersion.split("/");
    const [group, version] = parts.length === 2 ? parts : ["", apiVersion];
    const path = group === "" ? `/api/${apiVersion}` : `/apis/${apiVersion}`;
    const { resources } = (await api.request({ method: "GET", path })) as { readonly resources: readonly ServedKind[] };
    const found = resources.find((one) => one.kind === kind && !one.name.includes("/"));
    if (found !== undefined) {
        return { group: group ?? "", version: version ?? "", plural: found.name, kind, namespaced: found.namespaced };
    }
    throw new TestApiServerError("UNKNOWN_KIND", "caller", `the API server does not serve ${kind} of ${apiVersion}`);
}

/** A definition is "Established" before each part of the API server has it: the resource itself is requested. */
async function served(api: ApiClient, { spec }: Definition): Promise<void> {
    for (const version of spec.versions.filter((one) => one.served)) {
        const path = `/apis/${spec.group}/${version.name}/${spec.names.plural}`;
        await eventually(() => api.request({ method: "GET", path }), { what: `${path} served` });
        const listed = async (): Promise<boolean> => {
            const group = `/apis/${spec.group}/${version.name}`;
            const { resources } = (await api.request({ method: "GET", path: group })) as {
                readonly resources: readonly ServedKind[];
            };
            return resources.some(({ name }) => name === spec.names.plural);
        };
        await eventually(listed, { what: `${path} in discovery` });
    }
}

// The API server loads policies in the order of their writes, so once a last one rejects a certain ConfigMap, all
// before it are in force.
async function policiesInForce(api: ApiClient): Promise<void> {
    const group = "admissionregistration.k8s.io";
    const name = `probe-${crypto.randomUUID()}`;
    const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] };
    const probe: readonly KubeObject[] = [
        {
            kind: "ValidatingAdmissionPolicy",
            spec: {
                failurePolicy: "Fail",
                matchConstraints: { resourceRules: [rule] },
                validations: [{ expression: `request.name != '${name}'`, message: "in force" }],
            },
        } as KubeObject,
        {
            kind: "ValidatingAdmissionPolicyBinding",
            spec: { policyName: name, validationActions: ["Deny"] },
        } as KubeObject,
    ].map((object) => ({ ...object, apiVersion: `${group}/v1`, metadata: { name } }));
    for (const object of probe) await applyObject(api, object);
    const path = `${pathOf(configMaps, { namespace: "default" })}?dryRun=All`;
    const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name } });
    const refused = async (): Promise<boolean> => {
        try {
            await api.request({ method: "POST", path, body });
            return false;
        } catch (error) {
            return isKubeError(error, "INVALID") || isKubeError(error, "FORBIDDEN");
        }
    };
    await eventually(refused, { timeoutMs: 60_000, what: "admission policies in force" });
    for (const object of [...probe].reverse()) await api.delete(await resourceOf(api, object), { name });
}
