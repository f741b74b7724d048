import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import { problemText, type ServedAddress, type ServedPort, type ServedService } from "@antrea/services";
import { elementsOf, type RuleElement } from "../../../src/features/host-services/elements.ts";
import { HostStack } from "../../../src/features/host-services/host-stack.ts";
import { ListeningPorts, type ListeningSocket } from "../../../src/features/host-services/listening.ts";
import { endpointsAt, portAt, serviceWith } from "../services/examples.ts";

const external = (text: string, more: Partial<ServedAddress> = {}): ServedAddress => ({
    kind: "external",
    ip: parseIp(text),
    inside: "cluster",
    outside: "cluster",
    ...more,
});

/** A Service at a ClusterIP and these addresses, of TCP and port 80. */
const at = (addresses: readonly ServedAddress[], more: Partial<ServedPort> = {}): ServedService => {
    const port = portAt("10.96.0.10", endpointsAt("10.10.1.2"), more);
    return serviceWith([{ ...port, addresses: [...port.addresses, ...addresses] }]);
};
const text = ({ set, element, value }: RuleElement): string => `${set} ${element}${value === "" ? "" : ` : ${value}`}`;
const texts = (service: ServedService, standIns: Readonly<Record<string, string>> = {}): readonly string[] =>
    elementsOf(service, new Map(Object.entries(standIns).map(([own, standIn]) => [own, parseIp(standIn)]))).map(text);

const installed = { areInstalled: true, waitingMs: undefined };
const nothing = (): Promise<ListeningPorts> => Promise.resolve(new ListeningPorts([]));

const onHost = (...all: readonly string[]): ServedPort["endpoints"] => {
    const local = endpointsAt(...all).map((one) => ({ ...one, host: one.ip.value !== parseIp("10.10.1.2").value }));
    return { cluster: local, local };
};

describe("elements", () => {
    it.each<[string, ServedService, Readonly<Record<string, string>>, readonly string[]]>([
        ["of a ClusterIP", at([]), {}, ["cluster4 10.96.0.10 . 6 . 80"]],
        [
            "of SCTP and UDP",
            serviceWith([
                portAt("10.96.0.10", [], { protocol: "UDP", port: 53 }),
                portAt("fd00:96::a", [], {
                    protocol: "SCTP",
                    nodePort: { port: 30_000, inside: "cluster", outside: "cluster" },
                }),
            ]),
            {},
            ["cluster4 10.96.0.10 . 17 . 53", "cluster6 fd00:96::a . 132 . 80", "nodeports6 132 . 30000"],
        ],
        [
            "of external addresses, of which one is the Node's",
            at([external("198.51.100.7"), external("192.0.2.1", { kind: "loadBalancer" })]),
            { "192.0.2.1": "169.254.0.130" },
            [
                "cluster4 10.96.0.10 . 6 . 80",
                "external4 198.51.100.7 . 6 . 80",
                "errors4 0xc6336407 . 0x6 . 0x50",
                "external4 192.0.2.1 . 6 . 80",
                "own4 192.0.2.1 . 6 . 80 : 169.254.0.130",
                "errors4 0xc0000201 . 0x6 . 0x50",
            ],
        ],
        [
            "of policy Local with an endpoint in the host network",
            at([external("198.51.100.7", { outside: "local" })], {
                endpoints: onHost("192.0.2.1"),
                nodePort: { port: 30_000, inside: "cluster", outside: "local" },
            }),
            {},
            [
                "cluster4 10.96.0.10 . 6 . 80",
                "external4 198.51.100.7 . 6 . 80",
                "local4 198.51.100.7 . 6 . 80 : 192.0.2.1 . 8080",
                "nodeports4 6 . 30000",
                "localports4 6 . 30000 : 192.0.2.1 . 8080",
            ],
        ],
        [
            "of policy Local with a Pod beside it",
            at([external("198.51.100.7", { outside: "local" })], { endpoints: onHost("192.0.2.1", "10.10.1.2") }),
            {},
            ["cluster4 10.96.0.10 . 6 . 80", "external4 198.51.100.7 . 6 . 80", "errors4 0xc6336407 . 0x6 . 0x50"],
        ],
        [
            "of policy Local without an endpoint here",
            at([external("198.51.100.7", { outside: "local" })], { endpoints: { cluster: [], local: [] } }),
            {},
            ["cluster4 10.96.0.10 . 6 . 80", "external4 198.51.100.7 . 6 . 80", "errors4 0xc6336407 . 0x6 . 0x50"],
        ],
        [
            "of a load balancer that is not for all clients",
            at([external("198.51.100.7", { kind: "loadBalancer", outside: "local" })], {
                endpoints: onHost("192.0.2.1"),
                sourceRanges: [],
            }),
            {},
            ["cluster4 10.96.0.10 . 6 . 80", "external4 198.51.100.7 . 6 . 80", "errors4 0xc6336407 . 0x6 . 0x50"],
        ],
    ])("%s", (_name, service, standIns, expected) => {
        expect(texts(service, standIns)).toEqual(expected);
    });
});

