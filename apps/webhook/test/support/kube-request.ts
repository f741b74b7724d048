import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { type TestApiServer } from "@antrea/kube/testing";

export interface KubeAnswer {
    readonly status: number;
    /** The object, or the Status of a refusal. */
    readonly body: Readonly<Record<string, unknown>>;
    /** Of a Status. */
    readonly message: string;
    /** The texts of the Warning headers (RFC 9110 section 5.6.8, RFC 7234 section 5.5). */
    readonly warnings: readonly string[];
}

export interface KubeRequestOptions {
    readonly dryRun?: boolean;
    readonly contentType?: string;
}

/** Requests as kubectl sends them: with dry run, and with the warnings that come back. */
export class KubeRequests implements Disposable {
    readonly #agent: Agent;
    readonly #server: URL;
    readonly #token: string;

    constructor(server: TestApiServer) {
        const config = JSON.parse(readFileSync(server.kubeconfig(), "utf8")) as {
            readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
            readonly users: readonly { readonly user: { readonly token: string } }[];
        };
        const cluster = config.clusters[0]?.cluster ?? {};
        this.#server = new URL(cluster.server ?? "");
        this.#agent = new Agent({ keepAlive: true, ca: readFileSync(cluster["certificate-authority"] ?? "") });
        this.#token = config.users[0]?.user.token ?? "";
    }

    async send(method: string, path: string, body?: object, o: KubeRequestOptions = {}): Promise<KubeAnswer> {
        const { promise, resolve, reject } = Promise.withResolvers<KubeAnswer>();
        const url = new URL(path, this.#server);
        if (o.dryRun === true) url.searchParams.set("dryRun", "All");
        const text = body === undefined ? "" : JSON.stringify(body);
        const headers = {
            "content-length": Buffer.byteLength(text),
            authorization: `Bearer ${this.#token}`,
            "content-type": o.contentType ?? "application/json",
        };
        request(url, { method, headers, agent: this.#agent }, (response) => {
            let answer = "";
            response.setEncoding("utf8");
            response.on("data", (chunk: string) => (answer += chunk));
            response.on("end", () => {
                // Errors before the API handlers are plain text.
                const object = (
                    answer.startsWith("{") ? JSON.parse(answer) : { kind: "Status", message: answer }
                ) as Readonly<Record<string, unknown>>;
                const warnings = (response.headersDistinct.warning ?? []).flatMap(
                    (line) => line.match(/(?<=^299 - ").*(?="$)/g) ?? [],
                );
                const message = object.kind === "Status" ? String(object.message ?? "") : "";
                resolve({
                    status: response.statusCode ?? 0,
                    body: object,
                    message,
                    warnings: warnings.map((line) => line.replaceAll('\\"', '"')),
                });
            });
        })
            .on("error", reject)
            .end(text);
        return promise;
    }

    [Symbol.dispose](): void {
        this.#agent.destroy();
    }
}
