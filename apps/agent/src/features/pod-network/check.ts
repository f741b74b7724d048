import type { Flow } from "@antrea/openflow";
import { formatIp, sameIp, type Family } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import { checkEnds, differs, type CheckEnds, type PodEnd } from "./check-ends.ts";
import { missingFlows } from "./missing-flows.ts";
import type { PodInterface, PodRecord } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of checkInterface. */
export interface CheckComponents {
    readonly netlink: Netlink;
    /** The port of this name on the bridge, with the error by which OVS cannot open it; undefined if there is none. */
    readonly port: (
        name: string,
    ) => { readonly ofPort: number | undefined; readonly error: string | undefined } | undefined;
    /** The desired flows of an interface. */
    readonly flowsOf: (known: PodInterface) => readonly Flow[];
    /** Dumps the flows in OVS that carry the cookie of this agent's round. */
    readonly dumpFlows: () => Promise<readonly Flow[]>;
    /** Describes a problem with the allocations of a record's pool addresses; undefined if there is none. */
    readonly allocationProblem: (record: PodRecord) => Promise<string | undefined>;
}

/** The interface to check. */
export interface CheckInput extends Omit<CheckEnds, "record"> {
    readonly known: PodInterface;
    /** The families whose default route another interface of the Pod has; default: none. */
    readonly movedRoutes?: ReadonlySet<Family> | undefined;
}

/**
 * Implements CNI CHECK: compares a wired interface with the kernel and OVS; changes nothing. Rejects with CheckError on
 * the first difference, and with the error of the part that cannot be read, e.g. OVS.
 */
export async function checkInterface(components: CheckComponents, input: CheckInput): Promise<void> {
    const { known, netns, previous } = input;
    const { record } = known;
    checkRoutes(input, await checkEnds(components.netlink, { record, netns, previous }));
    const port = components.port(record.hostIfName);
    if (port === undefined) throw differs("OVS_PORT", record, `OVS has no port ${record.hostIfName}`);
    if (port.ofPort !== known.ofPort) {
        throw differs(
            "OVS_PORT",
            record,
            `OVS port ${record.hostIfName} has number ${port.ofPort ?? "none"}, not ${known.ofPort}${port.error === undefined ? "" : `: ${port.error}`}`,
        );
    }
    const problem = await components.allocationProblem(record);
    if (problem !== undefined) throw differs("ALLOCATION", record, problem);
    if (record.isolated === true) throw differs("ISOLATED", record, isolatedText);
    const missing = await missingFlows(components.flowsOf(known), await components.dumpFlows());
    if (missing.length > 0) {
        throw differs(
            "FLOWS",
            record,
            `OVS lacks ${missing.length} flows of the interface, the first in table ${missing[0]?.table}`,
        );
    }
}

/** Why an isolated interface does not pass CHECK. */
export const isolatedText =
    "the interface is isolated, because its address is or may soon be another Pod's; see the events of the Pod";

function checkRoutes({ known: { record }, movedRoutes }: CheckInput, { link, routes }: PodEnd): void {
    for (const { gateway } of record.addresses) {
        if (movedRoutes?.has(gateway.family) === true) continue;
        const found = routes.some(
            (route) =>
                route.dst.length === 0 &&
                route.dev === link.index &&
                route.via !== undefined &&
                sameIp(route.via, gateway),
        );
        if (!found) throw differs("ROUTE", record, `no default route via ${formatIp(gateway)} on ${record.ifName}`);
    }
}
