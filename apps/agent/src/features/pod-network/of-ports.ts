import { podOfPorts } from "@antrea/flows";
import { PodNetworkError } from "./errors.ts";

/**
 * The OpenFlow port numbers of the interfaces (`podOfPorts`). They are requested from OVS, which may open the port under
 * another number. Numbers are reused as late as possible, since flows of the last user may still exist.
 */
export class OfPortNumbers {
    readonly #used = new Set<number>();
    /** By interface, the new number of its port while it is not confirmed that the flows in OVS use it. */
    readonly #unsettled = new Map<string, number>();
    #cursor: number = podOfPorts.first;

    /** The numbers in use; a live view. */
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

    /** Frees a number; no effect if it is free. */
    release(ofPort: number): void {
        this.#used.delete(ofPort);
    }

    /**
     * OVS has the port of an interface by a number that its flows may not use yet. Both stay reserved: OVS uses the new
     * one even if the flows are not updated.
     *
     * @param key see `attachmentKey`
     * @param ofFlows the number that the flows have
     */
    useUnsettled(key: string, ofFlows: number, ofPort: number): void {
        const earlier = this.#unsettled.get(key);
        if (earlier !== undefined && earlier !== ofPort) this.release(earlier);
        this.#unsettled.delete(key);
        if (ofPort === ofFlows) return;
        this.note(ofPort);
        this.#unsettled.set(key, ofPort);
    }

    /**
     * Records that the flows of an interface use the number `ofPort` of its port; frees `ofFlows`, which they had, if
     * it differs.
     */
    settle(key: string, ofFlows: number, ofPort: number): void {
        this.#unsettled.delete(key);
        this.note(ofPort);
        if (ofPort !== ofFlows) this.release(ofFlows);
    }

    /** Records that the interface is completely removed: frees its numbers. */
    forget(key: string, ofFlows: number): void {
        this.release(ofFlows);
        const unsettled = this.#unsettled.get(key);
        if (unsettled !== undefined) this.release(unsettled);
        this.#unsettled.delete(key);
    }
}
