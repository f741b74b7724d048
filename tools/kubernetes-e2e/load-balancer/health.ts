// a machine on which many tests run at once answers late
const limitMs = 3_000;

/** Those of the addresses that answer a health check at this port with 200. */
export async function healthyOf(addresses: readonly string[], port: number): Promise<readonly string[]> {
    const results = await Promise.all(addresses.map((address) => isHealthy(`http://${address}:${port}/healthz`)));
    return addresses.filter((_, index) => results[index]);
}

async function isHealthy(url: string): Promise<boolean> {
    try {
        const answer = await fetch(url, { signal: AbortSignal.timeout(limitMs) });
        await answer.body?.cancel();
        return answer.status === 200;
    } catch {
        // refused, or no answer in time: as good as a 503
        return false;
    }
}
