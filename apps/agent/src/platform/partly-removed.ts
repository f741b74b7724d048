import { AntreaError } from "@antrea/errors";

/** `PARTLY_REMOVED`: a clean-up step could not remove everything; its message lists what remains, with the reasons. */
export class PartlyRemovedError extends AntreaError<"PARTLY_REMOVED"> {
    /** What was removed nevertheless, as text for users. */
    readonly removed: readonly string[];

    /** @param failures what remains, each with the reason */
    constructor(failures: readonly string[], removed: readonly string[]) {
        super("PARTLY_REMOVED", "environment", failures.join("; "));
        this.removed = removed;
    }
}
