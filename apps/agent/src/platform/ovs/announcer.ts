import { systemClock, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import type { IpAddress } from "@antrea/ip";
import { gratuitousArp, unsolicitedNa } from "@antrea/netlink";
import { Port, type PacketOut } from "@antrea/openflow";
import type { Logger } from "@antrea/runtime";

/** Dependencies of Announcer. */
export interface AnnouncerComponents {
    /** Sends a PACKET_OUT; may throw, which is logged. */
    readonly packetOut: (packet: PacketOut) => void;
    readonly logger: Logger;
    /** Default the system clock. */
    readonly clock?: Clock | undefined;
}

/** Linux uses the same intervals for its own addresses; three announcements, the first at once. */
const delaysMs = [0, 50, 100] as const;

/**
 * Announces the addresses of a Pod by gratuitous ARP (RFC 5227 section 2.3) and unsolicited neighbour advertisements
 * (RFC 4861 section 7.2.6): switches of the physical network learn the port, and neighbours update a cached MAC
 * address. The frames enter the flow tables as those that the Pod sends
 * or, with `Port.NORMAL`, are switched as these. Its owner disposes of it, which cancels
 * pending announcements.
 */
export class Announcer implements Disposable {
    readonly #components: AnnouncerComponents;
    readonly #output: number;
    readonly #timers = new Set<Disposable>();

    /** @param options `output`: the port of the action; default `Port.TABLE` */
    constructor(components: AnnouncerComponents, { output = Port.TABLE }: { readonly output?: number } = {}) {
        this.#components = components;
        this.#output = output;
    }

    /**
     * Announces each address three times: within 100 ms, the first time soon after this returns. A frame that cannot be
     * sent is logged and not repeated. `ofPort` is the Pod's OpenFlow port number, `mac` its MAC address as text.
     */
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

    /** Cancels pending announcements. */
    [Symbol.dispose](): void {
        for (const timer of this.#timers) timer[Symbol.dispose]();
        this.#timers.clear();
    }

    #send(inPort: number, data: Uint8Array): void {
        try {
            this.#components.packetOut({ inPort, data, actions: [{ type: "output", port: this.#output }] });
        } catch (error) {
            this.#components.logger.debug("an address was not announced", { port: inPort, reason: messageOf(error) });
        }
    }
}

function frameOf(mac: string, ip: IpAddress): Uint8Array {
    return ip.family === 4 ? gratuitousArp(mac, ip) : unsolicitedNa(mac, ip);
}
