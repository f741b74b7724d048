import { Category, servicePortFlows, type NextTable } from "@antrea/flows";
import type { IpAddress } from "@antrea/ip";
import type { Flow, Group } from "@antrea/openflow";
import type { ServedPort, ServedService } from "@antrea/services";
import type { FlowSource } from "../../platform/ovs/flow-table/index.ts";
import type { PortIds } from "./port-ids.ts";

/** What the flows of a Service depend on besides the Service. */
export interface SourceInput {
    /** The table that follows each table of the pipeline. */
    readonly next: NextTable;
    readonly idsOf: (port: ServedPort) => PortIds;
    /** See `saltOf`. */
    readonly salt: bigint;
    /** Whether the pipeline is that of bridging mode. */
    readonly bridging: boolean;
    /** See `Datapath`. */
    readonly keepsFragments: boolean;
    /** Whether the pipeline serves the Node itself and clients outside. */
    readonly proxyAll: boolean;
    /** Addresses to which the host translates external addresses that are the Node's own, by the text of those. */
    readonly standIns: ReadonlyMap<string, IpAddress>;
    /** Whether OVS lacks the meter of rejects. */
    readonly withoutMeter: boolean;
}

interface Made {
    readonly source: ServiceSource;
    readonly flows: readonly Flow[];
    readonly groups: readonly Group[];
}

/**
 * The flows and groups of one Service as it was at one moment, made each time they are needed: Services with many endpoints
 * would take most of the agent's memory.
 */
export class ServiceSource implements FlowSource {
    /** What was made last: the flow table asks for groups and flows one after the other. */
    static #last: Made | undefined;
    readonly category = Category.service;
    readonly isConstant = true;
    readonly service: ServedService;
    readonly size: number;
    /** Number of flows, groups and buckets. */
    readonly weight: number;
    readonly #input: SourceInput;
    readonly #counts = new Map<number, number>();
    /** What the constructor made: the flow table asks for it soon, after sources of other Services were constructed. */
    #first: Made | undefined;

    /** Throws FlowsError `INVALID_INPUT` as `servicePortFlows`. */
    constructor(service: ServedService, input: SourceInput) {
        this.service = service;
        this.#input = input;
        this.#first = this.#made();
        const { flows, groups } = this.#first;
        for (const { table } of flows) this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1);
        this.size = flows.length;
        this.weight = groups.reduce((sum, { buckets }) => sum + 1 + buckets.length, flows.length);
    }

    counts(): ReadonlyMap<number, number> {
        return this.#counts;
    }

    flows(): readonly Flow[] {
        const { flows } = this.#made();
        this.#first = undefined; // asked for after the groups
        return flows;
    }

    groups(): readonly Group[] {
        return this.#made().groups;
    }

    #made(): Made {
        if (this.#first !== undefined) return this.#first;
        if (ServiceSource.#last?.source === this) return ServiceSource.#last;
        const { next, idsOf, ...input } = this.#input;
        const { uid, affinitySeconds, ports } = this.service;
        const parts = ports.map((port) =>
            servicePortFlows(next, {
                uid,
                port,
                affinitySeconds,
                ...idsOf(port),
                ...input,
            }),
        );
        const made = {
            source: this,
            flows: parts.flatMap(({ flows }) => flows.flows),
            groups: parts.flatMap(({ groups }) => groups),
        };
        ServiceSource.#last = made;
        return made;
    }
}
