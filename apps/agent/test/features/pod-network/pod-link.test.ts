import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, parseIp } from "@antrea/ip";
import { NeighbourState, NetlinkError, type Link, type LinkChanges, type Netlink } from "@antrea/netlink";
import {
    adjustPodLink,
    adjustPodNeighbours,
    completePodLink,
    configurePodEnd,
    createPodLink,
    deletePodLink,
    preparePodEnd,
    raisePodLink,
    type PodEndOptions,
    type PodNamespaces,
} from "../../../src/features/pod-network/link.ts";
import { podLinkGroup } from "../../../src/platform/kernel-ids.ts";
import { addressOf, podRecord } from "../../support/records.ts";
import { pendingAlias, releasedAlias, toAlias } from "../../../src/platform/pod-interfaces/index.ts";

const record = podRecord({ addresses: [addressOf("10.10.1.5/24"), addressOf("fd10:10:0:1::5/64")] });
const fromPool = podRecord({ addresses: record.addresses.map((one) => ({ ...one, pool: "pool1" })) });
const gatewayMac = "02:00:00:00:00:01";
const routerMac = "02:00:00:00:00:99";

type FakeLink = Pick<Link, "index" | "name" | "up" | "mtu" | "group" | "mac"> & Partial<Pick<Link, "kind" | "alias">>;
type PodEnd = Pick<Link, "index" | "mac" | "mtu">;
type Neighbours = Awaited<ReturnType<Netlink["neighbours"]>>;

/** What was asked of the Pod's namespace, a line each. */
let asked: string[];
let links: Map<string, FakeLink>;
let podEnd: PodEnd | undefined;
let neighbours: Neighbours;
/** Whether a link of the Pod end's name is in the Pod's namespace already. */
let isNameTakenInside: boolean;
/** Why the kernel makes no link. */
let refusal: NetlinkError | undefined;
let created: Parameters<Netlink["createVeth"]>[0][];

beforeEach(() => {
    asked = [];
    created = [];
    refusal = undefined;
    neighbours = [];
    isNameTakenInside = false;
    podEnd = { index: 2, mac: record.mac, mtu: 1450 };
    links = new Map();
});

function putHostEnd(changes: Partial<FakeLink> = {}): void {
    const { hostIfName: name } = record;
    links.set(name, {
        index: 40,
        name,
        kind: "veth",
        alias: toAlias(record),
        up: true,
        mtu: 1450,
        group: podLinkGroup,
        mac: "",
        ...changes,
    });
}

const hostEnd = (): FakeLink | undefined => links.get(record.hostIfName);

const netlink = {
    link: (name: string) => Promise.resolve(links.get(name)),
    createVeth: (options: Parameters<Netlink["createVeth"]>[0]) => {
        const { name, alias = "", mtu, group = 0, mac } = options;
        if (refusal !== undefined) return Promise.reject(refusal);
        const taken = isNameTakenInside || links.has(name);
        if (taken) return Promise.reject(new NetlinkError("EEXIST", "environment", name));
        created.push(options);
        links.set(name, { index: 41, name, kind: "veth", alias, up: true, mtu, group, mac });
        return Promise.resolve();
    },
    setLink: (index: number, changes: LinkChanges) => {
        for (const link of links.values()) {
            if (link.index === index) links.set(link.name, { ...link, ...(changes as Partial<FakeLink>) });
        }
        asked.push(`host end ${JSON.stringify(changes)}`);
        return Promise.resolve();
    },
    deleteLink: (index: number) => {
        for (const link of links.values()) if (link.index === index) links.delete(link.name);
        return Promise.resolve(true);
    },
} as unknown as Netlink;

const note = (line: string): void => void asked.push(line);
const batch = {
    setLink: (index: number, changes: LinkChanges) => note(`link ${index} ${JSON.stringify(changes)}`),
    replaceAddress: (one: Parameters<Netlink["replaceAddress"]>[0]) =>
        note(`address ${formatIp(one.ip)}/${one.prefixLength} on ${one.index}${one.noDad === true ? " nodad" : ""}`),
    replaceRoute: (one: Parameters<Netlink["replaceRoute"]>[0]) =>
        note(
            `route ${one.dst as string} ${one.family} via ${one.via === undefined ? "" : formatIp(one.via)} on ${one.dev}`,
        ),
    replaceNeighbour: (one: Parameters<Netlink["replaceNeighbour"]>[0]) =>
        note(`neighbour ${formatIp(one.ip)} is ${one.mac} on ${one.index}`),
    deleteNeighbour: (one: Parameters<Netlink["deleteNeighbour"]>[0]) =>
        note(`forget neighbour ${formatIp(one.ip)} on ${one.index}`),
};
const namespaces: PodNamespaces = {
    openIn: (netns) => {
        note(`open ${netns}`);
        return {
            link: (name: string) => Promise.resolve(name === record.ifName ? podEnd : undefined),
            neighbours: () => Promise.resolve(neighbours),
            setLink: (index: number, changes: LinkChanges) =>
                Promise.resolve(note(`link ${index} ${JSON.stringify(changes)}`)),
            batch: (fill: (to: typeof batch) => void) => Promise.resolve(fill(batch)),
            [Symbol.dispose]: () => note("close"),
        } as unknown as ReturnType<PodNamespaces["openIn"]>;
    },
    setSysctl: (netns, path, value) => note(`sysctl ${netns} ${path}=${value}`),
    setTxChecksumOffload: (ifName, isOn, netns) => note(`checksum offload of ${ifName} in ${netns}: ${isOn}`),
    paths: () => Promise.resolve([]),
};
const options: PodEndOptions = {
    mtu: 1450,
    disableTxChecksumOffload: false,
    namespaces,
    bridged: false,
    gatewayMac: () => Uint8Array.of(2, 0, 0, 0, 0, 1),
};

