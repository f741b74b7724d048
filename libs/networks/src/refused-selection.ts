import { fault, NetworkError } from "./error.ts";

/** The annotation by which a Pod requests networks (multi-network specification 1.3 of the Network Plumbing WG). */
export const networksAnnotation = "k8s.v1.cni.cncf.io/networks";

/** The error for a value in the annotation; `path`: its place in it, "" for the annotation itself. */
export function refused(path: string, value: unknown, rule: string, next: string): NetworkError {
    const field = path === "" ? `annotation ${networksAnnotation}` : `annotation ${networksAnnotation}, ${path}`;
    return new NetworkError("INVALID_SELECTION", "caller", fault(field, value, rule, next));
}
