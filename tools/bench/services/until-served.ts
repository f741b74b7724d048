import { BenchError } from "../error.ts";
import { clusterIp, servicePort } from "./service-objects.ts";
import { type ServingNode } from "./serving-node.ts";

const limitMs = 400_000;
/** Services that the client connects to, the last one among them. */
const sampled = 64;

/**
 * Resolves when the Node serves the first Services, so many: all are there, and a sample of them has answered the client;
 * the seconds from the start of its agent or kube-proxy.
 *
 * @param also the ClusterIP of another Service that is to be served
 */
export async function secondsUntilServed(node: ServingNode, services: number, also?: string): Promise<number> {
    const further = also === undefined ? [] : [also];
    const addresses = [...sampleOf(services).map(clusterIp), ...further];
    let end = await node.client.ask<number>("answers", { addresses, port: servicePort, limitMs });
    const all = [...Array.from({ length: services }, (_, index) => clusterIp(index)), ...further];
    for (;;) {
        const begin = performance.timeOrigin + performance.now();
        const served = await node.served();
        const missing = all.find((address) => !served.has(address));
        if (missing === undefined) return (end - node.startedAt) / 1000;
        if (begin - node.startedAt > limitMs) {
            throw new BenchError("NOT_READY", "environment", `${missing} is not served, others are`);
        }
        end = begin;
    }
}

/** Indexes below `count`, evenly and ascending, the last one among them. */
export function sampleOf(count: number): readonly number[] {
    const size = Math.min(count, sampled);
    return Array.from({ length: size }, (_, at) => Math.floor(((at + 1) * count) / size) - 1);
}
