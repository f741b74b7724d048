import { randomUUID } from "node:crypto";
import { Agent, request } from "node:https";
import { type IpPool } from "@antrea/crd";
import { BenchError } from "../error.ts";

/** The webhook's answer for one object. */
export interface Answer {
    readonly allowed: boolean;
    readonly ms: number;
}

/** Calls the webhook as an API server does: AdmissionReviews over HTTPS on a persistent connection. */
export class WebhookClient implements Disposable {
    readonly #port: number;
    // The certificate is not verified: it is not under test here.
    readonly #agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });

    constructor(options: { readonly port: number }) {
        this.#port = options.port;
    }

    /** Requests a review of creating an IPPool, or of updating it from `old`. */
    async review(pool: IpPool, old?: IpPool): Promise<Answer> {
        const body = JSON.stringify(reviewOf(pool, old));
        const begin = performance.now();
        const { status, text } = await this.#post("/validate/ippool?timeout=10s", body);
        const ms = performance.now() - begin;
        if (status !== 200)
            throw new BenchError("CALL_FAILED", "environment", `the webhook answered ${status}: ${text}`);
        const { response } = JSON.parse(text) as { readonly response: { readonly allowed: boolean } };
        return { allowed: response.allowed, ms };
    }

    [Symbol.dispose](): void {
        this.#agent.destroy();
    }

    #post(path: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
        const { promise, resolve, reject } = Promise.withResolvers<{
            readonly status: number;
            readonly text: string;
        }>();
        const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
        const options = { host: "127.0.0.1", port: this.#port, method: "POST", path, agent: this.#agent, headers };
        const outgoing = request(options, (response) => {
            const chunks: Buffer[] = [];
            response.on("data", (chunk: Buffer) => chunks.push(chunk));
            response.on("end", () => {
                resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") });
            });
            response.on("error", reject);
        });
        outgoing.on("error", reject);
        outgoing.end(body);
        return promise;
    }
}

function reviewOf(pool: IpPool, old: IpPool | undefined): unknown {
    const typeMeta = { apiVersion: "crd.antrea.io/v1alpha2", kind: "IPPool" };
    const kind = { group: "crd.antrea.io", version: "v1alpha2", kind: "IPPool" };
    const resource = { group: "crd.antrea.io", version: "v1alpha2", resource: "ippools" };
    return {
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        request: {
            uid: randomUUID(),
            kind,
            resource,
            requestKind: kind,
            requestResource: resource,
            name: pool.metadata?.name,
            operation: old === undefined ? "CREATE" : "UPDATE",
            userInfo: { username: "bench", groups: ["system:authenticated"] },
            object: { ...typeMeta, ...pool },
            oldObject: old === undefined ? null : { ...typeMeta, ...old },
            dryRun: false,
            options: { apiVersion: "meta.k8s.io/v1", kind: old === undefined ? "CreateOptions" : "UpdateOptions" },
        },
    };
}
