import { type IncomingMessage, type ServerResponse } from "node:http";
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from "express";
import { isAborted, messageOf } from "@antrea/errors";
import { type Logger } from "@antrea/runtime";
import { decodeReview, encodeReview, ReviewError, type AdmissionRequest, type Decision } from "./admission-review.ts";
import { ByteBudget } from "./byte-budget.ts";
import { type ReviewMetrics } from "./metrics.ts";

/**
 * Decides about one request. Rejects if it cannot: the API server then applies the webhook's failurePolicy. The signal
 * aborts when the client no longer waits, or its time limit is over.
 */
export type Reviewer = (request: AdmissionRequest, signal: AbortSignal) => Promise<Decision>;

/** One webhook path and its reviewer, for `reviewApp`. */
export interface ReviewRoute {
    /** The path of the HTTP request, without query: `/validate/…` */
    readonly path: string;
    /** The webhook's label in metrics. */
    readonly webhook: string;
    /**
     * The kinds that it reviews, as metric labels; requests of others reach the reviewer too and are counted as
     * `other`.
     */
    readonly kinds: readonly string[];
    readonly review: Reviewer;
}

/** Dependencies of `reviewApp`. */
export interface ReviewComponents {
    readonly logger: Logger;
    readonly metrics: ReviewMetrics;
}

// The API server accepts objects of up to 3 MiB; an update contains two, and the stored one may be longer in JSON than
// in the request.
const maxBodyBytes = 8 << 20;
const maxBytesInFlight = 64 << 20;
const defaultTimeoutMs = 10_000;

/**
 * The HTTP application of the webhooks: each path accepts AdmissionReviews (v1) by POST and answers with one; a refusal
 * is logged. Other answers are a text: 503 if the reviewer rejects (the API server then applies failurePolicy) or the
 * bodies in memory exceed 64 MiB, 4xx for an invalid request or a body above 8 MiB, 500 for an unexpected error. A
 * review lasts at most the query's `timeout` (`1s` to `99s`), else 10 s.
 */
export function reviewApp(
    components: ReviewComponents,
    routes: readonly ReviewRoute[],
): (request: IncomingMessage, response: ServerResponse) => void {
    const app = express();
    app.disable("x-powered-by");
    app.disable("etag");
    const limit = limited(new ByteBudget(maxBytesInFlight));
    const body = express.json({ limit: maxBodyBytes, type: "application/json", inflate: false });
    for (const route of routes) {
        app.post(route.path, limit, body, handler(components, route));
        app.all(route.path, (_request, response) => {
            respond(response.setHeader("allow", "POST"), 405, "use POST");
        });
    }
    app.use((_request, response) => respond(response, 404, `known are ${routes.map(({ path }) => path).join(", ")}`));
    app.use(failed(components.logger));
    return app;
}

// A body is read only if all bodies in progress fit into memory together.
function limited(budget: ByteBudget): RequestHandler {
    return (request, response, next) => {
        const length = Number(request.headers["content-length"]);
        if (!Number.isSafeInteger(length) || length < 0) return respond(response, 411, "Content-Length is needed");
        if (length > maxBodyBytes) return respond(response, 413, `the body must have at most ${maxBodyBytes} bytes`);
        if (request.is("application/json") === false)
            return respond(response, 415, "Content-Type must be application/json");
        const taken = budget.take(length);
        if (taken === undefined) return respond(response, 503, "too many requests at once; try again");
        response.once("close", () => taken[Symbol.dispose]());
        next();
    };
}

function handler({ logger, metrics }: ReviewComponents, route: ReviewRoute): RequestHandler {
    const kinds = new Set(route.kinds);
    return async (request, response) => {
        const began = performance.now();
        const review = decodeReview(request.body as unknown);
        const { webhook } = route;
        const labels = {
            webhook,
            kind: kinds.has(review.kind) ? review.kind : "other",
            operation: review.operation,
        };
        const gone = new AbortController();
        response.once("close", () => gone.abort());
        const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(timeoutMs(request))]);
        try {
            const decision = await route.review(review, signal);
            metrics.requests.inc({ ...labels, allowed: String(decision.refused === undefined) });
            response.json(encodeReview(review.uid, decision));
            if (decision.refused !== undefined)
                logger.info("admission rejected", { ...logFields(review), ...decision.refused });
        } catch (error) {
            metrics.requests.inc({ ...labels, allowed: "error" });
            if (gone.signal.aborted && isAborted(error)) return;
            logger.warn("admission not decided", { ...logFields(review), error });
            respond(response, 503, `cannot decide about this ${review.kind} now, try again: ${messageOf(error)}`);
        } finally {
            metrics.seconds.observe((performance.now() - began) / 1000, { webhook });
        }
    };
}

function logFields({ kind, namespace, name, operation, dryRun }: AdmissionRequest): Readonly<Record<string, unknown>> {
    return { kind, namespace, name, operation, dryRun };
}

/** The API server's timeout, which is in the query, in seconds. */
function timeoutMs(request: Request): number {
    const text = request.query.timeout;
    const seconds = typeof text === "string" ? /^([1-9]\d?)s$/.exec(text)?.[1] : undefined;
    return seconds === undefined ? defaultTimeoutMs : Number(seconds) * 1000;
}

function failed(logger: Logger): ErrorRequestHandler {
    return (error: unknown, _request, response: Response, next) => {
        if (response.headersSent) return next(error);
        if (error instanceof ReviewError) return respond(response, 400, error.message);
        const status = statusOf(error);
        if (status === undefined) logger.error("request failed", { error });
        respond(response, status ?? 500, status === undefined ? "internal error" : messageOf(error));
    };
}

// The 4xx status of an error of express or its body parser.
function statusOf(error: unknown): number | undefined {
    const status: unknown = typeof error === "object" && error !== null && "status" in error ? error.status : undefined;
    return typeof status === "number" && status >= 400 && status < 500 ? status : undefined;
}

function respond(response: Response, status: number, text: string): void {
    response.status(status).type("text/plain").send(`${text}\n`);
}
