import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent as HttpsAgent } from "node:https";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { Credentials, type CredentialOptions } from "../../src/api/credentials.ts";
import { socketAddress } from "../../src/api/transport.ts";

const inPod = existsSync("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
const folder = mkdtempSync(join(tmpdir(), "credentials-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "kubeconfig");

interface Parts {
    readonly cluster?: object;
    readonly user?: object;
    readonly namespace?: string;
    readonly current?: string;
}

function load(
    { cluster = {}, user = {}, namespace, current = "c" }: Parts,
    options: Partial<CredentialOptions> = {},
): Credentials {
    const config = {
        "current-context": current,
        clusters: [
            { name: "c", cluster: { server: "https://api:6443", ...cluster } },
            { name: "other", cluster: { server: "https://other:6443" } },
        ],
        users: [{ name: "u", user }],
        contexts: [
            { name: "c", context: { cluster: "c", user: "u", namespace } },
            { name: "other", context: { cluster: "other", user: "u" } },
            { name: "lost", context: { cluster: "nowhere", user: "u" } },
        ],
    };
    writeFileSync(file, JSON.stringify(config));
    return Credentials.load({ kubeconfig: file, ...options });
}

/** What an agent of Node.js was made with, which its type does not show. */
const optionsOf = (agent: object): unknown => (agent as { readonly options?: unknown }).options;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("Credentials of a kubeconfig", () => {
    it("gives address, TLS and the header of a token", async () => {
        const credentials = load({
            cluster: { "certificate-authority-data": base64("CA"), "tls-server-name": "kubernetes" },
            user: { token: "t" },
        });
        const { server, headers, agent, streamAgent } = await credentials.connection();
        expect(server.href).toBe("https://api:6443/");
        expect(headers).toEqual({ Authorization: "Bearer t" });
        expect(agent).toBeInstanceOf(HttpsAgent);
        const tls = { ca: Buffer.from("CA"), servername: "kubernetes", keepAlive: true, timeout: 60_000 };
        expect(optionsOf(agent)).toMatchObject({ ...tls, maxSockets: 32 });
        expect(optionsOf(streamAgent)).toMatchObject({ ...tls, maxSockets: Infinity });
        credentials.close();
    });

    it("uses a client's certificate, and as many connections as allowed", async () => {
        const user = { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") };
        const credentials = load({ user, cluster: { "insecure-skip-tls-verify": true } }, { maxConnections: 3 });
        const { agent, headers } = await credentials.connection();
        expect(optionsOf(agent)).toMatchObject({
            cert: Buffer.from("CERT"),
            key: Buffer.from("KEY"),
            rejectUnauthorized: false,
            maxSockets: 3,
        });
        expect(headers).toEqual({});
        credentials.close();
    });

    it("sends user name and password", async () => {
        const credentials = load({ user: { username: "me", password: "ü" } });
        const { headers } = await credentials.connection();
        expect(headers).toEqual({ Authorization: `Basic ${base64("me:ü")}` });
        credentials.close();
    });

    it.each([
        ["10.0.0.1:443", "https://10.0.0.1/"],
        ["https://10.0.0.1:6443/base/", "https://10.0.0.1:6443/base"],
        ["", "https://api:6443/"],
    ])("reaches the server at %p instead, where that is set", async (apiServerOverride, href) => {
        const credentials = load({ user: { token: "t" } }, { apiServerOverride });
        const { server, headers } = await credentials.connection();
        expect(server.href).toBe(href);
        expect(headers).toEqual({ Authorization: "Bearer t" });
        credentials.close();
    });

    it.each([
        ["10.0.0.1", "10.0.0.1", 443],
        ["api.example.org:6443", "api.example.org", 6443],
        ["[fd00::1]", "fd00::1", 443],
        ["http://[fd00::1]/", "fd00::1", 80],
        ["https://[fd00::1]:6443/", "fd00::1", 6443],
    ])("reads the address %p", async (apiServerOverride, host, port) => {
        const credentials = load({ cluster: { "insecure-skip-tls-verify": true } }, { apiServerOverride });
        const { server } = await credentials.connection();
        expect(socketAddress(server)).toEqual({ host, port });
        expect(server.protocol).toBe(apiServerOverride.startsWith("http:") ? "http:" : "https:");
        credentials.close();
    });

    it("speaks plain HTTP only where nobody asks for TLS to be checked", async () => {
        const server = "http://10.0.0.1:8080";
        await expect(load({ cluster: { server } }).connection()).rejects.toMatchObject({ code: "BAD_CONFIG" });
        const credentials = load({ cluster: { server, "insecure-skip-tls-verify": true } });
        const { agent } = await credentials.connection();
        expect(agent).not.toBeInstanceOf(HttpsAgent);
        expect(optionsOf(agent)).toMatchObject({ keepAlive: true, maxSockets: 32 });
        credentials.close();
    });

    it("leaves the other clusters where they are", async () => {
        const credentials = load({}, { apiServerOverride: "10.0.0.1:443", context: "other" });
        expect((await credentials.connection()).server.href).toBe("https://10.0.0.1/");
        expect((await load({}, { context: "other" }).connection()).server.href).toBe("https://other:6443/");
        expect((await load({}, { context: "" }).connection()).server.href).toBe("https://api:6443/");
    });

    it.each(["ftp://10.0.0.1", "a b", "https://", "fd00::1", "ftp://[fd00::1]"])(
        "refuses the address %p",
        (apiServerOverride) => {
            expect(() => load({}, { apiServerOverride })).toThrow(
                expect.objectContaining({
                    code: "BAD_CONFIG",
                    message: expect.stringContaining(`"${apiServerOverride}"`),
                }),
            );
        },
    );

    it("refuses a context whose cluster is not there", () => {
        expect(() => load({}, { context: "lost" })).toThrow(
            expect.objectContaining({
                code: "BAD_CONFIG",
                message: "the kubeconfig: the current context names no cluster; set current-context",
            }),
        );
    });

    it("has the namespace of the context", () => {
        expect(load({ namespace: "here" }).namespace).toBe("here");
        if (inPod) return;
        expect(load({ namespace: "here" }, { context: "other" }).namespace).toBeUndefined();
        expect(load({ namespace: "" }).namespace).toBeUndefined();
    });

    describe("whose token comes from a program", () => {
        const count = join(folder, "count");
        const plugin = join(folder, "plugin");
        const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin };
        // A token that has run out each time, so that whoever reads gets the next.
        const answer = '{"kind":"ExecCredential","status":{"token":"%s","expirationTimestamp":"2001-01-01T00:00:00Z"}}';
        const write = (rest: string): void => {
            writeFileSync(plugin, `#!/bin/sh\necho x >>${count}\n${rest}\n`, { mode: 0o755 });
        };
        beforeEach(() => {
            writeFileSync(count, "");
            write(`printf '${answer}' $(wc -l <${count})`);
        });
        const tokenOf = async (credentials: Credentials): Promise<unknown> =>
            (await credentials.connection()).headers.Authorization;

        it("asks it once for all who wait, and again after the server refused the token, on the same connections", async () => {
            const credentials = load({ user: { exec } });
            const [first, second] = await Promise.all([credentials.connection(), credentials.connection()]);
            expect(second).toBe(first);
            expect(await credentials.connection()).toBe(first);
            expect(first.headers).toEqual({ Authorization: "Bearer 1" });
            credentials.refused();
            const third = await credentials.connection();
            expect(third.headers).toEqual({ Authorization: "Bearer 2" });
            expect(third.agent).toBe(first.agent);
            credentials.close();
        });

        it("keeps the token it has while the program fails, and reports it where it has none", async () => {
            const credentials = load({ user: { exec } });
            expect(await tokenOf(credentials)).toBe("Bearer 1");
            write("exit 1");
            credentials.refused();
            expect(await tokenOf(credentials)).toBe("Bearer 1");
            credentials.close();
            const failing = load({ user: { exec } });
            await expect(failing.connection()).rejects.toMatchObject({
                code: "BAD_CONFIG",
                message: expect.stringMatching(/^cannot use the API server's credentials: /),
            });
            write(`printf '${answer}' later`);
            expect(await tokenOf(failing)).toBe("Bearer later");
            failing.close();
        });
    });

    it("makes new connections after it was closed", async () => {
        const credentials = load({ user: { token: "t" } });
        const { agent } = await credentials.connection();
        credentials.close();
        const again = await credentials.connection();
        expect(again.agent).not.toBe(agent);
        credentials.close();
    });

    it("makes new connections for a new certificate of the server's authority", async () => {
        const ca = join(folder, "ca.crt");
        writeFileSync(ca, "old");
        const credentials = load({ cluster: { "certificate-authority": ca } });
        const { agent } = await credentials.connection();
        writeFileSync(ca, "new");
        expect((await credentials.connection()).agent).toBe(agent);
        credentials.refused();
        const { agent: renewed } = await credentials.connection();
        expect(renewed).not.toBe(agent);
        expect(optionsOf(renewed)).toMatchObject({ ca: Buffer.from("new") });
        credentials.close();
    });

    it("closes at the end those of earlier certificates, too", async () => {
        const ca = join(folder, "ca.crt");
        const credentials = load({ cluster: { "certificate-authority": ca } });
        const watches: Socket[] = [];
        for (const each of ["first", "second", "third"]) {
            writeFileSync(ca, each);
            credentials.refused();
            const { streamAgent } = await credentials.connection();
            const watch = new Socket();
            Object.assign(streamAgent.sockets, { api: [watch] });
            watches.push(watch);
        }
        expect(watches.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
        credentials.close();
        expect(watches.map(({ destroyed }) => destroyed)).toEqual([true, true, true]);
    });
});

describe("Credentials of a Pod", () => {
    const names = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] as const;
    const before = names.map((name) => process.env[name]);
    const set = (values: readonly (string | undefined)[]): void => {
        names.forEach((name, at) => {
            const value = values[at];
            if (value === undefined) delete process.env[name];
            else process.env[name] = value;
        });
    };
    afterEach(() => set(before));

    it.each([
        ["neither", [undefined, undefined]],
        ["no port", ["10.96.0.1", undefined]],
        ["no host", [undefined, "443"]],
    ])("are refused outside of a Pod: %s is set", (_name, values) => {
        set(values);
        for (const kubeconfig of [undefined, "", []]) {
            expect(() => Credentials.load({ kubeconfig })).toThrow(
                expect.objectContaining({ code: "BAD_CONFIG", message: expect.stringContaining("not in a Pod") }),
            );
        }
    });

    it("cannot be used while the files of the service account are missing", async () => {
        if (inPod) return;
        set(["fd00::1", "443"]);
        const credentials = Credentials.load({});
        await expect(credentials.connection()).rejects.toMatchObject({
            code: "BAD_CONFIG",
            message: expect.stringContaining("/var/run/secrets/kubernetes.io/serviceaccount/"),
        });
    });
});
