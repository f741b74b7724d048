import type { LifecyclePart } from "@antrea/runtime";
import { patientMs, type Platform } from "./platform.ts";

/**
 * Returns the part that connects to the OVS database, without waiting for it, and closes the session at the end; sets
 * `ovsdb` unmet on each disconnect. First to start, last to stop: recovery and return of the uplink remove ports
 * through the session.
 */
export function ovsdbSessionPart({ database, readiness }: Pick<Platform, "database" | "readiness">): LifecyclePart {
    return {
        name: "ovsdb-session",
        start: (signal) => {
            database.onDisconnect(() => readiness.unmet("ovsdb", "ovsdb-server is not connected"));
            database.start(signal);
        },
        stop: () => database.close(),
    };
}

/**
 * Returns the part that waits for the database and its lock, which only one agent of a Node has, for at most
 * `patientMs`; then meets the condition `ovsdb`. Its start rejects with OvsdbError `SCHEMA_MISMATCH`, `ABORTED` or
 * `CLOSED`.
 */
export function ovsdbPart({ database, readiness }: Pick<Platform, "database" | "readiness">): LifecyclePart {
    return {
        name: "ovsdb",
        startTimeoutMs: patientMs,
        start: async (signal) => {
            await database.ready(signal);
            await database.lockAcquired(signal);
            readiness.met("ovsdb");
        },
    };
}

/** Watches of objects of the API server; `close` never rejects. */
interface Watches {
    start(signal: AbortSignal): void;
    close(): Promise<void>;
}

/**
 * Returns the part that starts the watch of Nodes, those of features and the event recorder, and waits for none of them. At
 * the end it closes them, and then the connections of the Kubernetes client.
 *
 * @param watches those of features; undefined for one that has none
 */
export function kubePart(
    { events, kube, nodes }: Pick<Platform, "events" | "kube" | "nodes">,
    watches: readonly (Watches | undefined)[],
): LifecyclePart {
    return {
        name: "kube",
        start: (signal) => {
            nodes.start(signal);
            events.start(signal);
            for (const one of watches) one?.start(signal);
        },
        stop: async () => {
            await Promise.all(watches.flatMap((one) => one?.close() ?? []));
            await events.close();
            await nodes.close();
            kube.close();
        },
    };
}
