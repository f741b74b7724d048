import { fromNetworkIds, toNetworkIds } from "./network-ids.ts";
import type { NetworkRecord } from "./network-record.ts";

/**
 * The records of the virtual functions of a container, as one text for the record of its interface on the Pod network:
 * a JSON list of what `toNetworkIds` returns for each.
 */
export function toFunctionText(records: readonly NetworkRecord[]): string {
    return JSON.stringify(records.map(toNetworkIds));
}

/** Decodes the text of `toFunctionText`; what is no record of a virtual function is left out. */
export function fromFunctionText(text: string | undefined): readonly NetworkRecord[] {
    return listOf(text).flatMap((element) => {
        if (typeof element !== "object" || element === null) return [];
        const texts = Object.entries(element).filter((pair): pair is [string, string] => typeof pair[1] === "string");
        const record = fromNetworkIds("", new Map(texts));
        return record === undefined || record === "unfinished" || record.device === undefined ? [] : [record];
    });
}

function listOf(text: string | undefined): readonly unknown[] {
    if (text === undefined) return [];
    try {
        const value: unknown = JSON.parse(text);
        return Array.isArray(value) ? value : [];
    } catch {
        return [];
    }
}
