import { describe, expect, it } from "@jest/globals";
import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import { connectionZone } from "@antrea/flows";
import { type CtFlush } from "@antrea/openflow";
import { type ServedService } from "@antrea/services";
import {
    flushesOf,
    StaleConnections,
    type FlushOfAllZones,
} from "../../../../src/features/services/udp/stale-connections.ts";
import { endpointsAt, portAt, serviceWith } from "../examples.ts";

const dns = (...endpoints: readonly string[]): ServedService =>
    serviceWith([portAt("10.96.0.10", endpointsAt(...endpoints), { protocol: "UDP", port: 53 })]);
const [a, b] = ["10.10.1.2 5353", "10.10.1.3 5353"];

const zones = (family: 4 | 6): readonly number[] => [connectionZone(family)];
const inZone = ({ family, ...flush }: FlushOfAllZones): CtFlush => ({ ...flush, zone: connectionZone(family) });

function text({ zone, protocol, original = {}, reply = {} }: CtFlush): string {
    const of = (tuple: NonNullable<CtFlush["original"]>): string =>
        [tuple.src && formatIp(tuple.src), tuple.srcPort, tuple.dst && formatIp(tuple.dst), tuple.dstPort]
            .map((one) => one ?? "*")
            .join(" ");
    return `${zone} ${protocol}: ${of(original)}, ${of(reply)}`;
}
const texts = (before: ServedService | undefined, after: ServedService | undefined): readonly string[] =>
    [...flushesOf(before, after, undefined).values()].map(inZone).map(text);
const toDns = "65520 17: * * 10.96.0.10 53";

describe("flushes of a change", () => {
    it.each<[string, ServedService | undefined, ServedService | undefined, readonly string[]]>([
        ["nothing", dns(a), dns(a), []],
        ["a new endpoint", dns(a), dns(a, b), []],
        ["an endpoint that is gone", dns(a, b), dns(b), [`${toDns}, 10.10.1.2 5353 * *`]],
        ["the last endpoint", dns(a), dns(), [`${toDns}, 10.10.1.2 5353 * *`]],
        ["the first endpoint", dns(), dns(a), []],
        ["a Service that is gone", dns(a), undefined, [`${toDns}, * * * *`]],
        ["a new Service", undefined, dns(a), [`${toDns}, 10.96.0.10 53 * *`]],
        ["TCP", serviceWith([portAt("10.96.0.10", endpointsAt(a))]), undefined, []],
    ])("%s", (_name, before, after, flushes) => {
        expect(texts(before, after)).toEqual(flushes);
    });

    it("leave connections to endpoints that serve, but that new ones do not go to", () => {
        const both = dns(a, b);
        const after = serviceWith(both.ports.map((port) => ({ ...port, endpoints: { cluster: [], local: [] } })));
        expect(texts(both, after)).toEqual([]);
        expect(texts(after, dns(b))).toEqual([`${toDns}, 10.10.1.2 5353 * *`]);
    });

    it("of an address of a load balancer, of another policy and another family", () => {
        const [cluster, local] = [endpointsAt("fd00::2 5353", "fd00::3 5353"), endpointsAt("fd00::2 5353")];
        const port = portAt("fd00:96::a", cluster, { protocol: "UDP", port: 53, endpoints: { cluster, local } });
        const vip = { kind: "loadBalancer", ip: parseIp("2001:db8::1"), inside: "cluster", outside: "local" } as const;
        const before = serviceWith([{ ...port, addresses: [...port.addresses, vip] }]);
        const after = serviceWith([
            { ...port, addresses: port.addresses.map((one) => ({ ...one, inside: "local", outside: "local" })) },
        ]);
        expect(texts(before, after)).toEqual(["65510 17: * * 2001:db8::1 53, * * * *"]);
    });
});

