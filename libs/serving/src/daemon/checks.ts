import { messageOf } from "@antrea/errors";
import { ServingError } from "../errors.ts";

/**
 * `live`: a failure means that only a restart of the process can help (`/livez`, `/healthz`). `ready`: a failure means
 * that the process cannot serve now (`/readyz`).
 */
export type CheckKind = "live" | "ready";

/**
 * Returns the problem in one line, undefined if there is none. It must be fast and do no I/O; an exception counts as a
 * problem.
 */
export type Check = () => string | undefined;

/** Result of one health check. */
export interface CheckResult {
    readonly name: string;
    /** The problem in one line; undefined if the check passed. */
    readonly problem: string | undefined;
}

/** The health checks behind `/livez` and `/readyz`, by unique name, in the order in which they were added. */
export class Checks {
    readonly #checks = new Map<string, { readonly kind: CheckKind; readonly check: Check }>();

    /** Adds a check, which disposal removes. Throws ServingError `DUPLICATE_NAME`. */
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

    /** Runs the checks of the kind; `ready` includes the `live` ones, as a process that is not live is not ready. */
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
