/** Probabilities of container runtime faults, from 0 to 1. */
export interface RuntimeFaults {
    /** Cancels an ADD before it is answered. */
    readonly cancelAdd: number;
    /** Repeats a call while the first is in progress, or after it. */
    readonly repeat: number;
    /** Sends a DEL much later, or not at all. */
    readonly lateDel: number;
    readonly noDel: number;
    /** Removes the namespace before the DEL. */
    readonly earlyEnd: number;
    /** Sends a DEL while the ADD is in progress. */
    readonly delOvertakes: number;
    /** Does not send the DEL of an interface that a meta plugin attached. */
    readonly loseDel: number;
    /** Sends the DEL of the Pod's own interface before those of the others. */
    readonly ownFirst: number;
}

/** No container runtime faults. */
export const noRuntimeFaults: RuntimeFaults = {
    cancelAdd: 0,
    repeat: 0,
    lateDel: 0,
    noDel: 0,
    earlyEnd: 0,
    delOvertakes: 0,
    loseDel: 0,
    ownFirst: 0,
};
