import { type Action, type FieldName, type Group, type GroupBucket } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import {
    bucketIds,
    bucketSelection,
    deadBucketId,
    type DeadBucket,
    type Endpoint,
    type ServedPort,
} from "@antrea/services";
import { zoneOf } from "../conntrack.ts";
import { OfPort } from "../ports.ts";
import { CtMark, load, move, Reg } from "../registers.ts";
import { type NextTable } from "../part.ts";
import { chooseEndpoint } from "./affinity.ts";
import { protocolFields } from "./protocols.ts";

/**
 * Action that translates the destination to an endpoint and commits the connection, with the mark that the switch
 * translates it and its source; the packet continues with the policies, which see the endpoint.
 */
export function translate(next: NextTable, { ip, port }: Endpoint, bridging: boolean): Action {
    return {
        type: "ct",
        commit: true,
        zone: zoneOf(ip.family, bridging),
        table: next.into("egressPolicy", ip.family),
        nat: { kind: "dst", min: ip, portMin: port },
        exec: [load(CtMark.service, 1), move(Reg.source, CtMark.source)],
    };
}

/**
 * Group that chooses among two or more endpoints, as `bucketSelection` of libs/services computes. Fields of method `hash` that a
 * packet does not have, as the port in later fragments, do not count for it.
 */
export function selectGroup(
    id: number,
    { family, protocol }: Pick<ServedPort, "family" | "protocol">,
    endpoints: readonly Endpoint[],
    actionOf: (endpoint: Endpoint) => Action,
): Group {
    const ids = bucketIds(endpoints);
    const selection = bucketSelection(endpoints.length);
    const buckets = endpoints.map((endpoint, at) => ({ id: ids[at] ?? 0, actions: [actionOf(endpoint)] }));
    if (selection.method === "hash") {
        const fields = [{ field: sourceField(family) }, { field: protocolFields(protocol).sourcePortField }];
        return { id, type: "select", selection: { method: "hash", fields }, buckets };
    }
    const weighted = buckets.map((bucket, at) => ({ ...bucket, weight: selection.weights[at] ?? 1 }));
    return {
        id,
        type: "select",
        selection: { method: "dp_hash" },
        buckets: selection.dead === undefined ? weighted : withDead(weighted, selection.dead),
    };
}

/**
 * Group that chooses by the client's address alone, so that connections of a client that begin at the same time agree.
 *
 * @param salt another one gives clients other endpoints
 */
export function affinityGroup(id: number, family: Family, buckets: readonly number[], salt: bigint): Group {
    return {
        id,
        type: "select",
        selection: {
            method: "hash",
            fields: [{ field: sourceField(family) }],
            ...(salt === 0n ? {} : { param: salt }),
        },
        buckets: buckets.map((bucket) => ({ id: bucket, actions: chooseEndpoint(bucket) })),
    };
}

function withDead(buckets: readonly GroupBucket[], { before, weight }: DeadBucket): readonly GroupBucket[] {
    return buckets.toSpliced(before, 0, { id: deadBucketId, weight, watchPort: OfPort.none, actions: [] });
}

function sourceField(family: Family): FieldName {
    return family === 4 ? "ipv4_src" : "ipv6_src";
}
