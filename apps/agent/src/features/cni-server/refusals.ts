import { CniCallError } from "@antrea/cni";

/**
 * Runs a parser of a call. What it refuses is reported, and thrown, with place and next step in its message; an error of
 * another class than CniCallError has both already.
 *
 * @param place what the call is about, for messages: `network red, interface net1`
 */
export function parsedAt<T>(place: string, parse: () => T, report: (error: unknown) => void = () => undefined): T {
    try {
        return parse();
    } catch (error) {
        const complete = error instanceof CniCallError ? completed(error, place) : error;
        report(complete);
        throw complete;
    }
}

function completed({ cause, code, fault, message }: CniCallError, place: string): CniCallError {
    // Some messages end with their next step.
    const next = message.includes("; next: ") ? "" : `; next: ${nextStep(message)}`;
    return new CniCallError(code, fault, `${place}: ${message}${next}`, { cause });
}

/** Who wrote what is wrong, by the field with which the message begins. */
function nextStep(message: string): string {
    if (message.startsWith("ipam")) return "correct spec.config of the NetworkAttachmentDefinition";
    if (message.startsWith("CNI_ARGS"))
        return "correct what the container runtime or the meta plugin passes in CNI_ARGS";
    return "correct the Pod's annotation k8s.v1.cni.cncf.io/networks";
}
