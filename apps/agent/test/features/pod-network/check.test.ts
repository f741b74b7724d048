import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { nodeTables, Pipeline, podFlows, withCookies } from "@antrea/flows";
import { parseIp, parseMac } from "@antrea/ip";
import { Netlink, NetlinkError, type Address, type Link, type Route } from "@antrea/netlink";
import type { Flow } from "@antrea/openflow";
import { checkInterface, type CheckComponents, type CheckInput } from "../../../src/features/pod-network/index.ts";
import { addressOf, podRecord } from "../../support/records.ts";
import type { PodRecord } from "../../../src/platform/pod-interfaces/index.ts";

const record = podRecord({ addresses: [addressOf("10.10.1.5/24"), addressOf("fd10:10:0:1::5/64")] });
const flowsOf = ({ mac, addresses }: PodRecord): readonly Flow[] => {
    const ips = addresses.map(({ ip }) => ip);
    const gatewayMac = Uint8Array.of(2, 0, 0, 0, 0, 1);
    return withCookies(podFlows(new Pipeline(nodeTables), { ofPort: 32_784, mac: parseMac(mac), ips, gatewayMac }), 7);
};

type Present<T> = { -readonly [Key in keyof T]: T[Key] };

/** What the kernel, OVS and the allocations have of the interface; as an ADD left it, until a test changes it. */
interface Node {
    record: PodRecord;
    netns: string;
    previous: CheckInput["previous"];
    inside: Present<Pick<Link, "index" | "mac" | "up" | "peerIndex">> | undefined;
    addresses: readonly Pick<Address, "index" | "ip" | "prefixLength">[];
    routes: readonly Pick<Route, "dst" | "dev" | "via">[];
    host: Present<Pick<Link, "index" | "up" | "peerIndex" | "peerNetnsId">> | undefined;
    netnsId: number | undefined;
    movedRoutes: CheckInput["movedRoutes"];
    port: ReturnType<CheckComponents["port"]>;
    flows: readonly Flow[];
    allocationProblem: string | undefined;
    /** Of the question which namespace it is. */
    netnsIdFailure: Error | undefined;
    /** Of reading the namespace. */
    failure: Error | undefined;
}

let node: Node;
let opened: string[];
let open: number;
const { openIn } = Netlink;

function defaultRoute(gateway: string, dev = 2): Node["routes"][number] {
    const via = parseIp(gateway);
    return { dst: { family: via.family, base: 0n, length: 0 }, dev, via };
}

beforeEach(() => {
    opened = [];
    open = 0;
    node = {
        record,
        netns: record.netns,
        previous: undefined,
        allocationProblem: undefined,
        failure: undefined,
        netnsIdFailure: undefined,
        movedRoutes: undefined,
        inside: { index: 2, mac: record.mac, up: true, peerIndex: 40 },
        host: { index: 40, up: true, peerIndex: 2, peerNetnsId: 3 },
        netnsId: 3,
        addresses: record.addresses.map(({ ip, prefixLength }) => ({ index: 2, ip, prefixLength })),
        routes: [defaultRoute("10.10.1.1"), defaultRoute("fd10:10:0:1::1")],
        port: { ofPort: 32_784, error: undefined },
        flows: flowsOf(record),
    };
    // The kernel's: an integration test reads a real namespace.
    Netlink.openIn = (netns) => {
        opened.push(netns);
        if (node.failure !== undefined) throw node.failure;
        open += 1;
        return {
            link: (name: string) => Promise.resolve(name === record.ifName ? node.inside : undefined),
            addresses: (index: number) => Promise.resolve(node.addresses.filter((one) => one.index === index)),
            routes: () => Promise.resolve(node.routes),
            [Symbol.dispose]: () => void (open -= 1),
        } as unknown as Netlink;
    };
});

afterEach(() => {
    Netlink.openIn = openIn;
    expect(open).toBe(0);
});

