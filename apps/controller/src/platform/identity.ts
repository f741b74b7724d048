import { hostname } from "node:os";

/** Where this process runs, from the environment that the Deployment gives it. */
export interface Identity {
    /** The Pod's name, else the host's. For events. */
    readonly instance: string;
    /** Unique for leader election. A Pod's UID is unchanged when its container restarts, so that it keeps the lead. */
    readonly leader: string;
    /** Of the lease, and of the ledger of NodeIPAM. */
    readonly namespace: string;
}

/**
 * The identity from the environment variables POD_NAME, POD_NAMESPACE and POD_UID, with the host name, the client's
 * namespace (else kube-system) and a random UUID as defaults.
 */
export function identityFrom(
    environment: Readonly<Record<string, string | undefined>>,
    clientNamespace: string | undefined,
): Identity {
    const instance = environment.POD_NAME ?? hostname();
    const namespace = environment.POD_NAMESPACE ?? clientNamespace ?? "kube-system";
    return { instance, leader: `${instance}_${environment.POD_UID ?? crypto.randomUUID()}`, namespace };
}
