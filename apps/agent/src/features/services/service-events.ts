import type { Clock } from "@antrea/async";
import { referenceTo, services, type EventInput } from "@antrea/kube";
import { problemText, type Problem, type ServedService } from "@antrea/services";

/** At most one event of a Service in this time. */
const pauseMs = 600_000;

/** Dependencies of ServiceEvents. */
export interface ServiceEventsComponents {
    readonly record: (event: EventInput) => void;
    readonly clock: Clock;
}

interface Reported {
    readonly at: number;
    readonly text: string;
}

/** Events about what is not served of Services as it is written; each Service gets one in ten minutes at most. */
export class ServiceEvents {
    readonly #components: ServiceEventsComponents;
    readonly #reported = new Map<string, Reported>();

    constructor(components: ServiceEventsComponents) {
        this.#components = components;
    }

    /**
     * Records one of the problems of a Service, of several another one than the last time. Returns the milliseconds until
     * the next event if there is more to report; an unchanged problem is reported once.
     */
    report({ key, uid, problems }: Pick<ServedService, "key" | "uid" | "problems">): number | undefined {
        const last = this.#reported.get(key);
        const now = this.#components.clock.monotonic();
        const waitMs = last === undefined ? 0 : last.at + pauseMs - now;
        const texts = problems.map(problemText);
        if (texts.length === 0) {
            if (waitMs <= 0) this.#reported.delete(key);
            return undefined;
        }
        // the one after the last one
        const at = (texts.indexOf(last?.text ?? "") + 1) % texts.length;
        const [problem, text = ""] = [problems[at], texts[at]];
        if (problem === undefined || text === last?.text) return undefined;
        if (waitMs > 0) return waitMs;
        this.#reported.set(key, { at: now, text });
        this.#components.record(eventOf(key, uid, problem, text));
        return undefined;
    }

    /** Forgets a Service that is gone. */
    forget(key: string): void {
        this.#reported.delete(key);
    }
}

function eventOf(key: string, uid: string, { reason }: Problem, note: string): EventInput {
    const [namespace = "", name = ""] = key.split("/");
    return {
        type: "Warning",
        reason,
        action: "ServeService",
        regarding: referenceTo(services, { metadata: { namespace, name, uid } }),
        note,
    };
}
