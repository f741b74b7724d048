import { formatIp, parseIp } from "@antrea/ip";
import {
    Port,
    type Action,
    type BundleMod,
    type Flow,
    type GroupBucket,
    type GroupSelection,
} from "../../src/codec/index.ts";
import { OpenFlowConnection } from "../../src/connection/index.ts";
import { frame, PrivateOvs, type Tuple } from "../../src/testing/index.ts";
import { silent } from "../connection/peer.ts";

/** An Open vSwitch in a network namespace of its own, with one bridge and a connection to it. */
export class LiveSwitch implements AsyncDisposable {
    readonly ovs: PrivateOvs;
    readonly bridge: string;
    readonly connection: OpenFlowConnection;

    private constructor(ovs: PrivateOvs, bridge: string, connection: OpenFlowConnection) {
        this.ovs = ovs;
        this.bridge = bridge;
        this.connection = connection;
    }

    static async start(): Promise<LiveSwitch> {
        const ovs = await PrivateOvs.start({ network: "own" });
        const bridge = PrivateOvs.deviceName("live");
        await ovs.addBridge(bridge);
        const connection = new OpenFlowConnection({ logger: silent }, { socketPath: ovs.mgmtSocket(bridge) });
        connection.start(new AbortController().signal);
        return new LiveSwitch(ovs, bridge, connection);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.connection.close();
        await this.ovs[Symbol.asyncDispose]();
    }

    /** Deletes flows, groups and connections. */
    async reset(): Promise<void> {
        await this.connection.bundle([
            { command: "delete", flow: { match: {} } },
            { command: "delete", group: { id: "all" } },
        ]);
        await this.ovs.ask("dpctl/flush-conntrack");
    }

    /** Sends frames through the tables from this one on; resolves when the datapath has processed them. */
    async send(frames: Iterable<Uint8Array>, table = 0): Promise<void> {
        let count = 0;
        for (const data of frames) {
            this.connection.packetOut({ inPort: Port.LOCAL, actions: [{ type: "resubmit", table }], data });
            count += 1;
            if (count % 500 === 0) await this.connection.barrier();
        }
        await this.connection.barrier();
    }

    /** The table of conntrack. */
    async entries(): Promise<readonly Entry[]> {
        const text = await this.ovs.ask("dpctl/dump-conntrack");
        return text.split("\n").flatMap((line) => {
            const [original, reply] = [...line.matchAll(tuplePattern)].map(tuple);
            if (original === undefined || reply === undefined) return [];
            const number = (name: string): number => Number(new RegExp(`,${name}=(\\d+)`).exec(line)?.[1] ?? 0);
            const protocol = line.slice(0, line.indexOf(","));
            return [{ protocol, original, reply, zone: number("zone"), mark: number("mark") }];
        });
    }

    /** The bucket that each of these groups chooses for each of the 256 values that the hash of the datapath can end in. */
    async slots(groups: readonly (readonly GroupBucket[])[]): Promise<readonly ReadonlyMap<number, number>[]> {
        await this.connection.bundle([
            ...groups.map((buckets, id) => group(id, { method: "dp_hash" }, buckets)),
            // A trace of this flow shows the choices of all groups for one value.
            add({ table: 0, priority: 1, match: {}, actions: groups.map((_, id) => ({ type: "group", group: id })) }),
        ]);
        const chosen = groups.map(() => new Map<number, number>());
        for (let value = 1; value <= 256; value += 1) {
            const trace = await this.ovs.ask("ofproto/trace", this.bridge, `in_port=LOCAL,ip,dp_hash=${value}`);
            for (const [, id, bucket] of trace.matchAll(/group:(\d+)\n\s*-> using bucket (\d+)/g)) {
                const of = chosen[Number(id)];
                of?.set(Number(bucket), (of.get(Number(bucket)) ?? 0) + 1);
            }
        }
        return chosen;
    }
}

const tuplePattern = /src=([^,]+),dst=([^,]+),sport=(\d+),dport=(\d+)/g;

function tuple([, src = "", dst = "", sport, dport]: RegExpMatchArray): Tuple {
    return { src, dst, sport: Number(sport), dport: Number(dport) };
}

