import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { AntreaError, messageOf } from "@antrea/errors";
import { createKubeClients, nodes, TokenReviewAuthorizer } from "@antrea/kube";
import { Metrics } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { DaemonServer } from "@antrea/serving";
import { getLocal } from "./daemon-process.ts";

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const part = (object: object): string => Buffer.from(JSON.stringify(object)).toString("base64url");
const jwt = `${part({ alg: "RS256", kid: "k" })}.${part({ sub: "system:serviceaccount:kube-system:a" })}.c2lnbmF0dXJl-_x`;
const password = "correct-horse-battery";

/** No part of a secret that is long enough to be of use. */
function expectNoSecret(text: string): void {
    const [, body = "", signature = ""] = jwt.split(".");
    const lines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
    const base64 = Buffer.from(pem).toString("base64");
    const hex = Buffer.from(pem).toString("hex");
    for (const secret of [body, signature, password, ...lines, base64.slice(40, 80), hex.slice(80, 120)]) {
        expect(text).not.toContain(secret);
    }
}

describe("what is logged, at the most verbose level", () => {
    const headers = { authorization: `Bearer ${jwt}`, accept: "application/json" };
    const kubeconfig = `users:\n- name: a\n  user:\n    token: ${password}\n`;
    class OurError extends AntreaError<"BROKEN", { readonly headers: unknown; readonly pem: string }> {}
    const error = (message: string): Error => new Error(message);

    it.each<[string, unknown]>([
        ["a key", pem],
        ["a truncated key", pem.slice(0, -40)],
        ["a key within JSON", JSON.stringify({ tls: pem })],
        ["a key in bytes", Buffer.from(pem)],
        ["a key in base64", Buffer.from(pem).toString("base64")],
        ["a Secret", { data: { "ca.key": Buffer.from(pem).toString("base64") } }],
        ["a field of a key", { "ca.key": password }],
        ["a token", jwt],
        ["a token in a list", [[jwt]]],
        ["a token of no known form in its field", { user: { token: password } }],
        ["headers", headers],
        ["headers in a map", new Map(Object.entries(headers))],
        ["headers as one text", `GET / HTTP/1.1\r\nAuthorization: Bearer ${password}\r\n`],
        ["a password of basic authentication", `Authorization: Basic ${Buffer.from(password).toString("base64")}`],
        ["a kubeconfig", kubeconfig],
        ["a kubeconfig in JSON", JSON.stringify({ users: [{ user: { token: password } }] })],
        ["JSON within JSON", JSON.stringify(JSON.stringify({ token: password }))],
        ["an error", error(`refused: ${jwt}`)],
        ["the cause of an error", new Error("a", { cause: new Error("b", { cause: error(kubeconfig) }) })],
        ["details of an error of ours", new OurError("BROKEN", "internal", "a", { details: { headers, pem } })],
        ["one of several errors", new AggregateError([error(jwt), error(pem)], "a")],
        ["what is no error and was thrown", { name: "E", message: `token=${password}`, stack: `E: token=${password}` }],
    ])("has no secret of %s", (_name, value) => {
        const log = new MemoryLog("trace");
        for (const level of ["trace", "debug", "info", "warn", "error"] as const) {
            log.logger.child("a", { of: value })[level]("message", { value, error: value });
        }
        expect(log.records).toHaveLength(5);
        expectNoSecret(JSON.stringify(log.records));
        expect(JSON.stringify(log.records)).not.toContain(Buffer.from(password).toString("base64"));
    });

    it("has all the rest", () => {
        const log = new MemoryLog();
        const fields = {
            key: "kube-system/antrea",
            reason: "the token is not allowed to read /metrics",
            text: "a bearer token is needed",
            bytes: Buffer.from([1, 2, 255]),
            basic: "basic rules",
            path: "/api/v1/namespaces/a/serviceaccounts/b/token?dryRun=All",
        };
        log.logger.info("a", fields);
        expect(log.records).toMatchObject([{ ...fields, bytes: "0102ff" }]);
    });
});

describe("errors and logs of the programs", () => {
    let folder: string;
    let server: Server;
    let url: string;

    beforeAll(async () => {
        folder = mkdtempSync(join(tmpdir(), "secrets-"));
        // Some proxies show in their answers what they were asked.
        server = createServer((request, response) => {
            let body = "";
            request.on("data", (chunk: Buffer) => (body += chunk.toString()));
            request.on("end", () => {
                const message = `cannot do this: ${JSON.stringify(request.headers)} ${body}`;
                response.writeHead(400, { "content-type": "application/json" });
                response.end(JSON.stringify({ kind: "Status", reason: "BadRequest", message }));
            });
        });
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    afterAll(() => {
        server.closeAllConnections();
        server.close();
        rmSync(folder, { recursive: true, force: true });
    });

    function kubeconfig(text: string): string {
        const path = join(folder, `${crypto.randomUUID()}.kubeconfig`);
        writeFileSync(path, text, { mode: 0o600 });
        return path;
    }

    it.each([
        ["whose indentation is wrong", `users:\n- name: a\n  user:\n    token: ${jwt}\n   bad: [`],
        ["whose quotes are not closed", `users:\n- name: a\n  user: {token: "${password}\n`],
        ["that is a key", pem],
        ["with a tab", `users:\n- name: a\n  user:\n\ttoken: ${password}\n`],
        ["with an unknown alias", `users: *x\ntoken: ${password}\n`],
        ["with two documents", `token: ${password}\n---\ntoken: ${password}\n`],
    ])("a kubeconfig %s", (_name, text) => {
        const path = kubeconfig(text);
        try {
            createKubeClients({ kubeconfig: path, userAgent: "test/0" }).close();
        } catch (error) {
            expectNoSecret(messageOf(error));
            expect(messageOf(error)).toMatch(/kubeconfig/);
            const log = new MemoryLog();
            log.logger.error("failed", { error });
            expectNoSecret(JSON.stringify(log.records));
            return;
        }
        throw new Error("it was read");
    });

    it("requests to a server that answers with what it was sent, and tokens shown at /metrics", async () => {
        const path = kubeconfig(
            JSON.stringify({
                apiVersion: "v1",
                kind: "Config",
                "current-context": "c",
                clusters: [{ name: "c", cluster: { server: url, "insecure-skip-tls-verify": true } }],
                users: [{ name: "u", user: { token: jwt } }],
                contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
            }),
        );
        const log = new MemoryLog("trace");
        using clients = createKubeClients({ kubeconfig: path, userAgent: "test/0" });
        const failure: unknown = await clients.api.get(nodes, { name: "a" }).catch((error: unknown) => error);
        expect(messageOf(failure)).toContain("BadRequest");
        log.logger.warn("could not ask", { error: failure, reason: messageOf(failure) });

        const { authorize } = new TokenReviewAuthorizer({ api: clients.api }, { path: "/metrics" });
        const health = new DaemonServer(
            { logger: log.logger, metrics: new Metrics({ processMetrics: false }), authorize },
            { name: "test", port: 0, host: "127.0.0.1" },
        );
        await health.start();
        try {
            for (const token of [jwt, password]) {
                const answer = await getLocal(health.port, "/metrics", token);
                expect(answer.status).toBe(503);
                expectNoSecret(answer.text);
            }
        } finally {
            await health.stop();
        }
        const messages = log.messages("warn");
        expect(messages).toEqual(["could not ask", ...Array(2).fill("the token could not be checked")]);
        expectNoSecret(JSON.stringify(log.records));
    });
});
