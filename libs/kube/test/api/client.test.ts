import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "@jest/globals";
import { configMaps, createKubeClients, nodes, tokenReviews, type ApiClient, type Node } from "../../src/index.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const status = (code: number, reason: string, headers: Record<string, string> = {}): Answer => {
    return (_request, response) => {
        response.writeHead(code, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify({ kind: "Status", reason, message: reason, code }));
    };
};
const json = (body: unknown): Answer => {
    return (_request, response) => response.end(JSON.stringify(body));
};

describe("ApiClient", () => {
    const cleanUp: (() => void)[] = [];
    afterEach(() => {
        for (const each of cleanUp.splice(0)) each();
    });

    /** A server that gives these answers in order, the last one again and again. */
    async function serve(
        ...answers: readonly Answer[]
    ): Promise<{ api: ApiClient; paths: string[]; tokens: string[]; folder: string }> {
        const paths: string[] = [];
        const tokens: string[] = [];
        const server = createServer((request, response) => {
            paths.push(`${request.method} ${request.url}`);
            tokens.push(request.headers.authorization ?? "");
            (answers[paths.length - 1] ?? answers.at(-1))?.(request, response);
        });
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        const { port } = server.address() as { port: number };
        const folder = mkdtempSync(join(tmpdir(), "client-"));
        writeFileSync(join(folder, "token"), "first");
        const config = {
            "current-context": "c",
            clusters: [
                { name: "c", cluster: { server: `http://127.0.0.1:${port}/base/`, "insecure-skip-tls-verify": true } },
            ],
            users: [
                {
                    name: "u",
                    user: { "auth-provider": { name: "tokenFile", config: { tokenFile: join(folder, "token") } } },
                },
            ],
            contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        };
        writeFileSync(join(folder, "kubeconfig"), JSON.stringify(config));
        const clients = createKubeClients({ kubeconfig: join(folder, "kubeconfig"), userAgent: "antrea-test/1" });
        cleanUp.push(() => {
            clients.close();
            server.closeAllConnections();
            server.close();
            rmSync(folder, { recursive: true });
        });
        return { api: clients.api, paths, tokens, folder };
    }

    it("waits as long as the server asks and repeats, reads and writes alike after 429", async () => {
        const busy = status(429, "TooManyRequests", { "retry-after": "1" });
        const { api, paths } = await serve(busy, json({ metadata: { name: "a" } }));
        const began = performance.now();
        await api.create(configMaps, { metadata: { namespace: "n", name: "a" } });
        expect(performance.now() - began).toBeGreaterThan(950);
        expect(paths).toHaveLength(2);
        expect(paths[0]).toMatch(
            /^POST \/base\/api\/v1\/namespaces\/n\/configmaps\?fieldManager=antrea-test&timeout=\d+ms$/,
        );
    });

    it("gives up when the wait is longer than the call's time", async () => {
        const { api, paths } = await serve(status(429, "TooManyRequests", { "retry-after": "100" }));
        const call = api.get(nodes, { name: "a" }, { timeoutMs: 1_000 });
        await expect(call).rejects.toMatchObject({ code: "TOO_MANY_REQUESTS", retryAfterMs: 100_000 });
        expect(paths).toHaveLength(1);
    });

    it("does not repeat a write that may have taken effect", async () => {
        const { api, paths } = await serve(status(503, "ServiceUnavailable", { "retry-after": "1" }));
        const call = api.create(configMaps, { metadata: { namespace: "n", name: "a" } });
        await expect(call).rejects.toMatchObject({ code: "UNAVAILABLE", outcomeUnknown: true });
        expect(paths).toHaveLength(1);
    });

    it.each([
        ["no JSON", ((_request, response) => response.end("<html>")) as Answer, "BAD_ANSWER"],
        ["no list", json({ items: 7 }), "BAD_ANSWER"],
        ["an item without name", json({ metadata: { resourceVersion: "1" }, items: [{}] }), "BAD_ANSWER"],
        [
            "a broken answer",
            ((_request, response) => {
                response.writeHead(200, { "content-length": "100" });
                response.write("{", () => response.destroy());
            }) as Answer,
            "CONNECTION_FAILED",
        ],
    ])("a list that is %s is a typed error", async (_name, answer, code) => {
        const { api } = await serve(answer);
        await expect(api.list(nodes)).rejects.toMatchObject({ code });
    });

    it("creates what has no metadata, as a question that the server answers at once", async () => {
        const { api, paths } = await serve(json({ status: { authenticated: true } }));
        const answer = await api.create(tokenReviews, { spec: { token: "t" } });
        expect(answer).toEqual({ status: { authenticated: true } });
        expect(paths).toEqual([
            expect.stringMatching(
                /^POST \/base\/apis\/authentication\.k8s\.io\/v1\/tokenreviews\?fieldManager=antrea-test&/,
            ),
        ]);
    });

    it("reads a list page by page", async () => {
        const { api, paths } = await serve(
            json({ metadata: { resourceVersion: "5", continue: "next/1" }, items: [{ metadata: { name: "a" } }] }),
            json({ metadata: { resourceVersion: "5" }, items: [{ metadata: { name: "b" } }] }),
        );
        const { items, resourceVersion } = await api.list(nodes, { labelSelector: "x=y" });
        expect(items.map((item) => item.metadata?.name)).toEqual(["a", "b"]);
        expect(resourceVersion).toBe("5");
        expect(paths[1]).toBe("GET /base/api/v1/nodes?limit=500&labelSelector=x%3Dy&continue=next%2F1");
    });

    it("reduces the objects of a page before it asks for the next one, and leaves out some", async () => {
        const { api, paths } = await serve(
            json({ metadata: { resourceVersion: "5", continue: "next" }, items: [{ metadata: { name: "a" } }] }),
            json({ metadata: { resourceVersion: "5" }, items: [{ metadata: { name: "b" } }] }),
        );
        const reducedAt: number[] = [];
        const transform = (node: Node): Node | undefined => {
            reducedAt.push(paths.length);
            if (node.metadata?.name === "b") return undefined;
            return { metadata: { name: `${node.metadata?.name} reduced` } };
        };
        const { items } = await api.list(nodes, { transform });
        expect(items.map((item) => item.metadata?.name)).toEqual(["a reduced"]);
        expect(reducedAt).toEqual([1, 2]);
    });

    it("sends the token of its file", async () => {
        const { api, tokens } = await serve(json({ metadata: { name: "a" } }));
        await api.get(nodes, { name: "a" });
        expect(tokens).toEqual(["Bearer first"]);
    });
});
