import type { LifecyclePart } from "@antrea/runtime";
import { patientMs, type Platform } from "./platform.ts";

/**
 * The part of the lifecycle that connects to the OVS database, without waiting for it, and disconnects at the end. It is
 * the first to start and the last to stop, because the recovery of the uplink at the start and its return at the end
 * remove ports through the session.
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

/** Waits for the database and its lock, which only one agent of a Node has. */
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

/**
 * The watches and events.
 *
 * @param pools the watches of IPPools, if there are any
 */
export function kubePart(
    { events, kube, nodes }: Pick<Platform, "events" | "kube" | "nodes">,
    pools: { start(signal: AbortSignal): void; close(): Promise<void> } | undefined,
): LifecyclePart {
    return {
        name: "kube",
        start: (signal) => {
            nodes.start(signal);
            events.start(signal);
            pools?.start(signal);
        },
        stop: async () => {
            await pools?.close();
            await events.close();
            await nodes.close();
            kube.close();
        },
    };
}