/** The change that adds a group of type select, or replaces it. */
export function group(id: number, selection: GroupSelection, buckets: readonly GroupBucket[]): BundleMod {
    return { command: "add_or_modify", group: { id, type: "select", selection, buckets } };
}

export function add(flow: Flow): BundleMod {
    return { command: "add", flow };
}

/** The changes that add a Service on UDP port 53 of this address, with a group of this id. */
export function service(
    address: string,
    selection: GroupSelection,
    buckets: readonly GroupBucket[],
    id = 1,
): readonly BundleMod[] {
    const end = add({ table: 9, priority: 0, match: {}, actions: [] });
    return [group(id, selection, buckets), add(serviceFlow(address, 53, id)), end];
}

/** One datagram to port 53 of the address for each source port from 10,000 on. */
export function* datagrams(count: number, to: string, client: string): Generator<Uint8Array> {
    for (let index = 0; index < count; index += 1) {
        yield frame({ src: client, dst: to, sport: 10_000 + index, dport: 53 });
    }
}

/** An entry of conntrack: the first packet as it came, and the answer that it expects. */
export interface Entry {
    readonly protocol: string;
    readonly original: Tuple;
    readonly reply: Tuple;
    readonly zone: number;
    readonly mark: number;
}

/** How often each of them comes. */
export function tally<T>(all: Iterable<T>): ReadonlyMap<T, number> {
    const counts = new Map<T, number>();
    for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1);
    return counts;
}

export const zone = 65520;
export const serviceMark = 0x10;

/** The address of the endpoint with this number. */
export function endpoint(index: number, family: 4 | 6 = 4): string {
    const base = family === 4 ? 0x0a0a0000n : 0xfd00_0010n << 96n;
    return formatIp({ family, value: base + BigInt(index) + 1n });
}

/** What the bucket of an endpoint does: translate and commit in one action, then go on in table 9. */
export function translation(index: number, family: 4 | 6 = 4): readonly Action[] {
    return [
        {
            type: "ct",
            commit: true,
            zone,
            table: 9,
            nat: { kind: "dst", min: parseIp(endpoint(index, family)), portMin: 8080 },
            exec: [{ type: "set_field", field: "ct_mark", value: serviceMark, mask: serviceMark }],
        },
    ];
}

/**
 * The weights of buckets that share the slots of a `dp_hash` group among `count` endpoints, 1 to 256, with the number of
 * the endpoint: Open vSwitch makes the next power of two of (sum of the weights / smallest weight) slots, from 16 to
 * 256, and shares them by weight. So the weights are the numbers of slots, and one endpoint has a second bucket of
 * weight 1, unless all are equal.
 */
export function slotWeights(count: number): readonly { readonly index: number; readonly weight: number }[] {
    const slots = Math.min(256, Math.max(16, 2 ** Math.ceil(Math.log2(count * 8))));
    const [least, more] = [Math.floor(slots / count), slots % count];
    const weights = Array.from({ length: count }, (_, index) => ({ index, weight: least + (index < more ? 1 : 0) }));
    if (more === 0 || least === 1) return weights;
    return [...weights.slice(0, -1), { index: count - 1, weight: least - 1 }, { index: count - 1, weight: 1 }];
}

/** The buckets of `count` endpoints for `dp_hash`. */
export function slotBuckets(count: number): readonly GroupBucket[] {
    return slotWeights(count).map(({ index, weight }, id) => ({ id, weight, actions: translation(index) }));
}

/** The buckets of `count` endpoints of equal weight, with ids from 1. */
export function equalBuckets(count: number, family: 4 | 6 = 4): readonly GroupBucket[] {
    return Array.from({ length: count }, (_, index) => ({ id: index + 1, actions: translation(index, family) }));
}

/** A bucket that is never live, as its port does not exist. */
export const deadBucket: GroupBucket = { id: 0, weight: 1, watchPort: 65_000, actions: [] };

/** The flow of a Service: datagrams to this address and port go to the group. */
export function serviceFlow(address: string, port: number, group: number): Flow {
    const { family, value } = parseIp(address);
    const match =
        family === 4 ? { eth_type: 0x0800, ipv4_dst: value } : ({ eth_type: 0x86dd, ipv6_dst: value } as const);
    return {
        table: 0,
        priority: 200,
        match: { ...match, ip_proto: 17, udp_dst: port },
        actions: [{ type: "group", group }],
    };
}
