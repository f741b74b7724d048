import { nodeTables, Pipeline } from "@antrea/flows";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { NetlinkError, type Netlink } from "@antrea/netlink";
import { HostRoutes } from "../../../src/features/pod-network/host-routes.ts";
import { NodeSubnet, PodNetwork, type PodNamespaces } from "../../../src/features/pod-network/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { podRecord, testBootId } from "../../support/records.ts";
import { type AddRequest, PodInterfaces, toAlias } from "../../../src/platform/pod-interfaces/index.ts";

const running = podRecord();
const { signal } = new AbortController();

let flows: Set<string>;
let ports: Set<string>;
let claimed: string[];
let network: PodNetwork;
let gone: string[];

beforeEach(() => {
    flows = new Set();
    ports = new Set([running.hostIfName]);
    claimed = [];
    gone = [];
    const namespaces: PodNamespaces = {
        openIn: (netns) => {
            if (gone.includes(netns)) throw new NetlinkError("ENOENT", "environment", `${netns} is gone`);
            const podEnd = {
                batch: () => Promise.resolve(),
                link: (name: string) => Promise.resolve({ index: 2, name, mac: "", mtu: 1500 }),
                links: () => Promise.resolve([]),
                neighbours: () => Promise.resolve([]),
                setLink: () => Promise.resolve(),
                [Symbol.dispose]: () => undefined,
            };
            return podEnd as unknown as ReturnType<PodNamespaces["openIn"]>;
        },
        setSysctl: () => undefined,
        setTxChecksumOffload: () => undefined,
        paths: () => Promise.resolve([]),
    };
    const netlink = {
        link: (name: string) => Promise.resolve({ index: 7, name, kind: "veth", alias: toAlias(running), up: true }),
        setLink: () => Promise.resolve(),
        createVeth: () => Promise.resolve(),
        deleteLink: () => Promise.resolve(true),
    } as unknown as Netlink;
    network = new PodNetwork(
        {
            podInterfaces: new PodInterfaces(),
            netlink,
            ports: {
                ensurePort: ({ name }) => Promise.resolve(void ports.add(name)),
                deletePort: (name) => Promise.resolve(void ports.delete(name)),
                ofPort: () => Promise.resolve(40_000),
            },
            flowTable: {
                stage: (owner) => void flows.add(owner),
                set: (owner) => Promise.resolve(void flows.add(owner)),
                remove: (owner) => Promise.resolve(void flows.delete(owner)),
            },
            subnet: new NodeSubnet([parsePrefix("10.10.1.0/24")], () => 0n),
            hostRoutes: new HostRoutes({ netlink, logger: silentLogger }, { gatewayName: "antrea-gw0", bridged: true }),
            pools: {
                requestOf: ({ containerId }) => Promise.resolve({ claim: () => claim(containerId) }),
                release: () => Promise.resolve(),
                hasAllocations: () => true,
            },
            bridging: undefined,
            next: new Pipeline(nodeTables),
            logger: silentLogger,
        },
        {
            mtu: 1500,
            disableTxChecksumOffload: false,
            bootId: testBootId,
            now: () => 1,
            namespaces,
            gatewayMac: () => Uint8Array.of(2, 0, 0, 0, 0, 1),
        },
    );
    network.adopt(running, 40_000);
});

function claim(containerId: string): Promise<Awaited<ReturnType<typeof grant>>> {
    claimed.push(containerId);
    return grant();
}

function grant() {
    const address = { ip: parseIp("10.10.1.5"), prefixLength: 24, gateway: parseIp("10.10.1.1"), pool: "pool1" };
    return Promise.resolve({ addresses: [address], vlan: 0 });
}

function add(containerId: string): Promise<unknown> {
    const { ifName, podNamespace, podName, podUid } = running;
    const netns = `/run/netns/${containerId}`;
    const pod = { podNamespace, podName, podUid };
    const request: AddRequest = { containerId, ifName, netns, ...pod, network: "antrea", receivedAt: 1 };
    return network.add(request, signal);
}

describe("an ADD for a Pod that has an interface in another sandbox", () => {
    it("takes its place", async () => {
        await add("next");
        expect(network.interfaces().map(({ record }) => record.containerId)).toEqual(["next"]);
        expect(claimed).toEqual(["next"]);
    });

    it("changes nothing when it comes late, for a sandbox whose namespace is gone", async () => {
        gone = ["/run/netns/earlier"];
        await expect(add("earlier")).rejects.toMatchObject({ code: "ENOENT" });
        expect(network.interfaces().map(({ record }) => record.containerId)).toEqual([running.containerId]);
        expect(ports).toEqual(new Set([running.hostIfName]));
        expect([...flows]).toHaveLength(1);
        expect(claimed).toEqual([]);
    });
});
