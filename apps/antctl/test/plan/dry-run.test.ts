import { describe, expect, it } from "@jest/globals";
import { KubeError, type KubeErrorCode } from "@antrea/kube";
import { tryOnServer } from "../../src/plan/dry-run.ts";
import { web } from "../support/objects.ts";

interface Request {
    readonly method: string;
    readonly path: string;
    readonly body?: string | undefined;
}

describe("tryOnServer", () => {
    it("creates a pool that is not there, without storing it", async () => {
        const seen: Request[] = [];
        const api = { request: async (request: Request) => void seen.push(request) };
        expect(await tryOnServer(api, web, undefined, 1_000)).toEqual({ answer: "accepted" });
        expect(seen).toEqual([
            {
                method: "POST",
                path: "/apis/crd.antrea.io/v1alpha2/ippools?dryRun=All&fieldManager=antctl&fieldValidation=Strict",
                body: JSON.stringify(web),
            },
        ]);
    });

    it("replaces the spec of one that is there and keeps what others wrote on it", async () => {
        const seen: Request[] = [];
        const api = { request: async (request: Request) => void seen.push(request) };
        const metadata = { name: "web", uid: "u", resourceVersion: "7", labels: { a: "1", b: "1" } };
        const planned = { ...web, metadata: { name: "web", labels: { b: "2" } } };
        await tryOnServer(api, planned, { ...web, metadata, spec: { ipVersion: 4, ipRanges: [] } }, 1_000);
        expect(seen[0]).toMatchObject({
            method: "PUT",
            path: expect.stringMatching(/^\/apis\/crd.antrea.io\/v1alpha2\/ippools\/web\?dryRun=All&/),
        });
        expect(JSON.parse(seen[0]?.body ?? "")).toMatchObject({
            metadata: { ...metadata, labels: { a: "1", b: "2" } },
            spec: web.spec,
        });
    });

    const rejection = (message: string): string => `POST /apis/x?y: the API server answered 403 Forbidden: ${message}`;
    it.each<[string, KubeErrorCode, string, object]>([
        [
            "a webhook that denies",
            "FORBIDDEN",
            rejection('admission webhook "ippools.antrea.io" denied the request: no'),
            { answer: "refused", message: 'admission webhook "ippools.antrea.io" denied the request: no' },
        ],
        ["the schema", "INVALID", rejection("spec is wrong"), { answer: "refused", message: "spec is wrong" }],
        [
            "missing permission",
            "FORBIDDEN",
            rejection('ippools.crd.antrea.io is forbidden: User "u" cannot create resource "ippools"'),
            { answer: "none", message: "you may not create or change IPPools" },
        ],
        [
            "a webhook that is away",
            "SERVER_ERROR",
            rejection("failed calling webhook"),
            { answer: "none", message: "failed calling webhook" },
        ],
        [
            "no answer",
            "TIMEOUT",
            "POST /apis/x?y: no answer within 1000 ms",
            { answer: "none", message: "no answer within 1000 ms" },
        ],
    ])("reports %s", async (_name, code, message, outcome) => {
        const api = { request: async () => Promise.reject(new KubeError(code, message)) };
        expect(await tryOnServer(api, web, undefined, 1_000)).toEqual(outcome);
    });
});
