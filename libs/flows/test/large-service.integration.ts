import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { parseMac } from "@antrea/ip";
import { frame } from "@antrea/openflow/testing";
import { type Protocol } from "@antrea/services";
import {
    addServicePorts,
    endpoint,
    mac,
    ofPort,
    portFlows,
    servedPort,
    serviceNode,
    startServiceSwitch,
} from "./service-examples.ts";
import { type TestSwitch } from "./switch.ts";

interface Row {
    readonly family: 4 | 6;
    readonly protocol: Exclude<Protocol, "SCTP">;
    readonly count: number;
}

const rows: readonly Row[] = [
    ...([193, 255, 1_000] as const).flatMap((count) =>
        (["TCP", "UDP"] as const).map((protocol): Row => ({ family: 4, protocol, count })),
    ),
    { family: 6, protocol: "UDP", count: 1_000 },
];
const pod = { 4: "10.10.0.2", 6: "fd00:10::2" };
const vipOf = ({ family, count }: Row): string =>
    family === 4 ? `10.96.${count >> 8}.${count & 0xff}` : `fd00:96::${count.toString(16)}`;
const addressOf = (family: 4 | 6, at: number): string =>
    family === 4 ? `10.11.${at >> 8}.${at & 0xff}` : `fd00:11::${(at + 1).toString(16)}`;

function* connections(row: Row, count: number): Generator<Uint8Array> {
    const macs = { src: parseMac(mac.a), dst: parseMac(mac.gw) };
    const [src, dst] = [pod[row.family], vipOf(row)];
    for (let at = 0; at < count; at += 1)
        yield frame({ src, dst, sport: 10_000 + at, dport: 80 }, row.protocol === "TCP" ? "tcp" : "udp", macs);
}

// What the switch sends to a Service of so many endpoints that the datapath cannot choose evenly.
describe("connections of one Pod", () => {
    const node = serviceNode("noEncap", false);
    let ovs: TestSwitch;

    beforeAll(async () => {
        const ports = rows.map((row, at) => {
            const endpoints = Array.from({ length: row.count }, (_, index) => endpoint(addressOf(row.family, index)));
            return portFlows(node, at + 1, servedPort(vipOf(row), endpoints, { protocol: row.protocol }));
        });
        ovs = await startServiceSwitch(node, ports);
        await addServicePorts(ovs, node);
    });
    afterAll(() => ovs[Symbol.asyncDispose]());
    beforeEach(() => ovs.ovs.ask("dpctl/flush-conntrack"));

    it.each(rows)("are divided evenly over $count endpoints: $protocol, IPv$family", async (row) => {
        const { family, count } = row;
        const all = 10 * count;
        await ovs.receive(connections(row, all), ofPort.a);
        const found = new Map<string, number>();
        for (const line of (await ovs.ovs.ask("dpctl/dump-conntrack")).split("\n")) {
            const [, to = "", from = ""] = /orig=\([^)]*dst=([^,]+),.*reply=\(src=([^,]+),/.exec(line) ?? [];
            if (to === vipOf(row)) found.set(from, (found.get(from) ?? 0) + 1);
        }
        const shares = Array.from({ length: count }, (_, at) => found.get(addressOf(family, at)) ?? 0);
        expect(shares.reduce((sum, share) => sum + share)).toBe(all);
        // Chi-squared against an equal chance for each, per degree of freedom: 1 with a standard deviation of this size.
        const spread = shares.reduce((sum, share) => sum + (share - 10) ** 2 / 10, 0) / (count - 1);
        expect(Math.abs(spread - 1)).toBeLessThan(4 * Math.sqrt(2 / (count - 1)));
    });
});
