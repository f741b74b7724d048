import { type JobHealth } from "@antrea/runtime";

/**
 * The jobs and work queues of the features, for `/readyz?verbose`. Features make new ones for each term of leadership,
 * so each name has the status of the latest, also after the term; a replica that never led has none.
 */
export class LeaderJobs {
    readonly #health = new Map<string, () => JobHealth>();

    /** Lists a job or queue, whose status is read by `health`, from now on; a later one of its name replaces it. */
    show(name: string, health: () => JobHealth): void {
        this.#health.set(name, health);
    }

    /** Returns the status of all of them, in the order in which their names were first listed. */
    health(): readonly JobHealth[] {
        return [...this.#health.values()].map((health) => health());
    }
}
