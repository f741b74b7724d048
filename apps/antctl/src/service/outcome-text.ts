import { someOf } from "../output/index.ts";
import { type Outcome } from "./places.ts";

/** What becomes of connections, as part of a sentence. */
export function outcomeText(outcome: Outcome): string {
    switch (outcome.kind) {
        case "endpoints":
            return `to ${outcome.endpoints.length === 0 ? "no endpoint" : someOf(outcome.endpoints)}`;
        case "group":
            return `to one of the ${outcome.buckets ?? "many"} buckets of a group`;
        case "rejected":
            return "rejected, as there is no endpoint";
        case "dropped":
            return "dropped";
    }
}