describe("with proxyAll", () => {
    const host = {
        nodePortAddresses: (family: 4 | 6) => (family === 4 ? [parseIp("192.0.2.1")] : []),
        standIn: (ip: IpAddress) => (formatIp(ip) === "192.0.2.1" ? parseIp("169.254.0.130") : undefined),
    };
    const served = (...serving: readonly string[]): ServedService => {
        const scopes = { inside: "cluster", outside: "local" } as const;
        const own = { kind: "external", ip: parseIp("192.0.2.1"), ...scopes } as const;
        const ports = dns(...serving).ports.map((port) => ({
            ...port,
            addresses: [...port.addresses, own],
            nodePort: { port: 30_053, ...scopes },
        }));
        return serviceWith(ports);
    };

    it("flushes are of NodePorts and stand-ins too", () => {
        const flushes = flushesOf(served(a, b), served(b), host);
        expect([...flushes.values()].map(inZone).map(text)).toEqual(
            ["10.96.0.10 53", "192.0.2.1 53", "169.254.0.130 53", "169.254.0.252 30053", "192.0.2.1 30053"].map(
                (place) => `65520 17: * * ${place}, 10.10.1.2 5353 * *`,
            ),
        );
    });

    it.each([
        ["169.254.0.252", 30_053, a, false],
        ["192.0.2.1", 30_053, b, false],
        ["169.254.0.130", 53, a, false],
        ["10.96.0.10", 53, b, false],
        ["10.96.0.10", 53, "10.10.1.4 5353", true],
        ["169.254.0.252", 30_054, a, true],
        ["169.254.0.252", 30_053, "10.10.1.4 5353", true],
    ])("a connection to %s port %d that leads to %s is stale: %s", (dst, dstPort, endpoint, expected) => {
        const [src = "", srcPort] = endpoint.split(" ");
        const client = { src: parseIp("192.0.2.9"), srcPort: 4000 };
        const flush = new StaleConnections([served(a, b)], host, zones).flushOf({
            original: { ...client, dst: parseIp(dst), dstPort },
            reply: { src: parseIp(src), srcPort: Number(srcPort), dst: client.src, dstPort: 4000 },
            zone: 65520,
            mark: 1 << 4,
        });
        expect(flush !== undefined).toBe(expected);
    });
});

describe("stale connections", () => {
    const stale = new StaleConnections([dns(a), dns(a, b)], undefined, () => [65520, 4098]);
    const flushOf = (dst: string, from: string, mark: number, zone = 65520): string | undefined => {
        const [ip = "", port] = from.split(" ");
        const client = parseIp("10.10.1.9");
        const flush = stale.flushOf({
            original: { src: client, srcPort: 4000, dst: parseIp(dst), dstPort: 53 },
            reply: { src: parseIp(ip), srcPort: Number(port), dst: client, dstPort: 4000 },
            zone,
            mark,
        });
        return flush && text(flush);
    };

    it.each([
        ["to an endpoint", "10.96.0.10", a, 0x13, false],
        ["to an endpoint that OVS may have already, or still", "10.96.0.10", b, 0x13, false],
        ["to an endpoint that is gone", "10.96.0.10", "10.10.1.4 5353", 0x13, true],
        ["to another port of an endpoint", "10.96.0.10", "10.10.1.2 53", 0x13, true],
        ["that nobody has translated", "10.96.0.10", "10.96.0.10 53", 0x03, true],
        ["of a Service that is gone", "10.96.0.11", a, 0x13, true],
        ["between Pods", "10.10.1.2", "10.10.1.2 53", 0x03, false],
    ])("a connection %s", (_name, dst, from, mark, isStale) => {
        const flush = isStale ? `65520 17: 10.10.1.9 4000 ${dst} 53, * * * *` : undefined;
        expect(flushOf(dst, from, mark)).toBe(flush);
    });

    it("of a VLAN are judged in its zone", () => {
        expect(flushOf("10.96.0.10", "10.10.1.4 5353", 0x13, 4098)).toBe(
            "4098 17: 10.10.1.9 4000 10.96.0.10 53, * * * *",
        );
    });

    it("of other zones are not judged", () => {
        expect(flushOf("10.96.0.10", "10.10.1.4 5353", 0x13, 65521)).toBe(undefined);
    });
});
