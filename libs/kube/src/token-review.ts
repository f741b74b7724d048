import { createHash } from "node:crypto";
import { systemClock, type Clock } from "@antrea/async";
import { type ApiClient } from "./api/client.ts";
import { subjectAccessReviews, tokenReviews } from "./api/resources.ts";
import { type SubjectAccessReview, type TokenReview } from "./api/types.ts";

export interface TokenReviewOptions {
    /** Besides being known, the token's owner must be allowed to GET this path (a nonResourceURL). Default: not asked. */
    readonly path?: string;
    /** Audiences of which the token must name one. Default: the API server's own. */
    readonly audiences?: readonly string[];
    /** How long an answer is remembered. Defaults 60 s for yes, 10 s for no. */
    readonly allowedTtlMs?: number;
    readonly refusedTtlMs?: number;
}

const maxRemembered = 1_000;
const maxTokenBytes = 16_384;

/** Decides whether the bearer of a token may read something of ours, by asking the API server. */
export class TokenReviewAuthorizer {
    readonly #api: Pick<ApiClient, "create">;
    readonly #clock: Clock;
    readonly #options: TokenReviewOptions;
    readonly #remembered = new Map<string, { readonly allowed: boolean; readonly untilMs: number }>();

    constructor(
        components: { readonly api: Pick<ApiClient, "create">; readonly clock?: Clock },
        options: TokenReviewOptions = {},
    ) {
        this.#api = components.api;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
    }

    /** Rejects with a KubeError if the API server cannot be asked. Tokens are kept only as a digest. */
    readonly authorize = async (token: string): Promise<boolean> => {
        if (token === "" || token.length > maxTokenBytes) return false;
        const key = createHash("sha256").update(token).digest("base64");
        const known = this.#remembered.get(key);
        if (known !== undefined && known.untilMs > this.#clock.monotonic()) return known.allowed;
        const allowed = await this.#ask(token);
        const ttlMs = allowed ? (this.#options.allowedTtlMs ?? 60_000) : (this.#options.refusedTtlMs ?? 10_000);
        this.#remembered.delete(key);
        this.#remembered.set(key, { allowed, untilMs: this.#clock.monotonic() + ttlMs });
        if (this.#remembered.size > maxRemembered) {
            this.#remembered.delete(this.#remembered.keys().next().value ?? "");
        }
        return allowed;
    };

    async #ask(token: string): Promise<boolean> {
        const { audiences, path } = this.#options;
        const spec = { token, ...(audiences === undefined ? {} : { audiences }) };
        const review: TokenReview = await this.#api.create(tokenReviews, { spec }, { timeoutMs: 5_000 });
        if (review.status?.authenticated !== true) return false;
        if (path === undefined) return true;
        const { username = "", groups = [], uid, extra } = review.status.user ?? {};
        const question: SubjectAccessReview = {
            spec: {
                user: username,
                groups,
                ...(uid === undefined ? {} : { uid }),
                ...(extra === undefined ? {} : { extra }),
                nonResourceAttributes: { path, verb: "get" },
            },
        };
        const answer = await this.#api.create(subjectAccessReviews, question, { timeoutMs: 5_000 });
        return answer.status?.allowed === true;
    }
}
