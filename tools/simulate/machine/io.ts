import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";

/** How a process of a Node accesses the Node. A killed process receives nothing more. */
export class LocalIo {
    readonly #time: VirtualTime;
    readonly #random: Random;
    #isDead = false;

    constructor(time: VirtualTime, random: Random) {
        this.#time = time;
        this.#random = random;
    }

    kill(): void {
        this.#isDead = true;
    }

    /**
     * Executes the work after a delay, and returns after another one. Requests of a killed process may still be
     * executed.
     */
    async call<T>(work: () => T, limit?: { readonly lowMs: number; readonly highMs: number }): Promise<T> {
        const { lowMs, highMs } = limit ?? { lowMs: 0.1, highMs: 8 };
        if (this.#isDead) await new Promise<never>(() => undefined);
        const isSent = this.#random.chance(0.5);
        await this.#time.sleep(this.#random.latency(lowMs, highMs));
        if (this.#isDead && !isSent) await new Promise<never>(() => undefined);
        const result = work();
        if (this.#isDead) await new Promise<never>(() => undefined);
        return result;
    }
}
