import { describe, expect, it } from "@jest/globals";
import { flowKey, type Flow } from "@antrea/openflow";
import { bucketCount, deadBucketId, type Endpoint } from "@antrea/services";
import { cookieOf, learnedCookie, nodeParts, OfPort, Table } from "../src/index.ts";
import { exampleNode, pipelineFlows } from "./examples.ts";
import { endpoint, portFlows, servedPort, serviceNode } from "./service-examples.ts";

const node = serviceNode("encap", true);
const many = (count: number): Endpoint[] =>
    Array.from({ length: count }, (_, at) => endpoint(`10.11.${at >> 8}.${at & 0xff}`));
const groupsOf = (endpoints: readonly Endpoint[]): ReturnType<typeof portFlows>["groups"] =>
    portFlows(node, 1, servedPort("10.96.0.10", endpoints)).groups;

describe("the group of a port", () => {
    it.each([2, 3, 10, 100, 127, 129, 190])("lets the datapath choose among %d endpoints", (count) => {
        const [group] = groupsOf(many(count));
        expect(group?.selection).toEqual({ method: "dp_hash" });
        const dead = group?.buckets.filter(({ watchPort }) => watchPort !== undefined) ?? [];
        expect(dead).toEqual(count < 128 ? [{ id: deadBucketId, weight: 1, watchPort: OfPort.none, actions: [] }] : []);
        expect(group?.buckets.length).toBe(count + dead.length);
        const weights = group?.buckets.map(({ weight = 0 }) => weight) ?? [];
        expect(weights.reduce((sum, weight) => sum + weight)).toBeLessThanOrEqual(256);
    });

    it.each([193, 255, 257, 1_000])("lets ovs-vswitchd choose among %d endpoints, by client and port", (count) => {
        for (const [protocol, port] of [["TCP", "tcp_src"] as const, ["UDP", "udp_src"] as const]) {
            const served = servedPort("10.96.0.10", many(count), { protocol });
            const [group] = portFlows(node, 1, served).groups;
            const fields = [{ field: "ipv4_src" }, { field: port }];
            expect(group?.selection).toEqual({ method: "hash", fields });
            expect(group?.buckets.every(({ weight, watchPort }) => (weight ?? watchPort) === undefined)).toBe(true);
        }
    });

    it("chooses by the address of IPv6, and by the port of SCTP", () => {
        const many6 = Array.from({ length: 300 }, (_, at) => endpoint(`fd00:11::${(at + 1).toString(16)}`));
        const [group] = portFlows(node, 1, servedPort("fd00:96::10", many6, { protocol: "SCTP" })).groups;
        expect(group?.selection).toEqual({
            method: "hash",
            fields: [{ field: "ipv6_src" }, { field: "sctp_src" }],
        });
    });

    it("has as many buckets as antctl takes for right", () => {
        for (let count = 2; count <= 300; count += 1)
            expect([count, groupsOf(many(count))[0]?.buckets.length]).toEqual([count, bucketCount(count)]);
    });

    it("has an id for each bucket", () => {
        const [group] = groupsOf(many(600));
        expect(new Set(group?.buckets.map(({ id }) => id)).size).toBe(600);
    });

    it("is not needed for one endpoint, or none", () => {
        expect(groupsOf(many(1))).toEqual([]);
        expect(groupsOf([])).toEqual([]);
    });

    it("is shared by scopes of the same endpoints", () => {
        const port = servedPort("10.96.0.10", [endpoint("10.10.0.2"), endpoint("10.10.0.3")], {
            nodePort: { port: 30080, inside: "cluster", outside: "local" },
        });
        const { groups, flows } = portFlows(node, 1, port);
        expect(groups.map(({ id }) => id)).toEqual([2]);
        expect(flows.flows).toHaveLength(2);
    });

    it("of a scope that no client has is left out", () => {
        const endpoints = [endpoint("10.10.0.2"), endpoint("10.10.0.3"), endpoint("10.10.1.5")];
        expect(groupsOf(endpoints).map(({ id }) => id)).toEqual([2]);
    });
});

describe("datagrams in fragments", () => {
    const udp = servedPort("10.96.0.10", many(2), {
        protocol: "UDP",
        nodePort: { port: 30080, inside: "cluster", outside: "cluster" },
    });
    const flowsWith = (keepsFragments: boolean, port = udp, affinitySeconds?: number): readonly Flow[] =>
        portFlows(node, 1, port, { keepsFragments, affinitySeconds }).flows.flows;

    it.each([undefined, 100])(
        "have flows of their own at each address and NodePort, affinity %s",
        (affinitySeconds) => {
            const lb = flowsWith(true, udp, affinitySeconds).filter(({ table }) => table === Table.ServiceLb);
            const ofFragments = lb.filter(({ match }) => "reg9" in match);
            expect(ofFragments.map(({ match }) => match["reg9"])).toEqual([
                { value: 80, mask: 0xffff },
                { value: 30080, mask: 0xffff },
            ]);
            // later fragments of IPv6 have another protocol
            expect(ofFragments.every(({ match }) => !("ip_proto" in match) && !("udp_dst" in match))).toBe(true);
            const actions = lb.filter((flow) => !ofFragments.includes(flow)).map((flow) => flow.actions);
            expect(ofFragments.map((flow) => flow.actions)).toEqual(actions);
        },
    );

    it("have none where connection tracking makes one packet of them, and for other protocols", () => {
        expect(flowsWith(false).some(({ match }) => "reg9" in match)).toBe(false);
        const tcp = { ...udp, protocol: "TCP" } as const;
        expect(flowsWith(true, tcp, 100)).toEqual(flowsWith(false, tcp, 100));
    });
});

