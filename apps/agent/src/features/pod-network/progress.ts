/** The controls of one ADD: signal, checkpoint, and what ended it. */
export interface Progress {
    readonly signal: AbortSignal;
    /** Whether a DEL came after the ADD was asked for. */
    readonly isDeleted: () => boolean;
    /** Throws if the ADD must not continue. */
    readonly checkpoint: () => void;
}
