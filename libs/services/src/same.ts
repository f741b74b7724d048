import { type ServiceObject, type SliceObject } from "./objects.ts";

/** True if nothing that is served can differ: both have the same fields but for resourceVersion and deletion. */
export function sameService(a: ServiceObject, b: ServiceObject): boolean {
    return (
        a.metadata?.uid === b.metadata?.uid &&
        a.metadata?.creationTimestamp === b.metadata?.creationTimestamp &&
        sameJson(a.metadata?.labels, b.metadata?.labels) &&
        sameJson(a.metadata?.annotations, b.metadata?.annotations) &&
        sameJson(a.spec, b.spec) &&
        sameJson(a.status, b.status)
    );
}

/** True if both have the same address type, ports and endpoints. */
export function sameSlice(a: SliceObject, b: SliceObject): boolean {
    return a.addressType === b.addressType && sameJson(a.ports, b.ports) && sameJson(a.endpoints, b.endpoints);
}

/** True for equal JSON values; of objects the order of fields does not count. */
function sameJson(a: unknown, b: unknown): boolean {
    if (a === b) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    const [ofA, ofB] = [Object.entries(a), Object.entries(b)];
    if (ofA.length !== ofB.length) return false;
    return ofA.every(([key, value]) => sameJson(value, (b as Readonly<Record<string, unknown>>)[key]));
}
