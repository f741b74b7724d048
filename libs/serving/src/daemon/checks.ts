import { messageOf } from "@antrea/errors";
import { ServingError } from "../errors.ts";

/** `live`: a failure means that only a new process can help. `ready`: a failure means "do not count on me now". */
export type CheckKind = "live" | "ready";

/** Says what is wrong in one line, undefined when all is well. Quick, without I/O; a throw counts as wrong. */
export type Check = () => string | undefined;

export interface CheckResult {
    readonly name: string;
    readonly problem: string | undefined;
}

/** The checks behind the health endpoints. */
export class Checks {
    readonly #checks = new Map<string, { readonly kind: CheckKind; readonly check: Check }>();

    /** Adds a check until it is disposed of. Throws ServingError `DUPLICATE_NAME`. */
    add(name: string, kind: CheckKind, check: Check): Disposable {
        if (this.#checks.has(name)) {
            throw new ServingError("DUPLICATE_NAME", "internal", `two health checks are called ${name}`);
        }
        const entry = { kind, check };
        this.#checks.set(name, entry);
        return {
            [Symbol.dispose]: () => {
                if (this.#checks.get(name) === entry) this.#checks.delete(name);
            },
        };
    }

    /** Runs the checks of the kind; `ready` asks the `live` ones too: who is not alive is not ready. */
    run(kind: CheckKind): readonly CheckResult[] {
        const results: CheckResult[] = [];
        for (const [name, entry] of this.#checks) {
            if (kind === "ready" || entry.kind === "live") results.push({ name, problem: problemOf(entry.check) });
        }
        return results;
    }
}

function problemOf(check: Check): string | undefined {
    try {
        return check();
    } catch (error) {
        return `the check failed: ${messageOf(error)}`;
    }
}
