import { bucketCount } from "@antrea/services";
import { count, someOf } from "../output/index.ts";
import { outcomeText } from "./outcome-text.ts";
import { type OvsPlace } from "./ovs-reader.ts";
import { placeText, type Outcome, type Place } from "./places.ts";

/** Returns how what OVS has differs from what it is to have, as sentences; none: it does not. */
export function differences(places: readonly Place[], found: readonly OvsPlace[]): readonly string[] {
    const byText = new Map(found.map((place) => [placeText(place), place]));
    const own = places.flatMap((place) => {
        const text = placeText(place);
        const inOvs = byText.get(text);
        byText.delete(text);
        if (inOvs === undefined || inOvs.flows.length === 0) {
            return [`${text}: OVS has no flow, so that packets to it go to the Node itself`];
        }
        return differencesAt(place, inOvs).map((what) => `${text}: ${what}`);
    });
    const left = [...byText.keys()].map((text) => `${text}: OVS has a flow, and the Service has no such port`);
    return [...own, ...left];
}

function differencesAt(wanted: Place, has: OvsPlace): readonly string[] {
    if (wanted.outcomes.length !== has.outcomes.length) {
        const texts = [wanted, has].map(({ outcomes }) => outcomes.map(outcomeText).join("; "));
        return [`it should be "${texts[0]}", and OVS has "${texts[1]}"`];
    }
    return wanted.outcomes.flatMap((outcome, at) => {
        const inOvs = has.outcomes[at];
        return inOvs === undefined ? [] : outcomeDifferences(outcome, inOvs);
    });
}

/** Returns what could not be compared, as sentences. */
export function uncompared(found: readonly OvsPlace[]): readonly string[] {
    return found.flatMap((place) => {
        const group = place.outcomes.find(({ kind }) => kind === "group");
        if (group?.kind !== "group") return [];
        const what =
            group.buckets === undefined ? "was not compared" : "was compared by the number of its buckets only";
        return [`${placeText(place)}: the group of its endpoints is too large to be listed, and ${what}`];
    });
}

function outcomeDifferences(wanted: Outcome, has: Outcome): readonly string[] {
    if (wanted.kind === "endpoints" && has.kind === "group") {
        const { length } = wanted.endpoints;
        const buckets = bucketCount(length);
        if (has.buckets === undefined || has.buckets === buckets) return [];
        return [`the group in OVS has ${has.buckets} buckets, and ${buckets} are needed for ${length} endpoints`];
    }
    if (wanted.kind !== "endpoints" || has.kind !== "endpoints") {
        if (wanted.kind === has.kind) return [];
        return [`it should be "${outcomeText(wanted)}", and OVS has "${outcomeText(has)}"`];
    }
    const missing = without(wanted.endpoints, has.endpoints);
    const extra = without(has.endpoints, wanted.endpoints);
    const verb = extra.length === 1 ? "is" : "are";
    const more = `${count(extra.length, "endpoint")} that ${verb} not chosen: ${someOf(extra)}`;
    return [
        ...(missing.length === 0 ? [] : [`OVS lacks ${count(missing.length, "endpoint")}: ${someOf(missing)}`]),
        ...(extra.length === 0 ? [] : [`OVS has ${more}`]),
    ];
}

function without(all: readonly string[], others: readonly string[]): readonly string[] {
    const known = new Set(others);
    return all.filter((one) => !known.has(one));
}
