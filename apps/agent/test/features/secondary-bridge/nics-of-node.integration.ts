import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { spawn, type ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../support/eventually.ts";
import type { TestNetns } from "../../support/namespace.ts";
import { NicNode, reachesFrom } from "./support/nic-node.ts";

let node: NicNode;
let before: ReturnType<NicNode["truth"]>;

beforeAll(async () => {
    node = await NicNode.start();
    before = node.truth();
    expect(node.unreached()).toEqual([]);
});

afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
});

const bridged = { eth0: "bridged", eth1: "bridged" };
const found = { eth0: "found", eth1: "found" };
const idle = { eth0: "idle", eth1: "idle" };
const ready = "BridgeReady the NICs eth0, eth1 are ports of br1";

async function list(...args: readonly string[]): Promise<readonly string[]> {
    const names = (await node.node.ovs.vsctl(...args)).split("\n").filter((name) => name !== "");
    return names.sort();
}

/** Columns of a row, without quotes. */
async function columns(table: string, name: string, ...names: readonly string[]): Promise<readonly string[]> {
    return (await node.node.ovs.vsctl("get", table, name, ...names)).trim().replaceAll('"', "").split("\n");
}

/** What of the Node goes with the names of its NICs. */
function moved({ links, ...rest }: ReturnType<NicNode["truth"]>): object {
    const named = (links as readonly Record<string, unknown>[]).filter(({ ifname }) =>
        ["eth0", "eth1"].includes(String(ifname)),
    );
    const kept = named.map(({ ifname, address, mtu, altnames, addr_info: addresses }) => ({
        ifname,
        address,
        mtu,
        altnames,
        addresses,
    }));
    return { ...rest, links: kept.sort((one, other) => (String(one.ifname) < String(other.ifname) ? -1 : 1)) };
}

const connect = (): ReturnType<NicNode["run"]> => node.run({ actions: ["recover", "connect"] });
const giveBack = (): ReturnType<NicNode["run"]> => node.run({ actions: ["recover", "restore", "check"] });

/** The routers that the Node does not reach, when it reaches all or the time for that is over. */
const reachesAll = (): Promise<readonly string[]> =>
    eventually(
        () => node.unreached(),
        ({ length }) => length === 0,
    );

/** The ARP packets on a link of a namespace. */
class Capture implements Disposable {
    readonly #tcpdump: ChildProcess;
    #output = "";

    constructor({ name }: TestNetns, link: string) {
        const tcpdump = ["tcpdump", "-l", "-n", "-e", "-i", link, "arp or (vlan and arp)"];
        this.#tcpdump = spawn("ip", ["netns", "exec", name, ...tcpdump], { stdio: ["ignore", "pipe", "ignore"] });
        this.#tcpdump.stdout?.on("data", (bytes: Buffer) => (this.#output += bytes.toString()));
    }

    /** Repeats the requests until the last one is seen, and once more then; all that was seen, as text. */
    async until(last: string, ask: () => void): Promise<string> {
        await eventually(
            () => {
                ask();
                return this.#output;
            },
            (text) => text.includes(last),
        );
        ask();
        const length = this.#output.length;
        return eventually(
            () => this.#output,
            (text) => text.slice(length).includes(last),
        );
    }

    [Symbol.dispose](): void {
        this.#tcpdump.kill();
    }
}

