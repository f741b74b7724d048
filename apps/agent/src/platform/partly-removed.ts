import { AntreaError } from "@antrea/errors";

/** Some of what a step of the clean-up is to remove stays. */
export class PartlyRemovedError extends AntreaError<"PARTLY_REMOVED"> {
    /** What was removed all the same. */
    readonly removed: readonly string[];

    /** @param failures what stays, each with the reason */
    constructor(failures: readonly string[], removed: readonly string[]) {
        super("PARTLY_REMOVED", "environment", failures.join("; "));
        this.removed = removed;
    }
}
