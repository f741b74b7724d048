import { readFile } from "node:fs/promises";
import { type KubeObject } from "@antrea/kube";
import { parseAllDocuments } from "yaml";

/** The roles that docs/antctl.md gives for all commands, bound to the user "viewer". */
export async function documentedRoles(): Promise<readonly KubeObject[]> {
    const text = await readFile(new URL("../../../../docs/antctl.md", import.meta.url), "utf8");
    const [, yaml = ""] = /```yaml\n([^]*?)```/.exec(text) ?? [];
    const roles = parseAllDocuments(yaml).map((document) => document.toJS() as KubeObject);
    const apiGroup = "rbac.authorization.k8s.io";
    const bindings = roles.map(({ kind, apiVersion = "", metadata }) => ({
        apiVersion,
        kind: `${kind}Binding`,
        metadata: metadata ?? {},
        roleRef: { apiGroup, kind, name: metadata?.name },
        subjects: [{ apiGroup, kind: "User", name: "viewer" }],
    }));
    return [...roles, ...bindings];
}
