import { Category } from "@antrea/flows";
import type { Flow, Group, GroupBucket } from "@antrea/openflow";
import type { FlowsAndGroups, FlowSource } from "../../../../src/platform/ovs/flow-table/index.ts";

/** Endpoints, as ids of buckets, by port; without endpoints a port has a flow and no group. */
export type TestService = Readonly<Record<number, readonly number[]>>;

/** A group with these buckets. */
export function groupOf(id: number, endpoints: readonly number[]): Group {
    const bucket = (one: number): GroupBucket => ({ id: one, actions: [{ type: "output", port: (one % 1_000) + 1 }] });
    return { id, type: "select", selection: { method: "dp_hash" }, buckets: endpoints.map(bucket) };
}

/** A flow for each port, and a group with its number for one with endpoints. */
export function serviceOf(service: TestService): FlowsAndGroups & { readonly groups: readonly Group[] } {
    const ports = Object.entries(service).map(([port, endpoints]) => ({ port: Number(port), endpoints }));
    return {
        category: Category.service,
        flows: ports.map(({ port, endpoints }): Flow => ({
            table: 11,
            priority: 10,
            match: { in_port: port },
            actions: endpoints.length === 0 ? [] : [{ type: "group", group: port }],
        })),
        groups: ports.flatMap(({ port, endpoints }) => (endpoints.length === 0 ? [] : [groupOf(port, endpoints)])),
    };
}

/** A constant source of these. */
export class ServiceSource implements FlowSource {
    /** How often flows were made of any source. */
    static made = 0;
    readonly category = Category.service;
    readonly isConstant = true;
    readonly size: number;
    readonly #service: TestService;

    constructor(service: TestService) {
        this.#service = service;
        this.size = Object.keys(service).length;
    }

    counts(): ReadonlyMap<number, number> {
        return new Map([[11, this.size]]);
    }

    flows(): readonly Flow[] {
        ServiceSource.made += 1;
        return serviceOf(this.#service).flows;
    }

    groups(): readonly Group[] {
        return serviceOf(this.#service).groups;
    }
}