describe("the host's stack", () => {
    let own: Set<string>;
    let rules: Map<string, readonly string[]>;
    let marked: string[];
    let programs: ListeningSocket[];
    let reads: number;
    let writes: number;
    let stack: HostStack;

    beforeEach(() => {
        own = new Set(["192.0.2.1", "2001:db8::1"]);
        rules = new Map();
        marked = [];
        programs = [];
        reads = 0;
        writes = 0;
        stack = new HostStack({
            rules: {
                set: (key, elements) => {
                    const before = rules.get(key) ?? [];
                    const now = elements.map(text);
                    rules.set(key, now);
                    return before.join() !== now.join();
                },
                state: installed,
            },
            addresses: {
                has: (ip) => own.has(formatIp(ip)),
                known: { own: [], nodePorts: ["192.0.2.1", "2001:db8::1"].map((ip) => parseIp(ip)) },
            },
            listening: () => {
                reads += 1;
                return Promise.resolve(new ListeningPorts(programs));
            },
            onRules: () => void (writes += 1),
        });
        stack.onChange((key) => void marked.push(key));
    });

    const serve = (service: ServedService): ReadonlyMap<string, IpAddress> => {
        const prepared = stack.prepare(service);
        stack.served(service.key, { service, prepared });
        return prepared.standIns;
    };

    it("gives an address of the Node one stand-in for all its Services, until the last one is gone", () => {
        const one = { ...at([external("192.0.2.1"), external("198.51.100.7")]), key: "default/one" };
        const two = { ...at([external("192.0.2.1")]), key: "default/two" };
        const standIn = serve(one).get("192.0.2.1");
        expect(standIn && formatIp(standIn)).toMatch(/^169\.254\.0\.(?:12[89]|1[3-9]\d|2[0-4]\d|250)$/);
        expect(serve(two).get("192.0.2.1")).toEqual(standIn);
        expect(rules.get("default/two")).toContain(`own4 192.0.2.1 . 6 . 80 : ${standIn && formatIp(standIn)}`);
        stack.served("default/one", undefined);
        expect(rules.get("default/one")).toEqual([]);
        expect(stack.standIn(parseIp("192.0.2.1"))).toEqual(standIn);
        stack.served("default/two", undefined);
        expect(stack.standIn(parseIp("192.0.2.1"))).toBeUndefined();
    });

    it("has something to write if elements change, not for other endpoints", () => {
        const service = at([external("198.51.100.7")]);
        serve(service);
        expect(writes).toBe(1);
        serve(at([external("198.51.100.7")], { endpoints: { cluster: endpointsAt("10.10.1.3"), local: [] } }));
        expect(writes).toBe(1);
        serve(at([external("198.51.100.8")]));
        expect(writes).toBe(2);
        stack.served(service.key, undefined);
        expect(writes).toBe(3);
        stack.served(service.key, undefined);
        expect(writes).toBe(3);
    });

    it("prepares the Services of an address anew that the Node got or lost, and no others", () => {
        const service = at([external("198.51.100.7")]);
        expect(serve(service).size).toBe(0);
        own.add("198.51.100.7");
        stack.addressesChanged(["198.51.100.7", "192.0.2.9"]);
        expect(marked).toEqual(["default/web"]);
        expect(serve(service).size).toBe(1);
        own.delete("198.51.100.7");
        stack.addressesChanged(["198.51.100.7"]);
        expect(marked).toHaveLength(2);
        expect(serve(service).size).toBe(0);
        expect(stack.standIn(parseIp("198.51.100.7"))).toBeUndefined();
        stack.served("default/web", undefined);
        stack.addressesChanged(["198.51.100.7"]);
        expect(marked).toHaveLength(2);
    });

    it("names what is not served when stand-ins are used up, and serves it when one is free", () => {
        const addresses = Array.from({ length: 125 }, (_, index) => `203.0.113.${index}`);
        own = new Set(addresses);
        for (const [index, address] of addresses.slice(0, 123).entries()) {
            serve({ ...at([external(address)]), key: `default/s${index}` });
        }
        const taken = new Set(addresses.slice(0, 123).map((one) => stack.standIn(parseIp(one))?.value));
        expect(taken.size).toBe(123);
        const late = { ...at(addresses.slice(123).map((one) => external(one))), key: "default/late" };
        expect(stack.prepare(late).problems).toMatchObject([
            { reason: "StandInsUsedUp", value: "203.0.113.123", count: 2 },
        ]);
        stack.served("default/s7", undefined);
        expect(marked).toEqual(["default/late"]);
        expect(stack.prepare(late)).toMatchObject({ problems: [{ value: "203.0.113.124", count: 1 }] });
    });

    it("keeps what the rules of an earlier start have, until all Services are known", () => {
        // the hashes of both are for one stand-in
        own = new Set(["192.0.2.1", "192.0.2.173"]);
        const [one, two] = ["192.0.2.1", "192.0.2.173"].map((ip) => ({ ...at([external(ip)]), key: `default/${ip}` }));
        if (one === undefined || two === undefined) throw new TypeError();
        const earlier = [...serve(one), ...serve(two)].map(([ip, standIn]) => [parseIp(ip), standIn] as const);
        const again = new HostStack({
            rules: { set: () => true, state: installed },
            addresses: { has: (ip) => own.has(formatIp(ip)), known: { own: [], nodePorts: [] } },
            listening: nothing,
            onRules: () => undefined,
        });
        again.reserve([...earlier, [parseIp("192.0.2.9"), parseIp("169.254.0.200")]]);
        for (const service of [two, one]) again.served(service.key, { service, prepared: again.prepare(service) });
        for (const [ip, standIn] of earlier) expect(again.standIn(ip)).toEqual(standIn);
        expect(again.standIn(parseIp("192.0.2.9"))).toBeDefined();
        again.complete();
        expect(again.standIn(parseIp("192.0.2.9"))).toBeUndefined();
        for (const [ip, standIn] of earlier) expect(again.standIn(ip)).toEqual(standIn);
    });

    it("gives IPv6 addresses stand-ins of their own, the same ones after a restart", () => {
        const port = portAt("fd00:96::a", endpointsAt("fd00::2"));
        const service = serviceWith([{ ...port, addresses: [external("2001:db8::1")] }]);
        const standIn = serve(service).get("2001:db8::1");
        expect(standIn && formatIp(standIn)).toMatch(/^fc01::aabb:ccde:/);
        const again = new HostStack({
            rules: { set: () => true, state: installed },
            addresses: { has: () => true, known: { own: [], nodePorts: [] } },
            listening: nothing,
            onRules: () => undefined,
        });
        expect(again.prepare(service).standIns.get("2001:db8::1")).toEqual(standIn);
    });

    const listen = (ip: string, port: number, protocol: "TCP" | "UDP" = "TCP"): void => {
        programs.push({ protocol, ip: parseIp(ip), port });
    };
    const problemsOf = (service: ServedService): readonly string[] =>
        stack.prepare(service).problems.map((one) => `${one.reason} ${problemText(one)}`);
    const effect =
        "is a port on which a program of this Node listens; the Service gets its packets, the program does not";
    const next = "next: let the program listen on another port or address, or choose another one for the Service";

    it("names a program that listens at an external address of the Node, until it ends", async () => {
        const service = at([external("198.51.100.7"), external("192.0.2.1"), external("2001:db8::1")]);
        expect(problemsOf(service)).toEqual([]);
        await stack.checkPorts();
        expect([marked, reads]).toEqual([[], 1]);
        listen("192.0.2.1", 80);
        await stack.checkPorts();
        expect(marked).toEqual(["default/web"]);
        expect(problemsOf(service)).toEqual([`PortUsedByNode spec.externalIPs: 192.0.2.1 TCP 80 ${effect}; ${next}`]);
        await stack.checkPorts();
        expect(marked).toHaveLength(1);
        programs = [];
        await stack.checkPorts();
        expect(marked).toHaveLength(2);
        expect(problemsOf(service)).toEqual([]);
    });

    it.each<[string, readonly (readonly [string, number, ("TCP" | "UDP")?])[], number]>([
        ["all addresses", [["0.0.0.0", 80]], 1],
        ["all addresses of both families", [["::", 80]], 2],
        [
            "an address that is not the Service's",
            [
                ["127.0.0.1", 80],
                ["192.0.2.7", 80],
                ["::1", 80],
            ],
            0,
        ],
        ["an external address that is not the Node's", [["198.51.100.7", 80]], 0],
        ["another port", [["0.0.0.0", 8080]], 0],
        ["another protocol", [["::", 80, "UDP"]], 0],
    ])("of programs that listen at %s", async (_name, sockets, count) => {
        for (const socket of sockets) listen(...socket);
        const service = at([external("198.51.100.7"), external("192.0.2.1"), external("2001:db8::1")]);
        stack.prepare(service);
        await stack.checkPorts();
        expect(stack.prepare(service).problems.map((one) => one.count)).toEqual(count === 0 ? [] : [count]);
    });

    it("names a program at a NodePort, and none that is an endpoint there", async () => {
        const nodePort = { port: 30_000, inside: "cluster", outside: "cluster" } as const;
        listen("::", 30_000, "UDP");
        const service = at([], { protocol: "UDP", nodePort });
        stack.prepare(service);
        await stack.checkPorts();
        expect(problemsOf(service)).toEqual([`PortUsedByNode spec.ports.nodePort: UDP 30000 ${effect}; ${next}`]);
        listen("192.0.2.1", 80);
        const host = endpointsAt("192.0.2.1 80").map((one) => ({ ...one, host: true }));
        const itself = {
            ...at([external("192.0.2.1", { kind: "loadBalancer" })], { serving: host }),
            key: "default/b",
        };
        const others = { ...at([external("192.0.2.1", { kind: "loadBalancer" })]), key: "default/c" };
        for (const one of [itself, others]) stack.prepare(one);
        await stack.checkPorts();
        expect(problemsOf(itself)).toEqual([]);
        expect(problemsOf(others)).toEqual([
            `PortUsedByNode status.loadBalancer.ingress: 192.0.2.1 TCP 80 ${effect}; ${next}`,
        ]);
    });

    it("reads nothing without a Service at an address of the Node or a NodePort", async () => {
        const service = at([external("198.51.100.7")]);
        serve(service);
        await stack.checkPorts();
        expect(reads).toBe(0);
        own.add("198.51.100.7");
        serve(service);
        await stack.checkPorts();
        expect(reads).toBe(1);
        stack.served(service.key, undefined);
        await stack.checkPorts();
        expect(reads).toBe(1);
    });
});