describe("the veth pair of a Pod", () => {
    it("is born up, with its record, in the group by which rules find it, and the Pod end in the Pod's namespace", async () => {
        await createPodLink(netlink, record, options);
        expect(created).toMatchObject([
            {
                name: record.hostIfName,
                up: true,
                group: podLinkGroup,
                mtu: 1450,
                queues: 1,
                alias: toAlias(record),
                mac: "0e:58:0a:0a:01:05",
                peer: { name: "eth0", mac: record.mac, mtu: 1450, netnsPath: record.netns },
            },
        ]);
    });

    it("takes the place of what an earlier ADD of the container left", async () => {
        for (const alias of [toAlias(record), pendingAlias(record.containerId), releasedAlias]) {
            putHostEnd({ alias });
            await createPodLink(netlink, record, options);
            expect(hostEnd()).toMatchObject({ index: 41, alias: toAlias(record) });
            links.clear();
        }
    });

    it.each([
        ["another container", { alias: toAlias(podRecord({ containerId: "cd34".repeat(16) })) }],
        ["the administrator", { alias: "uplink of the printer" }],
        ["another program, without an alias", { alias: "" }],
        ["another program, of another kind with our mark", { kind: "dummy" }],
    ])("leaves a link of %s alone, and reports which name is taken", async (_, changes) => {
        putHostEnd(changes);
        const before = hostEnd();
        await expect(createPodLink(netlink, record, options)).rejects.toMatchObject({
            code: "NAME_TAKEN",
            fault: "environment",
            message: expect.stringContaining(record.hostIfName),
        });
        await deletePodLink(netlink, record);
        expect(hostEnd()).toEqual(before);
    });

    it("reports that another CNI plugin may have made the Pod's interface when the name is taken in the Pod", async () => {
        isNameTakenInside = true;
        await expect(createPodLink(netlink, record, options)).rejects.toMatchObject({
            code: "NAME_TAKEN",
            fault: "environment",
            message: expect.stringContaining(`${record.netns} has an interface eth0 already`),
        });
    });

    it("is not made twice when the kernel refuses it for another reason than its name", async () => {
        putHostEnd();
        refusal = new NetlinkError("EPERM", "environment", "not allowed");
        await expect(createPodLink(netlink, record, options)).rejects.toBe(refusal);
        expect(hostEnd()?.index).toBe(40);
    });

    it.each([
        ["of the container", toAlias(record)],
        ["whose addresses were not known yet", pendingAlias(record.containerId)],
        ["that was released", releasedAlias],
    ])("%s is deleted when its ADD fails; one that is gone already is a success", async (_, alias) => {
        putHostEnd({ alias });
        await deletePodLink(netlink, record);
        expect(hostEnd()).toBeUndefined();
        await deletePodLink(netlink, record);
    });

    it("gets its record when the addresses are known, if it is there still", async () => {
        putHostEnd({ alias: pendingAlias(record.containerId) });
        await completePodLink(netlink, record);
        // Only what must change: ovs-vswitchd checks all of its ports after each change.
        expect(asked).toEqual([`host end ${JSON.stringify({ alias: toAlias(record) })}`]);
        links.clear();
        await completePodLink(netlink, record);
    });

    it("is switched on when ovs-vswitchd switched it off, and not touched otherwise", async () => {
        await raisePodLink(netlink, record);
        putHostEnd();
        await raisePodLink(netlink, record);
        expect(asked).toEqual([]);
        putHostEnd({ up: false });
        await raisePodLink(netlink, record);
        expect(hostEnd()?.up).toBe(true);
    });
});

