/** How likely the runtime does what it should not, from 0 to 1. */
export interface RuntimeFaults {
    /** Gives an ADD up before it is answered. */
    readonly cancelAdd: number;
    /** Asks for the same again while the first call is under way, or after it. */
    readonly repeat: number;
    /** Sends a DEL much later, or not at all. */
    readonly lateDel: number;
    readonly noDel: number;
    /** Ends the namespace before the DEL. */
    readonly earlyEnd: number;
    /** Sends a DEL while the ADD is under way. */
    readonly delOvertakes: number;
}

export const noRuntimeFaults: RuntimeFaults = {
    cancelAdd: 0,
    repeat: 0,
    lateDel: 0,
    noDel: 0,
    earlyEnd: 0,
    delOvertakes: 0,
};
