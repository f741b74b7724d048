import { duplicates } from "./duplicates.ts";
import { type Finding } from "./finding.ts";
import { leaks } from "./leaks.ts";
import { orphans } from "./orphans.ts";
import { reservations } from "./reservations.ts";
import { type Snapshot } from "./snapshot.ts";

/** The report of `ipam check`, as `-o json` prints it; `looked` are the numbers of objects that were compared. */
export interface CheckReport {
    readonly findings: readonly Omit<Finding, "key">[];
    /** Nodes whose OVS could not be read. */
    readonly unread: readonly { readonly node: string; readonly reason: string }[];
    readonly looked: {
        readonly claims: number;
        readonly pods: number;
        readonly records: number;
        readonly nodes: number;
    };
}

/**
 * Returns all findings in one snapshot, one rule after the other (duplicates, leaks, orphans, reservations); `inBoth`
 * removes those that are only transient.
 */
export function findingsOf(snapshot: Snapshot): readonly Finding[] {
    return [...duplicates(snapshot), ...leaks(snapshot), ...orphans(snapshot), ...reservations(snapshot)];
}

/** Findings present in both snapshots, as in the later one; a transient state is no finding. */
export function inBoth(first: readonly Finding[], second: readonly Finding[]): readonly Finding[] {
    const keys = new Set(first.map(({ key }) => key));
    return second.filter(({ key }) => keys.has(key));
}

/**
 * Returns the report of `ipam check` for the later snapshot: these findings, the Nodes that were not read, and how many
 * objects were checked.
 */
export function checkReport(snapshot: Snapshot, findings: readonly Finding[]): CheckReport {
    return {
        findings: findings.map(({ key: _, ...rest }) => rest),
        unread: [...snapshot.unread].map(([node, reason]) => ({ node, reason })),
        looked: {
            claims: snapshot.allocations.length,
            pods: snapshot.pods.length,
            records: snapshot.records.length,
            nodes: snapshot.pools.nodes.length,
        },
    };
}
