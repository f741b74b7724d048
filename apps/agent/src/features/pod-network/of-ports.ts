import { podOfPorts } from "@antrea/flows";
import { PodNetworkError } from "./errors.ts";

/**
 * Allocates OpenFlow port numbers to request from OVS. Numbers are reused as late as possible, since flows of the last
 * user may still exist.
 */
export class OfPortNumbers {
    readonly #used = new Set<number>();
    #cursor: number = podOfPorts.first;

    /** The numbers in use. */
    get used(): ReadonlySet<number> {
        return this.#used;
    }

    /** Allocates a free number; throws PodNetworkError `NO_PORT_NUMBER` if there is none. */
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

    /** Marks a number as used; the search continues after the highest one seen. */
    note(ofPort: number): void {
        this.#used.add(ofPort);
        if (ofPort >= this.#cursor && ofPort < podOfPorts.last) this.#cursor = ofPort + 1;
    }

    /** Frees a number. */
    release(ofPort: number): void {
        this.#used.delete(ofPort);
    }
}
