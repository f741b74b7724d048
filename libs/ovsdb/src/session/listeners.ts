/**
 * The listeners of one event, called synchronously. An error that one throws goes to `onError`, which must not throw,
 * and affects no other.
 */
export class Listeners<Event extends readonly unknown[]> {
    readonly #listeners = new Set<{ readonly call: (...event: Event) => void }>();
    readonly #onError: (error: unknown) => void;

    constructor(onError: (error: unknown) => void) {
        this.#onError = onError;
    }

    /** The same function may be added more than once; each disposal removes one. */
    add(call: (...event: Event) => void): Disposable {
        const listener = { call };
        this.#listeners.add(listener);
        return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
    }

    /** Calls all listeners in the order in which they were added; one that is removed meanwhile is still called. */
    emit(...event: Event): void {
        for (const listener of [...this.#listeners]) {
            try {
                listener.call(...event);
            } catch (error) {
                this.#onError(error);
            }
        }
    }
}
