import { systemClock, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import type { IpAddress } from "@antrea/ip";
import { gratuitousArp, unsolicitedNa } from "@antrea/netlink";
import { Port, type PacketOut } from "@antrea/openflow";
import type { Logger } from "@antrea/runtime";

export interface AnnouncerComponents {
    readonly packetOut: (packet: PacketOut) => void;
    readonly logger: Logger;
    readonly clock?: Clock | undefined;
}

/** As often as Linux does for its own addresses with three, the first at once. */
const delaysMs = [0, 50, 100] as const;

/**
 * Says in the name of a Pod where its addresses are (RFC 5227 section 2.3, RFC 4861 section 7.2.6): switches of the
 * underlay learn the port, and neighbours that knew an address before learn its new MAC. The frames take the way of
 * frames that the Pod sends.
 */
export class Announcer implements Disposable {
    readonly #components: AnnouncerComponents;
    readonly #timers = new Set<Disposable>();

    constructor(components: AnnouncerComponents) {
        this.#components = components;
    }

    /** Returns at once; what cannot be sent is not repeated. */
    announce(pod: { readonly ofPort: number; readonly mac: string; readonly ips: readonly IpAddress[] }): void {
        const { clock = systemClock } = this.#components;
        for (const delayMs of delaysMs) {
            const timer = clock.after(delayMs, () => {
                this.#timers.delete(timer);
                for (const ip of pod.ips) this.#send(pod.ofPort, frameOf(pod.mac, ip));
            });
            this.#timers.add(timer);
        }
    }

    [Symbol.dispose](): void {
        for (const timer of this.#timers) timer[Symbol.dispose]();
        this.#timers.clear();
    }

    #send(inPort: number, data: Uint8Array): void {
        try {
            this.#components.packetOut({ inPort, data, actions: [{ type: "output", port: Port.TABLE }] });
        } catch (error) {
            this.#components.logger.debug("an address was not announced", { port: inPort, reason: messageOf(error) });
        }
    }
}

function frameOf(mac: string, ip: IpAddress): Uint8Array {
    return ip.family === 4 ? gratuitousArp(mac, ip) : unsolicitedNa(mac, ip);
}
