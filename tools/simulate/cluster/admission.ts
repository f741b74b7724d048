import { Refusal } from "../api/answer.ts";
import { type Write } from "../api/rules.ts";
import { type Counters } from "../check/counters.ts";
import { type Gateways } from "../check/gateways.ts";
import { type Webhook } from "./webhook.ts";

export interface AdmissionComponents {
    /** The running webhook, if any. */
    readonly webhook: () => Webhook | undefined;
    readonly gateways: Gateways;
    readonly counters: Counters;
}

const reviewMs = { ippools: 5_000, networks: 5_000, others: 2_000 } as const;

/** The webhook configurations of the chart: which writes are reviewed, for how long, and whether failures reject them. */
export class Admission {
    readonly #components: AdmissionComponents;

    constructor(components: AdmissionComponents) {
        this.#components = components;
    }

    /** Undefined: the write is not reviewed. Rejects with a Refusal if it is not allowed. */
    review(write: Write): Promise<void> | undefined {
        const { plural } = write.kind.resource;
        const isPool = plural === "ippools" && write.subresource === "";
        const isWorkload =
            (plural === "pods" && write.operation === "CREATE") ||
            (["statefulsets", "deployments", "namespaces"].includes(plural) &&
                write.operation !== "DELETE" &&
                write.subresource === "");
        const isNetwork = plural === "network-attachment-definitions" && write.operation !== "DELETE";
        if (!isPool && !isWorkload && !isNetwork) return undefined;
        if (write.operation === "UPDATE" && (isPool || isNetwork) && sameSpec(write)) return undefined;
        return this.#ask(write, {
            mustAnswer: isPool,
            limitMs: reviewMs[isPool ? "ippools" : isNetwork ? "networks" : "others"],
        });
    }

    async #ask(
        write: Write,
        { mustAnswer, limitMs }: { readonly mustAnswer: boolean; readonly limitMs: number },
    ): Promise<void> {
        const { counters, gateways } = this.#components;
        const webhook = this.#components.webhook();
        const limit = AbortSignal.timeout(limitMs);
        const late = new Promise<never>((_, reject) =>
            limit.addEventListener("abort", () => reject(new Refusal(500, "failed calling webhook: timeout")), {
                once: true,
            }),
        );
        late.catch(() => undefined);
        const allowed = gateways.judged(write);
        try {
            if (webhook === undefined) throw new Refusal(500, "failed calling webhook: no endpoints");
            const { refused } = await Promise.race([webhook.review(write, limit), late]);
            counters.count(refused === undefined ? "review.allowed" : "review.refused");
            if (refused !== undefined) throw new Denied(refused.reason === "Forbidden" ? 403 : 422, refused.message);
            allowed?.();
        } catch (error) {
            if (error instanceof Denied) throw error;
            counters.count("review.unanswered");
            if (mustAnswer) throw new Refusal(500, `failed calling webhook: ${(error as Error).message}`);
        }
    }
}

class Denied extends Refusal {}

function sameSpec({ before, after }: Write): boolean {
    const spec = (object: unknown): string => JSON.stringify((object as { readonly spec?: unknown }).spec);
    return spec(before) === spec(after);
}
