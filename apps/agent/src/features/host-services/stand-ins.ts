import { formatIp, type IpAddress } from "@antrea/ip";
import { fnv1a } from "../../platform/fnv1a.ts";
import { standInAt, standInCount } from "./addresses.ts";

/**
 * The stand-ins: addresses to which the host translates external addresses of Services that are the Node's own, as OVS has
 * to know which one it was. A number comes from a hash of the address, and only if that is taken it is the next free
 * one: a restarted agent gives most addresses what they had, and all that the host's rules of an earlier start still have.
 */
export class StandIns {
    readonly #byAddress = new Map<string, { readonly standIn: IpAddress; readonly users: Set<string> }>();
    readonly #taken = new Set<string>();

    /** The stand-in of the address; undefined if it has none. */
    get(ip: IpAddress): IpAddress | undefined {
        return this.#byAddress.get(formatIp(ip))?.standIn;
    }

    /** Keeps the stand-in that an address had for it until `dropUnused`; no effect if either is used. */
    reserve(ip: IpAddress, standIn: IpAddress): void {
        const [text, taken] = [formatIp(ip), formatIp(standIn)];
        if (this.#byAddress.has(text) || this.#taken.has(taken)) return;
        this.#taken.add(taken);
        this.#byAddress.set(text, { standIn, users: new Set() });
    }

    /** Frees those that no Service has taken. Returns whether there were such. */
    dropUnused(): boolean {
        const unused = [...this.#byAddress].filter(([, { users }]) => users.size === 0);
        for (const [text] of unused) this.#free(text);
        return unused.length > 0;
    }

    /** Gives the address a stand-in for a Service, the same one to all; undefined if all are used up. */
    take(ip: IpAddress, user: string): IpAddress | undefined {
        const text = formatIp(ip);
        const known = this.#byAddress.get(text);
        if (known !== undefined) {
            known.users.add(user);
            return known.standIn;
        }
        const standIn = this.#nextFor(ip, text);
        if (standIn === undefined) return undefined;
        this.#taken.add(formatIp(standIn));
        this.#byAddress.set(text, { standIn, users: new Set([user]) });
        return standIn;
    }

    /**
     * Frees all stand-ins of a Service but those of these addresses, as far as no other Service uses them. Returns whether
     * there were such.
     */
    keepOnly(user: string, kept: readonly IpAddress[]): boolean {
        const texts = new Set(kept.map(formatIp));
        let hasFreed = false;
        for (const [text, { users }] of this.#byAddress) {
            if (texts.has(text) || !users.delete(user) || users.size > 0) continue;
            this.#free(text);
            hasFreed = true;
        }
        return hasFreed;
    }

    #free(text: string): void {
        const known = this.#byAddress.get(text);
        this.#byAddress.delete(text);
        if (known !== undefined) this.#taken.delete(formatIp(known.standIn));
    }

    #nextFor({ family }: IpAddress, text: string): IpAddress | undefined {
        const count = standInCount(family);
        const first = fnv1a(text) % count;
        for (let at = 0; at < count; at += 1) {
            const standIn = standInAt(family, (first + at) % count);
            if (!this.#taken.has(formatIp(standIn))) return standIn;
        }
        return undefined;
    }
}
