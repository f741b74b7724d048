import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { services, type KubeObject } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { parseAllDocuments } from "yaml";
import { outcome } from "./outcome.ts";

let server: TestApiServer;

beforeAll(async () => {
    server = await TestApiServer.start();
    const text = await readFile(new URL("../../../docs/security.md", import.meta.url), "utf8");
    const [, policy = ""] = /^```yaml\n([^]*?ValidatingAdmissionPolicy[^]*?)^```$/m.exec(text) ?? [];
    const objects = parseAllDocuments(policy).map((document) => document.toJS() as KubeObject);
    expect(objects.map(({ kind }) => kind)).toEqual(["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]);
    await server.apply(objects);
});
afterAll(() => server.stop());

it.each<[string, readonly string[] | undefined, string]>([
    ["none", undefined, "ok"],
    ["permitted", ["198.51.100.7", "198.51.100.8"], "ok"],
    ["another", ["198.51.100.7", "192.0.2.1"], "externalIPs outside of 198.51.100.0/24 are not permitted"],
    ["ipv6", ["2001:db8::1"], "externalIPs outside of 198.51.100.0/24 are not permitted"],
])("the policy of docs/security.md, externalIPs of Service %s", async (name, externalIPs, expected) => {
    const spec = { ports: [{ port: 80 }], ...(externalIPs === undefined ? {} : { externalIPs: [...externalIPs] }) };
    const { api } = server.clients();
    expect(await outcome(api.create(services, { metadata: { name, namespace: "default" }, spec }))).toContain(expected);
});
