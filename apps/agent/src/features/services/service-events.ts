import type { Clock } from "@antrea/async";
import { referenceTo, refOf, services, type EventInput } from "@antrea/kube";
import { problemText, type Problem, type ServedService } from "@antrea/services";

/** At most one event of a Service in this time. */
const pauseMs = 600_000;

/** Dependencies of ServiceEvents. */
export interface ServiceEventsComponents {
    readonly record: (event: EventInput) => void;
    readonly clock: Clock;
}

interface Reported {
    /** When the last event was recorded. */
    readonly at: number;
    readonly texts: ReadonlySet<string>;
}

/** Events about the problems of Services; each Service gets one in ten minutes at most. */
export class ServiceEvents {
    readonly #components: ServiceEventsComponents;
    readonly #reported = new Map<string, Reported>();

    constructor(components: ServiceEventsComponents) {
        this.#components = components;
    }

    /**
     * Records a problem of a Service that was not reported yet. Returns the milliseconds until the next event if there are
     * more of them.
     */
    report({ key, uid, problems }: Pick<ServedService, "key" | "uid" | "problems">): number | undefined {
        const last = this.#reported.get(key);
        const now = this.#components.clock.monotonic();
        const waitMs = last === undefined ? 0 : Math.max(0, last.at + pauseMs - now);
        if (problems.length === 0 && waitMs === 0) this.#reported.delete(key);
        const texts = new Map(problems.map((problem) => [problemText(problem), problem]));
        const [next, another] = [...texts.keys()].filter((text) => last?.texts.has(text) !== true);
        const problem = texts.get(next ?? "");
        if (next === undefined || problem === undefined) return undefined;
        if (waitMs > 0) return waitMs;
        // one that was away is reported again
        const known = [...(last?.texts ?? [])].filter((text) => texts.has(text));
        this.#reported.set(key, { at: now, texts: new Set([...known, next]) });
        this.#components.record(eventOf(key, uid, problem, next));
        return another === undefined ? undefined : pauseMs;
    }

    /** Forgets a Service that is gone. */
    forget(key: string): void {
        this.#reported.delete(key);
    }
}

function eventOf(key: string, uid: string, { reason }: Problem, note: string): EventInput {
    return {
        type: "Warning",
        reason,
        action: "ServeService",
        regarding: referenceTo(services, { metadata: { ...refOf(key), uid } }),
        note,
    };
}
