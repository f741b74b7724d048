import { podOfPorts } from "@antrea/flows";
import { PodNetworkError } from "./errors.ts";

/** Chooses port numbers to ask OVS for; a number is used again as late as possible, as flows of its last user may be. */
export class OfPortNumbers {
    readonly #used = new Set<number>();
    #cursor: number = podOfPorts.first;

    /** The numbers that are noted as used. */
    get used(): ReadonlySet<number> {
        return this.#used;
    }

    /** A free number, noted as used. */
    take(): number {
        const count = podOfPorts.last - podOfPorts.first + 1;
        for (let tried = 0; tried < count; tried += 1) {
            const candidate = this.#cursor;
            this.#cursor = candidate === podOfPorts.last ? podOfPorts.first : candidate + 1;
            if (this.#used.has(candidate)) continue;
            this.#used.add(candidate);
            return candidate;
        }
        throw new PodNetworkError(
            "NO_PORT_NUMBER",
            "environment",
            `all ${count} OpenFlow port numbers for Pods are in use`,
        );
    }

    /** Notes a number as used; the search goes on after the highest seen. */
    note(ofPort: number): void {
        this.#used.add(ofPort);
        if (ofPort >= this.#cursor && ofPort < podOfPorts.last) this.#cursor = ofPort + 1;
    }

    release(ofPort: number): void {
        this.#used.delete(ofPort);
    }
}
