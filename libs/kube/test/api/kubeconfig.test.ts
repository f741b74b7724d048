import { createServer } from "node:http";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { readKubeconfig, useContext } from "../../src/api/kubeconfig.ts";
import { createKubeClients, kubeconfigContexts, nodes } from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A file with one context, cluster and user of each of these names. */
function write(file: string, server: string, names: readonly string[], current?: string, user: object = {}): string {
    const path = join(folder, file);
    const config = {
        apiVersion: "v1",
        kind: "Config",
        ...(current === undefined ? {} : { "current-context": current }),
        clusters: names.map((name) => ({ name, cluster: { server, "insecure-skip-tls-verify": true } })),
        users: names.map((name) => ({ name, user: { token: `${file}-${name}`, ...user } })),
        contexts: names.map((name) => ({ name, context: { cluster: name, user: name } })),
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
}

describe("readKubeconfig", () => {
    it("merges several files: the first entry of a name and the first current context count", () => {
        const config = readKubeconfig([
            write("a", "https://a:1", ["one"]),
            join(folder, "missing"),
            write("b", "https://b:2", ["one", "two"], "two"),
            write("c", "https://c:3", ["three"], "three"),
        ]);
        expect(config.currentContext).toBe("two");
        expect(config.clusters.map(({ name, server }) => `${name} ${server}`)).toEqual([
            "one https://a:1",
            "two https://b:2",
            "three https://c:3",
        ]);
        expect(config.users.map(({ token }) => token)).toEqual(["a-one", "b-two", "c-three"]);
        expect(config.contexts.map(({ name }) => name)).toEqual(["one", "two", "three"]);
        expect(kubeconfigContexts(join(folder, "b"))).toEqual(["one", "two"]);
    });

    it.each([
        ["one that is missing", "/nowhere/config", /cannot read kubeconfig \/nowhere\/config: ENOENT/],
        ["several of which none exists", ["/nowhere/a", "/nowhere/b"], /none of \/nowhere\/a, \/nowhere\/b exists/],
    ])("refuses %s", (_name, files, message) => {
        expect(() => readKubeconfig(files)).toThrow(message);
        expect(() => createKubeClients({ kubeconfig: files, userAgent: "t/0" })).toThrow(
            expect.objectContaining({ code: "BAD_CONFIG" }),
        );
    });

    it("names the file that cannot be understood", () => {
        writeFileSync(join(folder, "broken"), "clusters: [{");
        expect(() => readKubeconfig([join(folder, "broken")])).toThrow(/cannot read kubeconfig .*\/broken: /);
    });
});

describe("useContext", () => {
    it("names the contexts that there are", () => {
        const config = readKubeconfig(write("d", "https://d:1", ["one", "two"], "one"));
        useContext(config, "two");
        expect(config.currentContext).toBe("two");
        expect(() => useContext(config, "three")).toThrow('no context "three": it has one, two');
    });
});

describe("createKubeClients with a kubeconfig", () => {
    const tokens: string[] = [];
    const server = createServer((request, response) => {
        tokens.push(request.headers.authorization ?? "");
        response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
    });
    let url = "";
    beforeEach(async () => {
        tokens.length = 0;
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    });
    afterEach(async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
    });

    it("uses the context that is asked for, with its user", async () => {
        const kubeconfig = write("e", url, ["one", "two"], "one");
        using clients = createKubeClients({ kubeconfig, context: "two", userAgent: "t/0" });
        await clients.api.list(nodes);
        expect(tokens).toEqual(["Bearer e-two"]);
        expect((await clients.connection()).headers).toMatchObject({ Authorization: "Bearer e-two" });
    });

    it("starts a credential plugin once, and passes it what is wanted", async () => {
        const plugin = join(folder, "plugin");
        const log = join(folder, "plugin.log");
        writeFileSync(
            plugin,
            `#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >>${log}\n` +
                `echo '{"kind":"ExecCredential","status":{"token":"from-plugin"}}'\n`,
        );
        chmodSync(plugin, 0o755);
        const apiVersion = "client.authentication.k8s.io/v1beta1";
        const exec = { apiVersion, command: plugin, provideClusterInfo: true };
        const kubeconfig = write("f", url, ["one"], "one", { token: undefined, exec });
        using clients = createKubeClients({ kubeconfig, userAgent: "t/0" });
        await Promise.all([clients.api.list(nodes), clients.api.list(nodes), clients.api.list(nodes)]);
        expect(tokens).toEqual(Array(3).fill("Bearer from-plugin"));
        const lines = readFileSync(log, "utf8").trim().split("\n");
        expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
            {
                apiVersion,
                kind: "ExecCredential",
                spec: { interactive: false, cluster: { server: url, "insecure-skip-tls-verify": true } },
            },
        ]);
    });

    it("reports what a plugin that fails wrote", async () => {
        const plugin = join(folder, "failing");
        writeFileSync(plugin, "#!/bin/sh\necho 'please log in' >&2\nexit 3\n");
        chmodSync(plugin, 0o755);
        const kubeconfig = write("g", url, ["one"], "one", { token: undefined, exec: { command: plugin } });
        using clients = createKubeClients({ kubeconfig, userAgent: "t/0" });
        await expect(clients.api.list(nodes)).rejects.toMatchObject({
            code: "BAD_CONFIG",
            message: expect.stringContaining("please log in"),
        });
    });
});