describe("NICs that the Node uses", () => {
    it("are ports, each of a bridge of its own with a host port, and all that they had is back at the end", async () => {
        const { reported } = await connect();
        expect(reported[0]).toMatchObject({ nics: idle });
        expect(reported[1]).toMatchObject({ nics: bridged, condition: ready });
        expect(reported[1]?.problem).toBeUndefined();
        expect(moved(node.truth())).toEqual(moved(before));
        expect(node.unreached()).toEqual([]);
        expect(await list("list-ports", "br1")).toEqual(["patch-eth0", "patch-eth1"]);
        for (const nic of ["eth0", "eth1"]) {
            expect(await list("list-ports", `${nic}~br`)).toEqual([nic, `${nic}~`, `patch-${nic}~br`]);
            expect(await columns("bridge", `${nic}~br`, "fail_mode")).toEqual(["standalone"]);
            expect(await columns("port", nic, "tag", "vlan_mode")).toEqual(["0", "access"]);
            expect(await columns("port", `${nic}~`, "tag", "vlan_mode")).toEqual(["[]", "[]"]);
            expect(await columns("port", `patch-${nic}`, "protected", "vlan_mode", "tag")).toEqual([
                "true",
                "trunk",
                "[]",
            ]);
        }

        // The next agent finds them, after a kill.
        const next = await connect();
        expect(next.reported).toMatchObject([{ nics: found }, { nics: bridged, condition: ready }]);
        expect(moved(node.truth())).toEqual(moved(before));

        const { reported: last } = await giveBack();
        expect(last[1]).toMatchObject({ action: "restore", nics: idle });
        expect(node.truth()).toEqual(before);
        expect(node.unreached()).toEqual([]);
        expect(await list("list-br")).toEqual(["br-int", "br1"]);
        expect(await list("list-ports", "br1")).toEqual([]);
    });

    describe("which are connected,", () => {
        let untagged: TestNetns;
        let tagged: TestNetns;

        beforeAll(async () => {
            await connect();
            untagged = await node.addPod(0, "10.99.0.200");
            tagged = await node.addPod(100, "10.99.0.201");
        });
        afterAll(async () => {
            await node.removePods();
            await giveBack();
            expect(node.truth()).toEqual(before);
        });

        it("reach the Pods without VLAN, which reach the Node and its networks; Pods of a VLAN reach none", () => {
            expect(["10.99.0.2", "10.99.0.1"].map((address) => reachesFrom(untagged, address))).toEqual([true, true]);
            expect(["10.99.0.2", "10.99.0.1"].map((address) => reachesFrom(tagged, address))).toEqual([false, false]);
            expect(node.node.reaches("10.99.0.200")).toBe(true);
        });

        it("carry the tags of Pods, and none for the Node", async () => {
            using seen = new Capture(node.node.router, "r0");
            const output = await seen.until("10.99.0.125", () => {
                reachesFrom(tagged, "10.99.0.126");
                reachesFrom(untagged, "10.99.0.127");
                node.node.reaches("10.99.0.125");
            });
            const tags = (address: string): readonly (string | undefined)[] => {
                const lines = output.split("\n").filter((line) => line.includes(`who-has ${address} `));
                return [...new Set(lines.map((line) => /vlan (\d+)/.exec(line)?.[1]))];
            };
            expect(["10.99.0.125", "10.99.0.126", "10.99.0.127"].map(tags)).toEqual([
                [undefined],
                ["100"],
                [undefined],
            ]);
        });

        it("are no way from one to another: neither for what the Node sends by one, nor for what comes in by it", async () => {
            using seen = new Capture(node.router, "q0");
            // Each asks for an address that nobody has: a broadcast.
            const output = await seen.until("10.55.0.125", () => {
                node.node.reaches("10.99.0.123");
                reachesFrom(node.node.router, "10.99.0.124");
                node.node.reaches("10.55.0.125");
            });
            expect(output).toContain("who-has 10.55.0.125 tell 10.55.0.2");
            expect(output).not.toMatch(/10\.99\.0\.12[34]/);
        });
    });

    it("are connected again after a restart of OVS, with an agent and without", async () => {
        const { go } = await node.pause({ actions: ["connect", "hold"] });
        const restart = async (): Promise<void> => {
            await node.node.ovs.killVswitchd();
            await node.node.ovs.startVswitchd();
        };
        await restart();
        expect(await reachesAll()).toEqual([]);
        expect(await list("list-ports", "br1")).toEqual(expect.arrayContaining(["patch-eth0", "patch-eth1"]));
        await go();
        await restart();
        const { reported } = await connect();
        expect(reported[1]).toMatchObject({ nics: bridged, condition: ready });
        expect(await reachesAll()).toEqual([]);
        await giveBack();
        expect(node.truth()).toEqual(before);
    });

    it("are given back when they leave the configuration, one by one, with their bridges", async () => {
        await connect();
        const { reported } = await node.run({ actions: ["recover", "connect"], nics: ["eth0"] });
        expect(reported).toMatchObject([{ nics: { eth0: "found" } }, { nics: { eth0: "bridged" } }]);
        expect(await list("list-br")).toEqual(["br-int", "br1", "eth0~br"]);
        expect((await list("list-ports", "br1")).filter((name) => !name.startsWith("pod"))).toEqual(["patch-eth0"]);
        expect(node.unreached()).toEqual([]);
        expect(node.node.ip("-o", "link", "show", "eth1")).toContain("link-netns");
        await node.run({ actions: ["recover", "release"], nics: [] });
        expect(await list("list-br")).toEqual(["br-int", "br1"]);
        expect(node.unreached()).toEqual([]);
    });

    it("of which one cannot be verified goes back, whatever the other reaches, and is not tried again", async () => {
        const { go } = await node.pause({
            actions: ["connect", "connect"],
            pause: { nic: "eth1", step: "uplink-port", moment: "made" },
            checkTimeoutMs: 3_000,
        });
        const chain = "add chain netdev silent frames { type filter hook ingress device q0 priority 0; policy drop; }";
        node.router.run("nft", `add table netdev silent; ${chain}`);
        const { reported } = await go();
        node.router.run("nft", "delete table netdev silent");
        const last = reported.at(-1);
        expect(last).toMatchObject({ nics: { eth0: "bridged", eth1: "rolledBack" } });
        expect(last?.condition).toMatch(/^NICRolledBack the move of eth1 was undone: .* gateway 10\.55\.0\.1 /);
        expect(last?.problem).toBeUndefined();
        await giveBack();
        expect(await reachesAll()).toEqual([]);
    });

    it("are given back by the command, with and without their journals", async () => {
        for (const withJournals of [true, false]) {
            await connect();
            if (!withJournals) rmSync(join(node.node.folder, "nics"), { recursive: true });
            const { reported } = await node.run({ actions: ["command"] });
            const lines = reported.map((one) => (one as unknown as { readonly line?: string }).line);
            for (const nic of ["eth0", "eth1"])
                expect(lines).toContain(`${nic} is the NIC again, with its addresses and routes.`);
            expect(node.unreached()).toEqual([]);
            await giveBack();
        }
    });

    it("are given back by an agent that finds no journals, with their ports", async () => {
        await connect();
        rmSync(join(node.node.folder, "nics"), { recursive: true });
        const { reported, log } = await node.run({ actions: ["recover", "check"] });
        expect(reported[0]).toMatchObject({ nics: idle });
        expect(log).toContain("uplink journal is lost; recovering from link state");
        expect(await list("list-br")).toEqual(["br-int", "br1"]);
        expect(node.unreached()).toEqual([]);
    });

    it("become ports without host ports when they have no addresses, and get one after a restart when they have some", async () => {
        const ip = node.node.ip.bind(node.node);
        ip("link", "add", "eth2", "type", "veth", "peer", "name", "wire2");
        try {
            const nics = ["eth2"];
            const { reported } = await node.run({ actions: ["recover", "connect"], nics });
            expect(reported[1]).toMatchObject({
                nics: { eth2: "idle" },
                condition: expect.stringMatching(/^BridgeReady/),
            });
            expect(await columns("port", "eth2", "protected", "vlan_mode")).toEqual(["true", "trunk"]);
            ip("addr", "add", "192.0.2.9/24", "dev", "eth2");
            const next = await node.run({ actions: ["recover", "connect"], nics });
            expect(next.reported[1]).toMatchObject({ nics: { eth2: "bridged" } });
            expect(ip("-d", "addr", "show", "eth2")).toMatch(/tun type tap[^]*inet 192\.0\.2\.9\/24/);
            await node.run({ actions: ["recover", "release"], nics: [] });
            expect(ip("-d", "addr", "show", "eth2")).toMatch(/veth[^]*inet 192\.0\.2\.9\/24/);
        } finally {
            ip("link", "del", "wire2");
        }
    });

    it("keep the Node's connections by their host ports when the database of OVS is lost", async () => {
        const { reported, go } = await node.pause({ actions: ["connect", "hold"] });
        expect(reported).toMatchObject({ nics: bridged });
        await node.node.ovs.vsctl("del-br", "eth1~br");
        expect(
            await eventually(
                () => list("list-ports", "eth1~br").catch(() => []),
                ({ length }) => length === 3,
            ),
        ).toEqual(["eth1", "eth1~", "patch-eth1~br"]);
        expect(await reachesAll()).toEqual([]);
        await go();
        await giveBack();
        expect(node.unreached()).toEqual([]);
    });
});
