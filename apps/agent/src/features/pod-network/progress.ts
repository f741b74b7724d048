/** The controls of one ADD: signal and checkpoint. */
export interface Progress {
    readonly signal: AbortSignal;
    /** Throws if the ADD must not continue. */
    readonly checkpoint: () => void;
}
