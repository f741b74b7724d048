import { parseIp } from "@antrea/ip";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type BundleMod, type CtFlush, type Match } from "../../src/codec/index.ts";
import { frame, type Tuple } from "../../src/testing/index.ts";
import { add, datagrams, LiveSwitch, type Entry } from "./live.ts";

type Protocol = "udp" | "tcp";
const [dns, other, dns6] = ["10.96.0.10", "10.96.0.11", "fd00:96::a"];
const [red, blue] = ["10.10.0.5", "10.10.0.6"];
const red6 = "fd00:10::5";
const clients = ["10.10.1.1", "10.10.1.2"];
const clients6 = ["fd00:10:1::1"];
const zones = [65520, 7];

/** UDP and TCP of each family to any address, translated to an endpoint: a table for each zone. */
function flows(): readonly BundleMod[] {
    return zones.flatMap((_, table) =>
        (["udp", "tcp"] as const).flatMap((protocol) => [
            translate(table, protocol, red, 200),
            // Clients alternate between the endpoints by the lowest bit of their port.
            translate(table, protocol, blue, 201, { [`${protocol}_src`]: { value: 1, mask: 1 } }),
            translate(table, protocol, red6, 200),
        ]),
    );
}

function translate(table: number, protocol: Protocol, to: string, priority: number, more: Match = {}): BundleMod {
    const min = parseIp(to);
    const match: Match = {
        eth_type: min.family === 4 ? 0x0800 : 0x86dd,
        ip_proto: protocol === "udp" ? 17 : 6,
        ...more,
    };
    const zone = zones[table] ?? 0;
    const actions = [{ type: "ct", commit: true, zone, nat: { kind: "dst", min, portMin: 5353 } }] as const;
    return add({ table, priority, match, actions });
}

