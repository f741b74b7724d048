import { ipPoolSpec } from "@antrea/crd/schema";
import { decodeReview, encodeReview, ReviewError, type AdmissionRequest } from "@antrea/webhook/review";
import { routesOf } from "@antrea/webhook/routes";
import { isRecord, json, parsed } from "../fixture.ts";
import { BrokenProperty, type Target } from "../target.ts";
import { asWorkload, knownCluster, reviews } from "../webhook-cluster.ts";

const routes = routesOf(knownCluster());
const { signal } = new AbortController();

/** The webhook's decisions on objects that match their schema, as the API server sends no others. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    bytesPerByte: 8_192,
    seeds: () => reviews.map((review) => json(review)),
    tokens: [
        "10.1.0.0/24",
        "10.1.0.5-10.1.0.9",
        "fd00::/64",
        "pool-a",
        "pool-a,pool-6",
        "10.1.0.5,fd00::9",
        "::ffff:10.1.0.5",
    ],
    run: async (input) => {
        const request = admitted(decodeReview(parsed(input)));
        if (request === undefined) return;
        for (const { review } of routes) {
            const { response } = encodeReview(request.uid, await review(request, signal)) as {
                response: { status?: { message: string }; warnings?: string[] };
            };
            const texts = [...(response.warnings ?? []), response.status?.message ?? ""];
            // The API server would garble a warning with line breaks, or truncate a long one.
            if (response.warnings?.some((text) => /[\r\n]/.test(text)) === true) {
                throw new BrokenProperty(`a warning has more than a line: ${json(texts)}`);
            }
        }
    },
    isRefusal: (error) => error instanceof ReviewError && error.fault === "remote",
};

/** The request with its objects as their schemas prune them; undefined for an IPPool that would be rejected earlier. */
function admitted(request: AdmissionRequest): AdmissionRequest | undefined {
    const { object, oldObject, kind } = request;
    if (kind !== "IPPool") {
        return { ...request, object: object && asWorkload(object), oldObject: oldObject && asWorkload(oldObject) };
    }
    const isPool = (pool: unknown): boolean =>
        isRecord(pool) &&
        isRecord(pool.metadata) &&
        typeof pool.metadata.name === "string" &&
        ipPoolSpec.safeParse(pool.spec).success;
    const needed =
        request.operation === "CREATE" ? [object] : request.operation === "DELETE" ? [oldObject] : [object, oldObject];
    return needed.every(isPool) ? request : undefined;
}
