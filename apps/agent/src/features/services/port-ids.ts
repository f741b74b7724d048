import { learnedCookie } from "@antrea/flows";
import type { Scope, ServedPort, ServedService } from "@antrea/services";

/** What a port of a Service has in the flow tables. */
export interface PortIds {
    /** Its number among the ports of all Services, 1 to 2^32-1. */
    readonly number: number;
    /** The groups of its scopes, as numbers within the Service. */
    readonly groupIds: Readonly<Record<Scope, number>>;
}

const maxNumber = 0xffff_ffff;

interface OfService {
    /** By the text of the port. */
    readonly ids: Map<string, PortIds>;
    /** The slots in use, each for the groups of one port, and one below which there is no free one. */
    readonly slots: Set<number>;
    lowest: number;
}

/**
 * The ids of the ports of all Services. A number comes from the UID of the Service and the name and family of the port,
 * and only if two want the same one is it the next free one: flows of an earlier start, which the new ones replace one by
 * one, have the same numbers.
 */
export class PortIdTable {
    readonly #taken = new Set<number>();
    readonly #ofService = new Map<string, OfService>();

    /** Returns the ids of a port of a Service, the same ones until `keepOnly` frees them. */
    idsOf({ key, uid }: Pick<ServedService, "key" | "uid">, port: Pick<ServedPort, "name" | "family">): PortIds {
        const known = this.#ofService.get(key) ?? { ids: new Map(), slots: new Set(), lowest: 0 };
        this.#ofService.set(key, known);
        const text = textOf(uid, port);
        const before = known.ids.get(text);
        if (before !== undefined) return before;
        const slot = takeSlot(known);
        const ids = {
            number: this.#take(Number(learnedCookie(uid, port.name, port.family) & BigInt(maxNumber))),
            groupIds: { cluster: 2 * slot, local: 2 * slot + 1 },
        };
        known.ids.set(text, ids);
        return ids;
    }

    /** Frees the ids of all ports that a Service has no longer; undefined: the Service is gone. */
    keepOnly(key: string, service: Pick<ServedService, "uid" | "ports"> | undefined): void {
        const kept = new Set(service?.ports.map((port) => textOf(service.uid, port)));
        const known = this.#ofService.get(key);
        if (known === undefined) return;
        for (const [text, { number, groupIds }] of known.ids) {
            if (kept.has(text)) continue;
            const slot = groupIds.cluster / 2;
            this.#taken.delete(number);
            known.ids.delete(text);
            known.slots.delete(slot);
            known.lowest = Math.min(known.lowest, slot);
        }
        if (known.ids.size === 0) this.#ofService.delete(key);
    }

    #take(wanted: number): number {
        let number = wanted;
        while (number === 0 || this.#taken.has(number)) number = number === maxNumber ? 1 : number + 1;
        this.#taken.add(number);
        return number;
    }
}

function textOf(uid: string, { name, family }: Pick<ServedPort, "name" | "family">): string {
    return `${uid}/${name}/${family}`;
}

/** The lowest free slot, without a search from the first one: a Service may have thousands of ports. */
function takeSlot(known: OfService): number {
    while (known.slots.has(known.lowest)) known.lowest += 1;
    known.slots.add(known.lowest);
    return known.lowest;
}