describe("the Pod's end", () => {
    const setUp = [
        'link 2 {"up":true}',
        "address 10.10.1.5/24 on 2 nodad",
        "address fd10:10:0:1::5/64 on 2 nodad",
        "route default 4 via 10.10.1.1 on 2",
        "route default 6 via fd10:10:0:1::1 on 2",
    ];

    it("is switched on before it gets its addresses, and has them before its routes", async () => {
        await configurePodEnd(record, options);
        expect(asked).toEqual([
            `sysctl ${record.netns} net/ipv6/conf/eth0/disable_ipv6=0`,
            `open ${record.netns}`,
            ...setUp,
            "close",
        ]);
    });

    it("of IPv4 alone leaves IPv6 of the Pod as it is", async () => {
        await configurePodEnd(podRecord(), options);
        expect(asked.filter((line) => line.startsWith("sysctl"))).toEqual([]);
    });

    it("of a draft gets the MAC address of its address while it is still down", async () => {
        podEnd = { index: 2, mac: "0a:5a:00:00:00:01", mtu: 1450 };
        await configurePodEnd(record, options);
        expect(asked.slice(2)).toEqual([`link 2 {"mac":"${record.mac}"}`, ...setUp, "close"]);
    });

    it("that vanished meanwhile is named, with its namespace, and the namespace is not kept open", async () => {
        podEnd = undefined;
        await expect(configurePodEnd(record, options)).rejects.toMatchObject({
            code: "LINK_VANISHED",
            fault: "environment",
            message: `interface eth0 vanished from ${record.netns} while it was set up`,
        });
        expect(asked.at(-1)).toBe("close");
    });

    it("computes no checksums when the user switched that off, and else stays as the kernel made it", async () => {
        preparePodEnd(record, options);
        expect(asked).toEqual([]);
        await configurePodEnd(record, { ...options, disableTxChecksumOffload: true });
        expect(asked).toContain(`checksum offload of eth0 in ${record.netns}: false`);
    });

    it("of a pool knows the gateway as its IPv6 router, for which the switch does not answer, before its route", async () => {
        await configurePodEnd(fromPool, options);
        expect(asked.slice(-5)).toEqual([
            "address fd10:10:0:1::5/64 on 2 nodad",
            "route default 4 via 10.10.1.1 on 2",
            `neighbour fd10:10:0:1::1 is ${gatewayMac} on 2`,
            "route default 6 via fd10:10:0:1::1 on 2",
            "close",
        ]);
    });

    it("of a pool that is bridged asks the underlay for its router", async () => {
        await configurePodEnd(fromPool, { ...options, bridged: true });
        expect(asked.filter((line) => line.startsWith("neighbour"))).toEqual([]);
    });
});

describe("the link of a running Pod after the settings changed", () => {
    it("gets the new MTU at both ends", async () => {
        putHostEnd();
        await adjustPodLink(netlink, record, { ...options, mtu: 1400 });
        expect(asked).toEqual([`open ${record.netns}`, 'link 2 {"mtu":1400}', 'host end {"mtu":1400}', "close"]);
    });

    it("keeps an MTU of the Pod's end that somebody else chose", async () => {
        putHostEnd();
        podEnd = { index: 2, mac: record.mac, mtu: 1300 };
        await adjustPodLink(netlink, record, { ...options, mtu: 1400 });
        expect(asked).toEqual([`open ${record.netns}`, 'host end {"mtu":1400}', "close"]);
    });

    it("gets its group, so that rules of the Node find it", async () => {
        putHostEnd({ group: 0 });
        await adjustPodLink(netlink, record, options);
        expect(asked).toEqual([`host end {"group":${podLinkGroup}}`]);
        expect(hostEnd()?.group).toBe(podLinkGroup);
    });

    it("is not touched when all is right or it is gone: ovs-vswitchd reads all ports after each change", async () => {
        await adjustPodLink(netlink, record, { ...options, mtu: 1400 });
        putHostEnd();
        await adjustPodLink(netlink, record, options);
        expect(asked).toEqual([]);
    });
});

describe("the neighbours of a running Pod of a pool", () => {
    const neighbour = (ip: string, mac: string | undefined, state: number): Neighbours[number] => ({
        index: 2,
        ip: parseIp(ip),
        state,
        flags: 0,
        ...(mac === undefined ? {} : { mac }),
    });
    const { REACHABLE, PERMANENT, NOARP, FAILED } = NeighbourState;

    beforeEach(() => {
        neighbours = [
            neighbour("10.10.1.1", routerMac, REACHABLE),
            neighbour("10.10.1.7", gatewayMac, REACHABLE),
            neighbour("fd10:10:0:1::1", gatewayMac, PERMANENT),
            neighbour("10.10.1.8", undefined, FAILED),
            neighbour("ff02::1", "33:33:00:00:00:01", NOARP),
        ];
    });

    it("that the gateway stood for are asked for anew once it is bridged", async () => {
        await adjustPodNeighbours(fromPool, { ...options, bridged: true });
        expect(asked).toEqual([
            `open ${record.netns}`,
            "forget neighbour 10.10.1.7 on 2",
            "forget neighbour fd10:10:0:1::1 on 2",
            "close",
        ]);
    });

    it("of the underlay are forgotten once the gateway stands for them, and the IPv6 router is the gateway", async () => {
        await adjustPodNeighbours(fromPool, options);
        expect(asked).toEqual([
            `open ${record.netns}`,
            "forget neighbour 10.10.1.1 on 2",
            `neighbour fd10:10:0:1::1 is ${gatewayMac} on 2`,
            "close",
        ]);
    });

    it("of an interface that is gone are not asked for", async () => {
        podEnd = undefined;
        await adjustPodNeighbours(fromPool, options);
        expect(asked).toEqual([`open ${record.netns}`, "close"]);
    });
});
