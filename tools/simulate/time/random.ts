/** Pseudo-random numbers determined by the seed (sfc32). */
export class Random {
    #a: number;
    #b: number;
    #c: number;
    #counter = 1;

    constructor(seed: number, stream = 0) {
        this.#a = seed | 0;
        this.#b = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0;
        this.#c = stream | 0;
        for (let round = 0; round < 12; round += 1) this.bits();
    }

    /** A 32-bit number. */
    bits(): number {
        const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
        this.#counter = (this.#counter + 1) | 0;
        this.#a = this.#b ^ (this.#b >>> 9);
        this.#b = (this.#c + (this.#c << 3)) | 0;
        this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
        return sum >>> 0;
    }

    /** A number in [0, 1). */
    next = (): number => this.bits() / 2 ** 32;

    /** A number in [`low`, `high`). */
    between(low: number, high: number): number {
        return low + (high - low) * this.next();
    }

    /** An integer in [0, `count`). */
    below(count: number): number {
        return Math.floor(this.next() * count);
    }

    chance(probability: number): boolean {
        return this.next() < probability;
    }

    pick<T>(items: readonly T[]): T | undefined {
        return items[this.below(items.length)];
    }

    /** Mostly short, occasionally much longer: in [`low`, `high`), with a median of low * (high / low) ** 0.25. */
    latency(low: number, high: number): number {
        return low * (high / low) ** (this.next() ** 2);
    }

    hex(digits: number): string {
        let text = "";
        while (text.length < digits) text += this.bits().toString(16).padStart(8, "0");
        return text.slice(0, digits);
    }

    uuid(): string {
        const text = this.hex(32);
        return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-a${text.slice(17, 20)}-${text.slice(20)}`;
    }
}
