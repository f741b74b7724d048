import { type TableUse } from "../part.ts";
import { fragmentTables } from "./fragments.ts";

/** Flow tables of source NAT for Services, for `Pipeline`: lookup of answers, translation. */
export const serviceSnatTables = [
    { table: "ServiceReply", stage: "lookup", miss: "drop" },
    { table: "ServiceSnat", stage: "portSnat", miss: "next" },
] as const satisfies readonly TableUse[];

const commonTables = [
    { table: "UnSnat", stage: "lookup", miss: "next" },
    { table: "ServiceLb", stage: "services", miss: "next" },
    { table: "SessionAffinity", stage: "affinity", miss: "drop" },
    { table: "EndpointDnat", stage: "affinity", miss: "drop" },
] as const satisfies readonly TableUse[];

/**
 * Returns the flow tables of Services that the switch serves, for `Pipeline`.
 *
 * @param o.bridging in bridging mode `bridgingTables` has those of source NAT
 * @param o.keepsFragments see `ServicesInput`; default false
 */
export function serviceTables({
    bridging,
    proxyAll,
    keepsFragments = false,
}: {
    readonly bridging: boolean;
    readonly proxyAll: boolean;
    readonly keepsFragments?: boolean | undefined;
}): readonly TableUse[] {
    return [
        ...commonTables,
        ...(keepsFragments ? fragmentTables : []),
        ...(proxyAll ? [{ table: "NodePortMark", stage: "services", miss: "next" } as const] : []),
        ...(bridging ? [] : serviceSnatTables),
    ];
}
