import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { Netlink, NetlinkError } from "@antrea/netlink";
import { checkNetworkInterface } from "../../../src/features/pod-network/index.ts";
import type { NetworkCheckComponents } from "../../../src/features/pod-network/check-network.ts";
import type { CheckEnds } from "../../../src/features/pod-network/check-ends.ts";
import type { NetworkRecord } from "../../../src/platform/pod-interfaces/index.ts";
import { device, FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";
import type { PodEnd } from "./fake-namespaces.ts";

const container = "ab12".repeat(16);
const netns = "/run/netns/ab12ab12";
const gateway = parseIp("192.168.100.1");

let networks: FakeNetworks;
let record: NetworkRecord;
let allocationProblem: string | undefined;
const { openIn } = Netlink;

/** A Pod whose eth1 is as its ADD left it. */
async function begin(change: Parameters<typeof plannedNetwork>[1]): Promise<void> {
    networks = new FakeNetworks();
    networks.plans = [plannedNetwork("eth1", { pool: "100", defaultGateways: [gateway], ...change })];
    await networks.node.add();
    const known = networks.further.get({ containerId: container, ifName: "eth1" });
    if (known === undefined) throw new Error("no interface");
    ({ record } = known);
}

beforeEach(async () => {
    allocationProblem = undefined;
    // The kernel's: an integration test reads a real namespace.
    Netlink.openIn = (path) => networks.node.inside.openIn(path) as Netlink;
    await begin({});
});

afterEach(() => {
    Netlink.openIn = openIn;
});

function check(
    input: Partial<Omit<CheckEnds, "record">> = {},
    port: NetworkCheckComponents["port"] = (name) => networks.ports.get(name),
): Promise<void> {
    return checkNetworkInterface(
        { netlink: networks.node.netlink, port, allocationProblem: () => Promise.resolve(allocationProblem) },
        record,
        { netns, previous: undefined, ...input },
    );
}

function end(): PodEnd {
    const found = networks.node.inside.end(netns, "eth1");
    if (found === undefined) throw new Error("no eth1");
    return found;
}

async function route(dst: "default" | string, via: string, ifName = "eth1"): Promise<void> {
    const dev = networks.node.inside.end(netns, ifName)?.index;
    const range = dst === "default" ? dst : parsePrefix(dst);
    await networks.node.inside
        .openIn(netns)
        .batch((batch) => batch.replaceRoute({ dst: range, via: parseIp(via), dev }));
}

function setPort(change: object): void {
    const port = networks.ports.get(record.hostIfName);
    if (port !== undefined) networks.ports.set(record.hostIfName, { ...port, ...change });
}

describe("CHECK of an interface on another network", () => {
    it("is content with what an ADD left, and what the runtime believes of it", async () => {
        await check();
        await check({ netns: "" });
        await check({ previous: [{ ip: parseIp("192.168.100.2"), prefixLength: 24 }] });
    });

    it("is content with one that is untagged and without addresses", async () => {
        await begin({ pool: "0", addresses: undefined, defaultGateways: [] });
        await check();
        expect(record).toMatchObject({ addresses: [], vlan: 0 });
    });

    it.each<[string, string, string, () => unknown]>([
        [
            "it is isolated",
            "ISOLATED",
            "the interface is isolated, because its address is or may soon be another Pod's; see the events of the Pod",
            () => {
                record = { ...record, isolated: true };
                end().up = false;
            },
        ],
        ["it is down", "INTERFACE", "interface eth1 is down", () => (end().up = false)],
        [
            "an address was removed",
            "ADDRESS",
            "interface eth1 lacks address 192.168.100.2/24",
            () => (end().addresses = []),
        ],
        [
            "the default route is on the Pod network",
            "ROUTE",
            "no default route via 192.168.100.1 on eth1",
            () => route("default", "10.10.1.1", "eth0"),
        ],
        [
            "the default route leads to another gateway",
            "ROUTE",
            "no default route via 192.168.100.1 on eth1",
            () => route("default", "192.168.100.9"),
        ],
        [
            "the gateway has only a part of the traffic",
            "ROUTE",
            "no default route via 192.168.100.1 on eth1",
            async () => {
                await route("default", "10.10.1.1", "eth0");
                await route("128.0.0.0/1", "192.168.100.1");
            },
        ],
        ["OVS has no port", "OVS_PORT", "OVS has no port HOST", () => networks.ports.clear()],
        [
            "OVS could not open the port",
            "OVS_PORT",
            "OVS has not opened port HOST: could not open network device",
            () => setPort({ ofPort: -1, error: "could not open network device" }),
        ],
        [
            "OVS has not tried to open the port",
            "OVS_PORT",
            "OVS has not opened port HOST",
            () => setPort({ ofPort: undefined }),
        ],
        ["OVS gave number 0", "OVS_PORT", "OVS has not opened port HOST", () => setPort({ ofPort: 0 })],
        ["the port is in another VLAN", "OVS_PORT", "OVS port HOST has VLAN 7, not 100", () => setPort({ vlan: 7 })],
        [
            "the port is a trunk",
            "OVS_PORT",
            "OVS port HOST has no VLAN, so all, not 100",
            () => setPort({ vlan: undefined }),
        ],
        [
            "its allocation is another's",
            "ALLOCATION",
            "192.168.100.2 is allocated to default/db-0",
            () => (allocationProblem = "192.168.100.2 is allocated to default/db-0"),
        ],
        [
            "the host end is gone",
            "INTERFACE",
            `namespace ${netns} has no interface eth1`,
            () => networks.node.links.delete(record.hostIfName),
        ],
    ])("reports it when %s: %s", async (_, code, what, change) => {
        await change();
        await expect(check()).rejects.toMatchObject({
            name: "CheckError",
            code,
            fault: "environment",
            message: `Pod default/web-0, container ${container}: ${what.replace("HOST", record.hostIfName)}`,
        });
    });

    it("reports it when the namespace is another, is gone, or has no such interface", async () => {
        await expect(check({ netns: "/run/netns/other" })).rejects.toMatchObject({ code: "NETNS" });
        networks.node.inside.remove(netns, "eth1");
        await expect(check()).rejects.toMatchObject({ code: "INTERFACE" });
        networks.node.namespaces.clear();
        await expect(check()).rejects.toMatchObject({ code: "NETNS", cause: expect.any(NetlinkError) });
    });

    it("reports it when the runtime believes in other addresses", async () => {
        const previous = [{ ip: parseIp("192.168.100.3"), prefixLength: 24 }];
        await expect(check({ previous })).rejects.toMatchObject({ code: "PREV_RESULT" });
    });

    it("of a virtual function searches for neither a host end nor a port", async () => {
        await begin({ device });
        await check({}, () => {
            throw new Error("nobody needs to know");
        });
        end().mac = "02:00:00:00:00:99";
        await expect(check()).rejects.toMatchObject({ code: "MAC" });
    });
});
