import { type Socket } from "node:net";

/**
 * Limits the number of open connections from each remote address, as the socket reports it; pass each new connection to
 * `admit`. Addresses behind a NAT or proxy count as one.
 */
export class ConnectionLimit {
    readonly #limit: number;
    readonly #open = new Map<string, number>();

    /** @param limit connections from one address */
    constructor(limit: number) {
        this.#limit = limit;
    }

    /**
     * Counts a connection until it is closed. Closes it and returns false if it exceeds the limit or has no remote
     * address.
     */
    admit(socket: Socket): boolean {
        const from = socket.remoteAddress;
        const open = from === undefined ? this.#limit : (this.#open.get(from) ?? 0);
        if (from === undefined || open >= this.#limit) {
            socket.destroy();
            return false;
        }
        this.#open.set(from, open + 1);
        socket.once("close", () => {
            const left = (this.#open.get(from) ?? 1) - 1;
            if (left > 0) this.#open.set(from, left);
            else this.#open.delete(from);
        });
        return true;
    }
}
