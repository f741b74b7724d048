import { type ServiceObject } from "./objects.ts";
import { type ServedHealthCheck, type ServedPort } from "./served.ts";
import { type ServiceSettings } from "./settings.ts";

/** The health check of a Service whose external policy is Local, if the agent serves it; undefined without one. */
export function healthCheck(
    { spec }: ServiceObject,
    { proxyAll }: ServiceSettings,
    ports: readonly ServedPort[],
): ServedHealthCheck | undefined {
    const port = spec?.healthCheckNodePort ?? 0;
    if (!proxyAll || port === 0 || spec?.type !== "LoadBalancer" || spec.externalTrafficPolicy !== "Local")
        return undefined;
    if (ports.length === 0) return undefined;
    // a Pod of two families counts once
    const counts = ([4, 6] as const).map((family) => {
        const ready = ports
            .filter((one) => one.family === family)
            .flatMap(({ endpoints }) => endpoints.local.filter((endpoint) => endpoint.ready));
        return new Set(ready.map(({ ip }) => ip.value)).size;
    });
    return { port, localEndpoints: Math.max(...counts) };
}