function check(): Promise<void> {
    const netlink = {
        link: (name: string) => Promise.resolve(name === record.hostIfName ? node.host : undefined),
        netnsId: (netns: string) =>
            node.netnsIdFailure === undefined && netns === record.netns
                ? Promise.resolve(node.netnsId)
                : Promise.reject(node.netnsIdFailure ?? new Error(`no id of ${netns}`)),
    } as unknown as Netlink;
    return checkInterface(
        {
            netlink,
            port: (name) => (name === record.hostIfName ? node.port : undefined),
            flowsOf: (known) => flowsOf(known.record),
            dumpFlows: () => Promise.resolve(node.flows),
            allocationProblem: () => Promise.resolve(node.allocationProblem),
        },
        {
            known: { record: node.record, ofPort: 32_784, addedAt: 0 },
            netns: node.netns,
            previous: node.previous,
            movedRoutes: node.movedRoutes,
        },
    );
}

describe("CHECK of an interface", () => {
    it("is content with what an ADD left", async () => {
        await check();
        expect(opened).toEqual([record.netns]);
    });

    it("reports it when the namespace goes while it checks", async () => {
        const gone = new NetlinkError("ENOENT", "environment", "no such file");
        node.netnsIdFailure = gone;
        await expect(check()).rejects.toMatchObject({ code: "NETNS", cause: gone });
    });

    it("checks the namespace that the runtime names when the record lost it, and the other way round", async () => {
        node.record = { ...record, netns: "" };
        await check();
        node.record = record;
        node.netns = "";
        await check();
        expect(opened).toEqual([record.netns, record.netns]);
    });

    it("compares the addresses that the runtime believes in, whatever else it had from other plugins", async () => {
        node.previous = [{ ip: parseIp("192.0.2.9"), prefixLength: 24 }, ...record.addresses];
        await check();
    });

    it("does not miss the default route of a family that another network has, but that of the other", async () => {
        node.routes = [defaultRoute("192.168.100.1", 3), defaultRoute("fd10:10:0:1::1")];
        node.movedRoutes = new Set([4]);
        await check();
        node.movedRoutes = new Set([6]);
        await expect(check()).rejects.toMatchObject({ code: "ROUTE" });
    });

    const [first, second] = record.addresses;
    if (first === undefined || second === undefined) throw new Error("no addresses");
    const wrong: readonly (readonly [string, string, (node: Node) => unknown, string])[] = [
        [
            "prevResult has not all addresses",
            "PREV_RESULT",
            () => (node.previous = [first]),
            "prevResult lacks fd10:10:0:1::5/64, which the interface was given",
        ],
        [
            "prevResult has an address with another prefix length",
            "PREV_RESULT",
            () => (node.previous = [{ ...first, prefixLength: 16 }, second]),
            "prevResult lacks 10.10.1.5/24, which the interface was given",
        ],
        [
            "the runtime names another namespace",
            "NETNS",
            () => (node.netns = "/var/run/netns/cni-2"),
            "the container's namespace is /var/run/netns/cni-1, not /var/run/netns/cni-2",
        ],
        [
            "the namespace is gone",
            "NETNS",
            () => (node.failure = new NetlinkError("ENOENT", "environment", "no such file")),
            "namespace /var/run/netns/cni-1 cannot be read",
        ],
        [
            "the interface is gone",
            "INTERFACE",
            () => (node.inside = undefined),
            "namespace /var/run/netns/cni-1 has no interface eth0",
        ],
        ["the interface is down", "INTERFACE", ({ inside }) => inside && (inside.up = false), "interface eth0 is down"],
        [
            "the Pod changed its MAC address",
            "MAC",
            ({ inside }) => inside && (inside.mac = "0a:58:0a:0a:01:06"),
            "interface eth0 has MAC 0a:58:0a:0a:01:06, not 0a:58:0a:0a:01:05",
        ],
        ["the host end is gone", "HOST_LINK", () => (node.host = undefined), "the Node has no link web-0-abcdef"],
        ["the host end is down", "HOST_LINK", ({ host }) => host && (host.up = false), "web-0-abcdef is down"],
        [
            "the host end is that of another pair",
            "HOST_LINK",
            ({ host }) => host && (host.peerIndex = 3),
            "web-0-abcdef and eth0 are not the two ends of one veth pair",
        ],
        [
            "the Pod end is that of another pair, whose number in its namespace is the same",
            "HOST_LINK",
            ({ inside }) => inside && (inside.peerIndex = 41),
            "web-0-abcdef and eth0 are not the two ends of one veth pair",
        ],
        [
            "the pairs of both ends have their other ends under the same numbers, and in other namespaces",
            "HOST_LINK",
            () => (node.netnsId = 4),
            "web-0-abcdef and eth0 are not the two ends of one veth pair",
        ],
        [
            "no pair leads from the Node to the namespace, and the other end of the host end is on the Node",
            "HOST_LINK",
            () => {
                node.netnsId = undefined;
                delete node.host?.peerNetnsId;
            },
            "web-0-abcdef and eth0 are not the two ends of one veth pair",
        ],
        [
            "an address was removed",
            "ADDRESS",
            () => (node.addresses = node.addresses.slice(0, 1)),
            "interface eth0 lacks address fd10:10:0:1::5/64",
        ],
        [
            "an address got another prefix length",
            "ADDRESS",
            () => (node.addresses = node.addresses.map((one) => ({ ...one, prefixLength: 64 }))),
            "interface eth0 lacks address 10.10.1.5/24",
        ],
        [
            "an address was replaced by another",
            "ADDRESS",
            () => (node.addresses = [{ index: 2, ip: parseIp("10.10.1.6"), prefixLength: 24 }]),
            "interface eth0 lacks address 10.10.1.5/24",
        ],
        [
            "a default route is missing",
            "ROUTE",
            () => (node.routes = node.routes.slice(0, 1)),
            "no default route via fd10:10:0:1::1 on eth0",
        ],
        [
            "the default route leads to another gateway",
            "ROUTE",
            () => (node.routes = [defaultRoute("10.10.1.254"), ...node.routes.slice(1)]),
            "no default route via 10.10.1.1 on eth0",
        ],
        [
            "the default route is on another interface",
            "ROUTE",
            () => (node.routes = [defaultRoute("10.10.1.1", 3), ...node.routes.slice(1)]),
            "no default route via 10.10.1.1 on eth0",
        ],
        [
            "the default route has no gateway",
            "ROUTE",
            () => (node.routes = node.routes.map(({ dst, dev = 0 }) => ({ dst, dev }))),
            "no default route via 10.10.1.1 on eth0",
        ],
        [
            "the gateway has only a part of the traffic",
            "ROUTE",
            () => (node.routes = node.routes.map((one) => ({ ...one, dst: { ...one.dst, length: 1 } }))),
            "no default route via 10.10.1.1 on eth0",
        ],
        ["OVS has no port", "OVS_PORT", () => (node.port = undefined), "OVS has no port web-0-abcdef"],
        [
            "OVS gave another number",
            "OVS_PORT",
            () => (node.port = { ofPort: 9, error: undefined }),
            "OVS port web-0-abcdef has number 9, not 32784",
        ],
        [
            "OVS could not open the port",
            "OVS_PORT",
            () => (node.port = { ofPort: undefined, error: "could not open network device" }),
            "OVS port web-0-abcdef has number none, not 32784: could not open network device",
        ],
        [
            "its allocation is another's",
            "ALLOCATION",
            () => (node.allocationProblem = "10.10.1.5 is claimed by default/db-0"),
            "10.10.1.5 is claimed by default/db-0",
        ],
        [
            "it is isolated",
            "ISOLATED",
            () => (node.record = { ...record, isolated: true }),
            "the interface is isolated, because its address is or may soon be another Pod's; see the events of the Pod",
        ],
        [
            "OVS lost a flow",
            "FLOWS",
            () => (node.flows = node.flows.slice(1)),
            `OVS lacks 1 flows of the interface, the first in table ${flowsOf(record)[0]?.table}`,
        ],
    ];

    it.each(wrong)("reports it when %s: %s", async (_, code, change, what) => {
        change(node);
        await expect(check()).rejects.toMatchObject({
            name: "CheckError",
            code,
            fault: "environment",
            message: `Pod default/web-0, container ${record.containerId}: ${what}`,
        });
    });

    it("names the allocation before the missing flows that follow from it, and what the kernel reported of a namespace", async () => {
        node.allocationProblem = "10.10.1.5 is claimed by default/db-0";
        node.record = { ...record, isolated: true };
        node.flows = [];
        await expect(check()).rejects.toMatchObject({ code: "ALLOCATION" });
        node.failure = new NetlinkError("EACCES", "environment", "not allowed");
        await expect(check()).rejects.toMatchObject({ code: "NETNS", cause: node.failure });
    });

    it("does not blame the namespace for what is an error of this program", async () => {
        node.failure = new RangeError("too far");
        await expect(check()).rejects.toBe(node.failure);
    });
});
