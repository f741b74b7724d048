import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ObjectReader, pathOf } from "../fixture/objects.ts";

const pods = { path: "/api/v1", plural: "pods", namespaced: true };
const pools = { path: "/apis/crd.antrea.io/v1alpha2", plural: "ippools", namespaced: false };

describe("the path of a query", () => {
    it("is in the Namespace default, as with kubectl, unless there is another", () => {
        expect(pathOf(pods, { namespace: "a", labelSelector: "app=b,c in (d)" })).toBe(
            "/api/v1/namespaces/a/pods?labelSelector=app%3Db%2Cc+in+%28d%29",
        );
        expect(pathOf(pods, { name: "b" })).toBe("/api/v1/namespaces/default/pods/b");
        expect(pathOf(pools, { name: "b", namespace: "a" })).toBe("/apis/crd.antrea.io/v1alpha2/ippools/b");
    });

    it("is that of all Namespaces if they are asked for", () => {
        expect(pathOf(pods, { allNamespaces: true, fieldSelector: "spec.nodeName=c" })).toBe(
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dc",
        );
    });
});

describe("a reader of objects", () => {
    let folder: string;
    let pem: { readonly cert: string; readonly key: string };
    let server: Server;
    let reader: ObjectReader;
    /** Answers by path; one that is missing is 404. */
    let served: Record<string, unknown>;
    let asked: string[];
    /** What becomes of the next requests instead. */
    let faults: ("drop" | "hang")[];

    const group = (name: string, version: string, ...resources: object[]): object => ({
        metadata: name === "" ? {} : { name },
        versions: [{ version, resources }],
    });
    const resource = (plural: string, singular: string, scope = "Namespaced", ...shortNames: string[]): object => ({
        resource: plural,
        singularResource: singular,
        scope,
        shortNames,
    });

    beforeAll(() => {
        folder = mkdtempSync(join(tmpdir(), "objects-"));
        const [cert, key] = [join(folder, "cert"), join(folder, "key")];
        const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
        const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
        execFileSync("openssl", ["req", "-x509", ...newKey, ...names, "-keyout", key, "-out", cert], {
            stdio: "ignore",
        });
        pem = { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    beforeEach(async () => {
        [asked, faults] = [[], []];
        served = {
            "/api": {
                items: [group("", "v1", resource("pods", "pod", "Namespaced", "po"), resource("events", "event"))],
            },
            "/apis": { items: [group("events.k8s.io", "v1", resource("events", "event"))] },
            "/api/v1/namespaces/default/pods": { items: ["a"] },
        };
        server = createServer(pem, (request, response) => {
            const path = request.url ?? "";
            asked.push(path);
            const fault = faults.shift();
            if (fault === "drop") return void request.socket.destroy();
            if (fault === "hang") return;
            response.writeHead(path in served ? 200 : 404).end(JSON.stringify(served[path] ?? { reason: "NotFound" }));
        });
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
        reader = new ObjectReader({ server: url, ca: pem.cert, ...pem });
    });
    afterEach(() => {
        reader[Symbol.dispose]();
        server.closeAllConnections();
        server.close();
    });

    it("finds resources by each of their names, and discovers them once", async () => {
        for (const name of ["pods", "pod", "po"]) expect(await reader.get(name)).toEqual({ items: ["a"] });
        expect(asked.filter((path) => path.startsWith("/api/v1") !== true)).toEqual(["/api", "/apis"]);
    });

    it("takes of two with one name the first that is served, unless the group is named", async () => {
        served["/api/v1/namespaces/default/events"] = "core";
        served["/apis/events.k8s.io/v1/namespaces/default/events"] = "group";
        expect(await reader.get("events")).toBe("core");
        expect(await reader.get("events.events.k8s.io")).toBe("group");
    });

    it("discovers resources anew when it does not know one, and reports it if there is none", async () => {
        await reader.get("pods");
        served["/apis"] = { items: [group("crd.antrea.io", "v1", resource("ippools", "ippool", "Cluster"))] };
        served["/apis/crd.antrea.io/v1/ippools/p"] = "pool";
        expect(await reader.get("ippool", { name: "p" })).toBe("pool");
        await expect(reader.get("none")).rejects.toMatchObject({ code: "UNKNOWN_RESOURCE" });
    });

    it("discovers them anew when a list is gone, for it may be served in another version now", async () => {
        await reader.get("pods");
        served["/api"] = { items: [group("", "v2", resource("pods", "pod"))] };
        delete served["/api/v1/namespaces/default/pods"];
        served["/api/v2/namespaces/default/pods"] = "second version";
        expect(await reader.get("pods")).toBe("second version");
    });

    it("rejects with the status and the answer of the API server, without another request for an object", async () => {
        await reader.get("pods");
        asked = [];
        await expect(reader.get("pod", { name: "x" })).rejects.toMatchObject({
            code: 404,
            output: '{"reason":"NotFound"}',
        });
        expect(asked).toEqual(["/api/v1/namespaces/default/pods/x"]);
    });

    it("asks once more if the connection that it kept has broken", async () => {
        await reader.get("pods");
        asked = [];
        faults = ["drop"];
        expect(await reader.get("pods")).toEqual({ items: ["a"] });
        expect(asked).toHaveLength(2);
    });

    it("rejects if new connections break too", async () => {
        await reader.get("pods");
        faults = ["drop", "drop"];
        await expect(reader.get("pods")).rejects.toMatchObject({ code: "UNREACHABLE" });
    });

    it("gives up after the time limit, and does not ask again", async () => {
        await reader.get("pods");
        asked = [];
        faults = ["hang"];
        await expect(reader.get("pods", { timeoutMs: 1_000 })).rejects.toThrow(/its time limit/);
        expect(asked).toHaveLength(1);
    });
});
