import { sleep, systemClock, type Clock } from "@antrea/async";
import { formatIp, sameIp, type IpAddress } from "@antrea/ip";
import { NeighbourState, type Neighbour, type Netlink } from "@antrea/netlink";

const pollMs = 20;
const pauseMs = 200;
const gatewayTimeoutMs = 1_500;
const apiTimeoutMs = 5_000;
const unaskable = NeighbourState.PERMANENT | NeighbourState.NOARP;

/** Dependencies of ConnectivityProbes. */
export interface ConnectivityProbesComponents {
    readonly netlink: Netlink;
    /** Whether the API server answers; ends when the signal aborts. A rejection counts as no. */
    readonly apiReachable: (signal: AbortSignal) => Promise<boolean>;
    /** Default the system clock. */
    readonly clock?: Clock;
}

/**
 * Probes whether the Node is on the network: its gateways, by ARP and ND (1.5 s each), and the API server (5 s).
 * `index` is the ifindex of the gateways' link. Methods that probe gateways reject with NetlinkError.
 */
export class ConnectivityProbes {
    readonly #parts: ConnectivityProbesComponents;
    readonly #clock: Clock;

    constructor(components: ConnectivityProbesComponents) {
        this.#parts = components;
        this.#clock = components.clock ?? systemClock;
    }

    /** Whether the API server answers within 5 s; false on abort. Never rejects. */
    async apiAnswers(signal: AbortSignal): Promise<boolean> {
        const limited = AbortSignal.any([signal, AbortSignal.timeout(apiTimeoutMs)]);
        return this.#parts.apiReachable(limited).catch(() => false);
    }

    /**
     * The gateways that answer, in the order given; on abort those that answered so far. One with a static neighbour
     * entry is not probed, since that is inconclusive, and counts as not answering.
     */
    async answering(index: number, gateways: readonly IpAddress[], signal: AbortSignal): Promise<readonly IpAddress[]> {
        const answers = await Promise.all(gateways.map((gateway) => this.#answers(index, gateway, signal)));
        return gateways.filter((_, at) => answers[at] === true);
    }

    /**
     * Repeats the probes until one target answers (true) or `timeoutMs` milliseconds pass (false). Rejects with the
     * signal's reason if it aborts. Without any target resolves with false at once.
     */
    async anyAnswers(
        index: number,
        asked: { readonly gateways: readonly IpAddress[]; readonly withApi: boolean },
        timeoutMs: number,
        signal: AbortSignal,
    ): Promise<boolean> {
        const over = new AbortController();
        using _limit = this.#clock.after(timeoutMs, () => over.abort());
        const until = AbortSignal.any([signal, over.signal]);
        const repeat = async (ask: () => Promise<boolean>): Promise<boolean> => {
            while (!until.aborted) {
                if (await ask()) {
                    over.abort();
                    return true;
                }
                await sleep(pauseMs, until, this.#clock).catch(() => undefined);
            }
            return false;
        };
        const answers = await Promise.all([
            ...(asked.withApi ? [repeat(() => this.apiAnswers(until))] : []),
            ...asked.gateways.map((gateway) => repeat(() => this.#answers(index, gateway, until))),
        ]);
        signal.throwIfAborted();
        return answers.includes(true);
    }

    async #answers(index: number, gateway: IpAddress, signal: AbortSignal): Promise<boolean> {
        const { netlink } = this.#parts;
        const entry = async (): Promise<Neighbour | undefined> =>
            (await netlink.neighbours(index)).find(({ ip }) => sameIp(ip, gateway));
        const known = await entry();
        if (known !== undefined && (known.state & unaskable) !== 0) return false;
        await netlink.probeNeighbour({ index, ip: gateway, mac: known?.mac });
        const deadline = this.#clock.monotonic() + gatewayTimeoutMs;
        while (!signal.aborted && this.#clock.monotonic() < deadline) {
            const state = (await entry())?.state ?? NeighbourState.FAILED;
            if ((state & NeighbourState.REACHABLE) !== 0) return true;
            if ((state & NeighbourState.FAILED) !== 0) return false;
            await sleep(pollMs, signal, this.#clock).catch(() => undefined);
        }
        return false;
    }
}

/** Describes the targets in messages, e.g. "gateway 10.0.0.1 and the API server". */
export function probeTargetsText(gateways: readonly IpAddress[], withApi: boolean): string {
    const names = gateways.map((gateway) => `gateway ${formatIp(gateway)}`);
    return [...names, ...(withApi ? ["the API server"] : [])].join(" and ");
}
