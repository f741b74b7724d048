import { createHash } from "node:crypto";
import { systemClock, type Clock } from "@antrea/async";
import { type ApiClient } from "./api/client.ts";
import { subjectAccessReviews, tokenReviews } from "./api/resources.ts";
import { type SubjectAccessReview, type TokenReview } from "./api/types.ts";

/** Options of TokenReviewAuthorizer: what the bearer must be allowed, and how long answers are cached. */
export interface TokenReviewOptions {
    /** A nonResourceURL that the bearer must be allowed to GET. Default: any authenticated bearer is allowed. */
    readonly path?: string;
    /** Audiences, of which the token must have one. Default: the API server's own. */
    readonly audiences?: readonly string[];
    /** How long an answer is cached, in milliseconds. Defaults: 60,000 if allowed, 10,000 if refused. */
    readonly allowedTtlMs?: number;
    readonly refusedTtlMs?: number;
}

const maxRemembered = 1_000;
const maxTokenBytes = 16_384;

/**
 * Decides whether the bearer of a token is allowed, by TokenReview and SubjectAccessReview, which `api` must be
 * permitted to create. Caches 1000 answers by digest of the token: a permission that is withdrawn is effective after
 * `allowedTtlMs`.
 */
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

    /**
     * Returns whether the bearer is allowed; false for an empty token or one of more than 16,384 characters. Rejects
     * with KubeError if the API server does not answer or refuses the review; then nothing is cached.
     */
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