const metered = (flows: readonly Flow[]): readonly Flow[] =>
    flows.filter(({ actions }) => actions.some((action) => action.type === "controller" && "meter" in action));

describe("a switch without the meter of rejects", () => {
    it("leaves a port without endpoints to the host, and one without local ones drops as with it", () => {
        const more = { nodePort: { port: 30080, inside: "cluster", outside: "local" } } as const;
        const none = servedPort("10.96.0.10", [], more);
        expect(metered(portFlows(node, 1, none).flows.flows)).toHaveLength(2);
        expect(portFlows(node, 1, none, { withoutMeter: true })).toMatchObject({ groups: [], flows: { flows: [] } });
        const far = servedPort("10.96.0.10", [endpoint("10.11.0.1")], more);
        expect(portFlows(node, 1, far, { withoutMeter: true })).toEqual(portFlows(node, 1, far));
    });

    it("drops what else the agent would answer", () => {
        const flowsWith = (withoutMeter: boolean): readonly Flow[] =>
            pipelineFlows({ ...node, services: { proxyAll: true, ...node.services, withoutMeter } }).flows;
        expect(metered(flowsWith(false)).length).toBeGreaterThan(0);
        const without = flowsWith(true);
        expect(metered(without)).toEqual([]);
        expect(without).toHaveLength(flowsWith(false).length);
    });
});

it("a switch that has not had all Services yet drops what is for none, by the flows that reject it later", () => {
    const flowsWith = (areComplete: boolean): readonly Flow[] =>
        pipelineFlows({ ...node, services: { proxyAll: true, ...node.services, areComplete } }).flows;
    const rejecting = metered(flowsWith(true));
    // of each family: TCP in the midst, the same of a Pod that the host has sent back, and each protocol
    expect(rejecting).toHaveLength(5 * node.families.length);
    const dropping = new Map(flowsWith(false).map((flow) => [flowKey(flow), flow.actions]));
    expect(rejecting.map((flow) => dropping.get(flowKey(flow)))).toEqual(rejecting.map(() => []));
    const mark = flowsWith(true).filter((flow) => !dropping.has(flowKey(flow)));
    expect(mark).toMatchObject([{ table: Table.ServiceLb, match: { eth_type: 0x0806 }, actions: [] }]);
});

describe("affinity", () => {
    it("changes with the salt", () => {
        const groupWith = (salt: bigint): unknown =>
            portFlows(node, 1, servedPort("10.96.0.10", many(2)), { affinitySeconds: 10, salt }).groups[0]?.selection;
        expect(groupWith(7n)).toEqual({ method: "hash", fields: [{ field: "ipv4_src" }], param: 7n });
    });

    it("needs no group for one endpoint, which is learned too", () => {
        const one = servedPort("10.96.0.10", many(1));
        const { groups, flows } = portFlows(node, 1, one, { affinitySeconds: 10 });
        expect(groups).toEqual([]);
        const learning = flows.flows.filter(({ actions }) => actions.some(({ type }) => type === "learn"));
        expect(learning).toHaveLength(1);
    });

    it("remembers 65,536 clients of each port", () => {
        const learned = ["http", "https"].flatMap((name) =>
            portFlows(node, 1, servedPort("10.96.0.10", many(3), { name }), {
                affinitySeconds: 10,
            }).flows.flows.flatMap(({ actions }) => actions.filter((action) => action.type === "learn")),
        );
        // one for each endpoint
        expect(learned.map(({ limit }) => limit)).toEqual(Array.from({ length: 6 }, () => 65_536));
        expect(new Set(learned.map(({ cookie }) => cookie)).size).toBe(2);
    });

    it("gives learned flows a cookie without a round, another for each port and family", () => {
        const cookies = [
            learnedCookie("a", "http", 4),
            learnedCookie("a", "http", 6),
            learnedCookie("a", "dns", 4),
            learnedCookie("b", "http", 4),
        ];
        expect(new Set(cookies).size).toBe(4);
        for (const cookie of cookies) expect(cookieOf(cookie)).toMatchObject({ round: 0, category: 3 });
    });
});

describe("what is refused", () => {
    it.each([0, -1, 1.5, 2 ** 32])("a number %d of a port", (number) => {
        expect(() => portFlows(node, number, servedPort("10.96.0.10", []))).toThrow(
            expect.objectContaining({ code: "INVALID_INPUT", details: { field: "number" } }),
        );
    });

    it("a tunnel port that is none", () => {
        const services = { proxyAll: true, tunnel: { ofPort: 0 } };
        expect(() => nodeParts({ ...exampleNode(), services })).toThrow(
            expect.objectContaining({ code: "INVALID_INPUT", details: { field: "services.tunnel.ofPort" } }),
        );
    });
});
