import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One request as the API server's audit log has it (audit.k8s.io/v1 Event), what of it is looked at. */
interface AuditEvent {
    readonly verb: string;
    readonly user: { readonly username: string };
    readonly objectRef?: { readonly apiGroup?: string; readonly resource?: string; readonly subresource?: string };
    readonly responseStatus?: { readonly code?: number; readonly message?: string };
}

/** A request of one of our accounts and what came of it. */
export interface AuditedRequest {
    readonly account: string;
    readonly verb: string;
    readonly group: string;
    /** With its subresource. */
    readonly resource: string;
    readonly code: number;
    readonly message: string;
}

/** Has kube-apiserver write down every request of the ServiceAccounts of a Namespace. */
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

    /** Options of kube-apiserver. */
    get args(): readonly string[] {
        const file = (name: string): string => join(this.#folder, name);
        return [
            `--audit-policy-file=${file("policy.json")}`,
            `--audit-log-path=${file("audit.log")}`,
            "--audit-log-mode=blocking",
        ];
    }

    /** What was asked so far. */
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
