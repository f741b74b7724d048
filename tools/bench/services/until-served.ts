import { BenchError } from "../error.ts";
import { clusterIp, servicePort } from "./service-objects.ts";
import { type ServingNode } from "./serving-node.ts";

const limitMs = 400_000;
/** Services that the client connects to, the last one among them. */
const sampled = 64;

/**
 * Resolves when the Node serves the first Services, so many: all are there, and a sample of them has answered the client;
 * the seconds from the start of its agent or kube-proxy. If some are not there yet when the client has been answered, until the end of
 * the poll that finds them: a later time than that at which they came, not an earlier one.
 *
 * @param also the ClusterIP of another Service that is to be served
 */
export async function secondsUntilServed(
    node: Pick<ServingNode, "client" | "served" | "startedAt">,
    services: number,
    also?: string,
): Promise<number> {
    const further = also === undefined ? [] : [also];
    const addresses = [...sampleOf(services).map(clusterIp), ...further];
    let end: number | undefined = await node.client.ask<number>("answers", { addresses, port: servicePort, limitMs });
    const all = [...Array.from({ length: services }, (_, index) => clusterIp(index)), ...further];
    for (;;) {
        const served = await node.served();
        const polledAt = performance.timeOrigin + performance.now();
        const missing = all.find((address) => !served.has(address));
        if (missing === undefined) return ((end ?? polledAt) - node.startedAt) / 1000;
        if (polledAt - node.startedAt > limitMs) {
            throw new BenchError("NOT_READY", "environment", `${missing} is not served, others are`);
        }
        end = undefined;
    }
}

/** Indexes below `count`, evenly and ascending, the last one among them. */
export function sampleOf(count: number): readonly number[] {
    const size = Math.min(count, sampled);
    return Array.from({ length: size }, (_, at) => Math.floor(((at + 1) * count) / size) - 1);
}
