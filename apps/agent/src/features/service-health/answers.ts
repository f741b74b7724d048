import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Family } from "@antrea/ip";
import { refOf } from "@antrea/kube";

/** The health of a proxy on this Node, as kube-proxy 1.36 reports it. */
export interface ProxyHealth {
    /** Whether changes of Services get into OVS in time. */
    readonly isHealthy: boolean;
    /** False: the Node is going, so that load balancers should send it no new connections. */
    readonly isEligible: boolean;
    /** When OVS got a change last, in milliseconds since 1970; undefined: not yet. */
    readonly syncedAt: number | undefined;
    readonly families: readonly Family[];
    /** Milliseconds since 1970. */
    readonly now: number;
}

/** Time zero of kube-proxy's language. */
const never = "0001-01-01T00:00:00Z";

/**
 * Answers what a load balancer asks at the health check node port of a Service: 200 if the Node has ready endpoints and the
 * proxy is healthy, else 503, with their number in the JSON of kube-proxy and as weight. Any path and method will do.
 *
 * @param state read at each request
 */
export function answerService(
    key: string,
    state: () => { readonly localEndpoints: number; readonly isHealthy: boolean },
): RequestListener {
    return (_, response) => {
        const { localEndpoints, isHealthy } = state();
        const body = { service: refOf(key), localEndpoints, serviceProxyHealthy: isHealthy };
        response.setHeader("X-Load-Balancing-Endpoint-Weight", String(localEndpoints));
        send(response, localEndpoints > 0 && isHealthy ? 200 : 503, JSON.stringify(body, undefined, "\t"));
    };
}

/**
 * Answers `/healthz`, which a Node that is going fails, and `/livez`, which it does not, in the JSON of kube-proxy; 404 for
 * other paths.
 *
 * @param health read at each request
 */
export function answerProxy(health: () => ProxyHealth): RequestListener {
    return (request, response) => {
        const path = pathOf(request);
        if (path !== "/healthz" && path !== "/livez") {
            send(response, 404, "404 page not found\n", "text/plain; charset=utf-8");
            return;
        }
        const state = health();
        const isGood = state.isHealthy && (path === "/livez" || state.isEligible);
        send(response, isGood ? 200 : 503, JSON.stringify(proxyBody(state, path === "/healthz", isGood)));
    };
}

function proxyBody(
    { isHealthy, isEligible, syncedAt, families, now }: ProxyHealth,
    withNode: boolean,
    isGood: boolean,
): object {
    const synced = syncedAt === undefined ? never : timeOf(syncedAt);
    const status = families.map((family) => [`IPv${family}`, { lastUpdated: synced, healthy: isHealthy }]);
    return {
        // a healthy proxy is up to date, whenever it had to do something
        lastUpdated: isGood ? timeOf(now) : synced,
        currentTime: timeOf(now),
        ...(withNode && { nodeEligible: isEligible }),
        healthy: isHealthy,
        ...(syncedAt !== undefined && { status: Object.fromEntries(status) as unknown }),
    };
}

function send(response: ServerResponse, status: number, body: string, type = "application/json"): void {
    response.writeHead(status, {
        "Content-Type": type,
        "Content-Length": Buffer.byteLength(body),
        "X-Content-Type-Options": "nosniff",
    });
    response.end(body);
}

function pathOf({ url = "/" }: IncomingMessage): string | undefined {
    // only the path is used; URL.parse needs a host
    return URL.parse(url, "http://localhost")?.pathname;
}

function timeOf(ms: number): string {
    return new Date(ms).toISOString();
}