describe("flushes of conntrack by part of a tuple and a zone", () => {
    let live: LiveSwitch;

    beforeAll(async () => {
        live = await LiveSwitch.start();
        await live.connection.bundle(flows());
    });
    afterAll(() => live[Symbol.asyncDispose]());

    /** Four datagrams and four SYNs of each client to each address, two of them by each endpoint. */
    function* traffic(): Generator<Uint8Array> {
        const pairs = [
            ...clients.flatMap((src) => [dns, other].map((dst) => ({ src, dst }))),
            ...clients6.map((src) => ({ src, dst: dns6 })),
        ];
        for (const pair of pairs) {
            for (const protocol of ["udp", "tcp"] as const) {
                for (const sport of [1000, 1001, 1002, 1003]) {
                    for (const dport of [53, 54]) yield frame({ ...pair, sport, dport } satisfies Tuple, protocol);
                }
            }
        }
    }

    beforeEach(async () => {
        await live.ovs.ask("dpctl/flush-conntrack");
        for (const table of zones.keys()) await live.send(traffic(), table);
    });

    const text = (all: readonly Entry[]): readonly string[] => all.map((entry) => JSON.stringify(entry)).sort();
    const udp: Protocol = "udp";

    it.each<[string, CtFlush, number, (entry: Entry) => boolean]>([
        [
            "a Service's address, protocol and port",
            { zone: 65520, protocol: 17, original: { dst: parseIp(dns), dstPort: 53 } },
            8,
            ({ protocol, original, zone }) =>
                zone === 65520 && protocol === udp && original.dst === dns && original.dport === 53,
        ],
        [
            "an endpoint of all Services, by the answer",
            { zone: 65520, protocol: 17, reply: { src: parseIp(red), srcPort: 5353 } },
            16,
            ({ protocol, reply, zone }) => zone === 65520 && protocol === udp && reply.src === red,
        ],
        [
            "one endpoint of one Service",
            {
                zone: 65520,
                protocol: 17,
                original: { dst: parseIp(dns), dstPort: 53 },
                reply: { src: parseIp(red), srcPort: 5353 },
            },
            4,
            ({ protocol, original, reply, zone }) =>
                zone === 65520 &&
                protocol === udp &&
                original.dst === dns &&
                original.dport === 53 &&
                reply.src === red,
        ],
        [
            "a client, in the other zone, whatever the protocol",
            { zone: 7, original: { src: parseIp(clients[0] ?? "") } },
            32,
            ({ original, zone }) => zone === 7 && original.src === clients[0],
        ],
        ["a protocol", { zone: 7, protocol: 6 }, 40, ({ protocol, zone }) => zone === 7 && protocol === "tcp"],
        [
            "one connection",
            {
                zone: 65520,
                protocol: 17,
                original: { src: parseIp(clients[1] ?? ""), dst: parseIp(other), srcPort: 1001, dstPort: 54 },
            },
            1,
            ({ protocol, original, zone }) =>
                zone === 65520 &&
                protocol === udp &&
                original.src === clients[1] &&
                original.dst === other &&
                original.sport === 1001 &&
                original.dport === 54,
        ],
        [
            "an IPv6 Service",
            { zone: 65520, protocol: 17, original: { dst: parseIp(dns6), dstPort: 53 } },
            4,
            ({ protocol, original, zone }) =>
                zone === 65520 && protocol === udp && original.dst === dns6 && original.dport === 53,
        ],
        [
            "an IPv6 endpoint, by the answer",
            { zone: 65520, protocol: 17, reply: { src: parseIp(red6) } },
            8,
            ({ protocol, original, zone }) => zone === 65520 && protocol === udp && original.dst === dns6,
        ],
        ["a zone", { zone: 7 }, 80, ({ zone }) => zone === 7],
        ["an address that nobody has", { zone: 7, original: { dst: parseIp("10.96.0.99") } }, 0, () => false],
        ["a zone without connections", { zone: 8, protocol: 17 }, 0, () => false],
        [
            "an endpoint as if it were the address that clients called",
            { zone: 65520, protocol: 17, original: { dst: parseIp(red) } },
            0,
            () => false,
        ],
    ])("%s: exactly those", async (_, flush, count, fits) => {
        const before = await live.entries();
        expect(before.length).toBe(160);
        expect(before.filter(fits).length).toBe(count);
        await live.connection.flushConnections([flush]);
        expect(text(await live.entries())).toEqual(text(before.filter((entry) => !fits(entry))));
    });

    it("several in one call", async () => {
        await live.connection.flushConnections([
            { zone: 65520, protocol: 17, original: { dst: parseIp(dns), dstPort: 53 } },
            { zone: 7, protocol: 17, original: { dst: parseIp(dns), dstPort: 53 } },
        ]);
        expect((await live.entries()).length).toBe(144);
    });

    it("one that removes most of the table leaves some, which the same flush finds when it is repeated", async () => {
        const count = 4_000;
        await live.ovs.ask("dpctl/flush-conntrack");
        await live.send(datagrams(count, dns, clients[0] ?? ""));
        await live.send(datagrams(count / 20, other, clients[0] ?? ""));
        const flush: CtFlush = { zone: 65520, protocol: 17, original: { dst: parseIp(dns) } };
        const left: number[] = [];
        do {
            await live.connection.flushConnections([flush]);
            const all = await live.entries();
            left.push(all.filter(({ original }) => original.dst === dns).length);
            expect(all.filter(({ original }) => original.dst === other).length).toBe(count / 20);
        } while (left.at(-1) !== 0 && left.length < 30);
        // The table shrinks while the switch walks it.
        expect(left[0]).toBeGreaterThan(0);
        expect(left.at(-1)).toBe(0);
    });

    it("one that removes less than half of the table leaves none", async () => {
        const count = 4_000;
        await live.ovs.ask("dpctl/flush-conntrack");
        await live.send(datagrams(count, other, clients[0] ?? ""));
        await live.send(datagrams(count * 0.9, dns, clients[0] ?? ""));
        await live.connection.flushConnections([{ zone: 65520, protocol: 17, original: { dst: parseIp(dns) } }]);
        expect((await live.entries()).map(({ original }) => original.dst)).toEqual(
            Array.from({ length: count }, () => other),
        );
    });
});
