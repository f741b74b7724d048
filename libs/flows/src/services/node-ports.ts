import { type Action, type Flow, type Match } from "@antrea/openflow";
import { type Family, type IpAddress } from "@antrea/ip";
import { Category, type FlowSet } from "../cookies.ts";
import { fieldsOf, fromIp, toIp } from "../fields.ts";
import { load, partsAre, Reg, Source } from "../registers.ts";
import { type NextTable } from "../part.ts";
import { Priority, Table } from "../tables.ts";
import { nodePortAddress } from "./addresses.ts";

const inside = load(Reg.inside, 1);
const nodePort = load(Reg.nodePort, 1);
const fromPod = partsAre([Reg.source, Source.pod]);
const fromGateway = partsAre([Reg.source, Source.gateway]);

/** Addresses of the Node; see `nodeAddressFlows`. */
export interface NodeAddresses {
    /** All of them, with those of the gateway: clients that have one are the Node itself. */
    readonly own: readonly IpAddress[];
    /** Those at which NodePorts are served. */
    readonly nodePorts: readonly IpAddress[];
}

/**
 * Returns the flows of a family that mark packets without the addresses of the Node, for a pipeline with `proxyAll`: those
 * from Pods as of clients of the own Node (`Reg.inside`), those from the gateway to `nodePortAddress` as for a
 * NodePort (`Reg.nodePort`). Throws what `next` throws.
 */
export function nodePortMarkFlows(next: NextTable, family: Family): Flow[] {
    return [
        mark(next, Priority.low, { ...fieldsOf(family).any, ...fromPod }, [inside]),
        mark(next, Priority.low, { ...toIp(nodePortAddress(family)), ...fromGateway }, [nodePort]),
    ];
}

/**
 * Flows that mark by the addresses of the Node which packets are for NodePorts, and which clients are the Node itself.
 * For a pipeline with `proxyAll`.
 */
export function nodeAddressFlows(next: NextTable, { own, nodePorts }: NodeAddresses): FlowSet {
    const flows = [
        ...nodePorts.map((ip) => mark(next, Priority.normal, { ...toIp(ip), ...fromPod }, [inside, nodePort])),
        ...own.flatMap((ip) => {
            const match = { ...fromIp(ip), ...fromGateway };
            const toNodePort = { ...match, ...toIp(nodePortAddress(ip.family)) };
            return [
                mark(next, Priority.normal, match, [inside]),
                mark(next, Priority.high, toNodePort, [inside, nodePort]),
            ];
        }),
    ];
    return { category: Category.service, flows };
}

function mark(next: NextTable, priority: number, match: Match, actions: readonly Action[]): Flow {
    return { table: Table.NodePortMark, priority, match, actions, gotoTable: next.after("NodePortMark") };
}
