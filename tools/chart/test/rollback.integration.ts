import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { ipAllocations } from "@antrea/crd";
import { type ApiClient } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { allocation, allocationOf, setAllocation } from "./allocations.ts";
import { render, run } from "./render.ts";

const kinds = ["CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];

let server: TestApiServer;
let api: ApiClient;

beforeAll(async () => {
    server = await TestApiServer.start();
    api = server.clients().api;
    await server.apply(await definitions());
});
afterAll(() => server.stop());

async function definitions(): ReturnType<typeof render> {
    const manifests = await render("--set", "featureGates.AntreaIPAM=true");
    return manifests.filter(({ kind }) => kinds.includes(kind));
}

/** The definitions of a release that knows no owner of kind Gateway. */
async function definitionsBefore(): ReturnType<typeof render> {
    const text = JSON.stringify(await definitions());
    const without = text.replace('"StatefulSet","Node","Gateway"]', '"StatefulSet","Node"]');
    expect(without.length).toBeLessThan(text.length);
    return JSON.parse(without) as Awaited<ReturnType<typeof render>>;
}

/** The commands in a section of docs/operations.md that have this word. */
async function documented(section: string, word: string): Promise<string> {
    const text = await readFile(new URL("../../../docs/operations.md", import.meta.url), "utf8");
    const [, body = ""] = text.split(`\n## ${section}\n`);
    const blocks = (body.split("\n## ")[0] ?? "").matchAll(/^```\w*\n([^]*?)^```$/gm);
    return [...blocks].map(([, commands = ""]) => commands).find((commands) => commands.includes(word)) ?? "";
}

function reserved(address: string, kind: "Gateway" | "Node", name: string) {
    const { pod: _, ...spec } = allocation(address).spec;
    return allocationOf(address, { ...spec, state: "Reserved", owner: { kind, name } });
}

async function names(): Promise<readonly (string | undefined)[]> {
    return (await api.list(ipAllocations)).items.map(({ metadata }) => metadata?.name).sort();
}

it("after a rollback the documented command removes the allocations of gateways, and no others", async () => {
    const command = await documented("Upgrade and rollback", "Gateway");
    expect(command).not.toBe("");
    const env = { ...process.env, KUBECONFIG: server.kubeconfig() };
    // There may be none.
    await run("bash", ["-euo", "pipefail", "-c", command], { env });
    const others = [allocation("10.7.0.2"), setAllocation("10.7.0.3", { index: 0 }), reserved("10.7.0.4", "Node", "n")];
    const gateways = [reserved("10.7.0.1", "Gateway", "10.7.0.1"), reserved("fd00:7::1", "Gateway", "fd00:7::1")];
    for (const object of [...others, ...gateways]) await api.create(ipAllocations, object);
    expect(await names()).toHaveLength(5);
    await server.apply(await definitionsBefore());
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", command], { env });
    expect(stdout.trim().split("\n")).toHaveLength(2);
    expect(await names()).toEqual(["10.7.0.2", "10.7.0.3", "10.7.0.4"]);
});
