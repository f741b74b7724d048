import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One request in the API server's audit log (audit.k8s.io/v1 Event), the fields in use. */
interface AuditEvent {
    readonly verb: string;
    readonly user: { readonly username: string };
    readonly objectRef?: { readonly apiGroup?: string; readonly resource?: string; readonly subresource?: string };
    readonly responseStatus?: { readonly code?: number; readonly message?: string };
}

/** A request of one of Antrea's accounts and its result. */
export interface AuditedRequest {
    readonly account: string;
    readonly verb: string;
    readonly group: string;
    /** With its subresource. */
    readonly resource: string;
    readonly code: number;
    readonly message: string;
}

/** Makes kube-apiserver log every request of the ServiceAccounts of a Namespace. */
export class AuditLog implements Disposable {
    readonly #folder: string;
    readonly #prefix: string;

    constructor(options: { readonly namespace: string; readonly accounts: readonly string[] }) {
        this.#prefix = `system:serviceaccount:${options.namespace}:`;
        this.#folder = mkdtempSync(join(tmpdir(), "audit-"));
        const users = options.accounts.map((account) => `${this.#prefix}${account}`);
        const policy = {
            apiVersion: "audit.k8s.io/v1",
            kind: "Policy",
            omitStages: ["RequestReceived"],
            rules: [{ level: "Metadata", users }, { level: "None" }],
        };
        writeFileSync(join(this.#folder, "policy.json"), JSON.stringify(policy));
    }

    /** Arguments of kube-apiserver. */
    get args(): readonly string[] {
        const file = (name: string): string => join(this.#folder, name);
        return [
            `--audit-policy-file=${file("policy.json")}`,
            `--audit-log-path=${file("audit.log")}`,
            "--audit-log-mode=blocking",
        ];
    }

    /** The requests so far. */
    requests(): readonly AuditedRequest[] {
        return readFileSync(join(this.#folder, "audit.log"), "utf8")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => {
                const { verb, user, objectRef = {}, responseStatus = {} } = JSON.parse(line) as AuditEvent;
                const { apiGroup = "", resource = "", subresource } = objectRef;
                return {
                    account: user.username.slice(this.#prefix.length),
                    verb,
                    group: apiGroup,
                    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
                    code: responseStatus.code ?? 0,
                    message: responseStatus.message ?? "",
                };
            });
    }

    [Symbol.dispose](): void {
        rmSync(this.#folder, { recursive: true, force: true });
    }
}
