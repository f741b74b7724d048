import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { readlinkSync, statSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { parseIp } from "@antrea/ip";
import {
    getSysctl,
    gratuitousArp,
    inNetns,
    Netlink,
    netnsIdentity,
    nftablesGeneration,
    receiveMerging,
    setReceiveMerging,
    setSysctl,
    setTxChecksumOffload,
    txChecksumOffload,
    unsolicitedNa,
} from "../../src/index.ts";
import { sendFrames } from "../../src/testing/index.ts";
import { ipJson, runIn, TestNamespaces } from "../netns.ts";

let namespaces: TestNamespaces;
let path: string;

beforeEach(() => {
    namespaces = new TestNamespaces();
    path = namespaces.add();
});

afterEach(() => namespaces[Symbol.dispose]());

/** A pair eth0 and eth1 within the namespace, both up. */
async function addPair(): Promise<void> {
    using netlink = Netlink.openIn(path);
    const peer = { name: "eth1", mac: "02:00:00:00:00:02", mtu: 1500, netnsPath: path };
    await netlink.createVeth({ name: "eth0", mac: "02:00:00:00:00:01", mtu: 1500, peer });
    await netlink.batch((batch) => batch.setLink("eth0", { up: true }).setLink("eth1", { up: true }));
}

const ownNetns = (): string => readlinkSync("/proc/thread-self/ns/net");

describe("inNetns", () => {
    it("is in the namespace during the work only", () => {
        const before = ownNetns();
        const during = inNetns(path, ownNetns);
        expect(during).toBe(`net:[${statSync(path).ino}]`);
        expect(during).not.toBe(before);
        expect(ownNetns()).toBe(before);
    });

    it("nests", () => {
        const other = namespaces.add();
        const [inner, outer] = inNetns(path, () => [inNetns(other, ownNetns), ownNetns()]);
        expect(inner).toBe(`net:[${statSync(other).ino}]`);
        expect(outer).toBe(`net:[${statSync(path).ino}]`);
    });
});

describe("netnsIdentity", () => {
    it("is the same for two paths of one namespace, and different for two namespaces", async () => {
        const identity = await netnsIdentity(path);
        expect(identity).toEqual({ dev: expect.anything(), inode: BigInt(statSync(path).ino) });
        await expect(netnsIdentity(`/run/netns/${path.slice(path.lastIndexOf("/") + 1)}`)).resolves.toEqual(identity);
        await expect(netnsIdentity(namespaces.add())).resolves.not.toEqual(identity);
    });

    it.each([
        ["nothing", "/var/run/netns/none-such", "ENOENT"],
        ["another file", "/proc/self/status", "NOT_A_NETNS"],
    ])("refuses %s", async (_, wrong, code) => {
        await expect(netnsIdentity(wrong)).rejects.toMatchObject({ code });
    });
});

describe("sysctls", () => {
    it("are those of the namespace", async () => {
        await addPair();
        const key = "net/ipv6/conf/eth0/disable_ipv6";
        expect(getSysctl(path, key)).toBe("0");
        setSysctl(path, key, "1");
        expect(getSysctl(path, key)).toBe("1");
        expect(runIn(path, "cat", `/proc/sys/${key}`)).toBe("1\n");
        expect(ipJson(path, "-6", "address", "show", "eth0").flatMap((link) => link["addr_info"] ?? [])).toEqual([]);
        expect(() => getSysctl(undefined, "net/ipv6/conf/none-such/disable_ipv6")).toThrow(
            expect.objectContaining({ code: "ENOENT" }),
        );
        expect(() => setSysctl(path, key, "yes")).toThrow(expect.objectContaining({ code: "EINVAL" }));
    });
});

describe("setTxChecksumOffload", () => {
    const features = (name = "eth0"): Record<string, string> =>
        Object.fromEntries(
            runIn(path, "ethtool", "-k", name)
                .split("\n")
                .flatMap((line) => {
                    const [, name, value] = /^\s*([\w-]+): (on|off)/.exec(line) ?? [];
                    return name === undefined || value === undefined ? [] : [[name, value]];
                }),
        );

    it("switches checksum and segmentation off and on again, as ethtool sees it", async () => {
        await addPair();
        const before = features();
        expect(before).toMatchObject({ "tx-checksumming": "on", "generic-segmentation-offload": "on" });
        setTxChecksumOffload("eth0", false, path);
        setTxChecksumOffload("eth0", false, path);
        expect(features()).toMatchObject({
            "tx-checksumming": "off",
            "tx-tcp-segmentation": "off",
            "tx-tcp6-segmentation": "off",
            "generic-segmentation-offload": "off",
        });
        expect(txChecksumOffload("eth0", path)).toBe(false);
        expect(txChecksumOffload("eth1", path)).toBe(true);
        setTxChecksumOffload("eth0", true, path);
        expect(features()).toEqual(before);
    });

    it("switches the merging of received packets on and off", async () => {
        await addPair();
        for (const wanted of [true, true, false, false]) {
            setReceiveMerging("eth0", wanted, path);
            expect(receiveMerging("eth0", path)).toBe(wanted);
            expect(features()["generic-receive-offload"]).toBe(wanted ? "on" : "off");
        }
        expect(() => receiveMerging("nothing", path)).toThrow(expect.objectContaining({ code: "ENODEV" }));
    });

    it("switches it off on a tap device, as OVS has them in userspace", () => {
        runIn(path, "ip", "tuntap", "add", "tap0", "mode", "tap");
        setTxChecksumOffload("tap0", false, path);
        expect(features("tap0")).toMatchObject({ "tx-checksumming": "off", "tx-tcp-segmentation": "off" });
    });

    it("reports that there is no such link", () => {
        expect(() => setTxChecksumOffload("none-such", false, path)).toThrow(
            expect.objectContaining({ code: "ENODEV" }),
        );
    });
});

describe("sendFrames", () => {
    it("sends announcements that the neighbours' caches take", async () => {
        await addPair();
        using netlink = Netlink.openIn(path);
        const index = (await netlink.link("eth1"))?.index ?? 0;
        const [ip4, ip6] = [parseIp("10.1.2.3"), parseIp("fd00::3")];
        await netlink.batch((batch) =>
            batch
                .addAddress({ index, ip: parseIp("10.1.2.1"), prefixLength: 24 })
                .addAddress({ index, ip: parseIp("fd00::1"), prefixLength: 64, noDad: true })
                .replaceNeighbour({ index, ip: ip4, mac: "02:00:00:00:00:99", state: 0x04 })
                .replaceNeighbour({ index, ip: ip6, mac: "02:00:00:00:00:99", state: 0x04 }),
        );
        // Otherwise the kernel ignores an ARP answer within a second of the last one ("locktime").
        setSysctl(path, "net/ipv4/neigh/eth1/locktime", "0");
        const frames = [gratuitousArp("02:00:00:00:00:09", ip4), unsolicitedNa("02:00:00:00:00:09", ip6)];
        const isTaken = async (): Promise<boolean> =>
            (await netlink.neighbours(index)).filter(({ mac }) => mac === "02:00:00:00:00:09").length === 2;
        // Repeated: eth1 drops them until IPv6 has detected its carrier, and in the tick of the entry's creation.
        while (!(await isTaken())) {
            sendFrames(path, "eth0", frames);
            await setTimeout(10);
        }
        expect(ipJson(path, "neigh", "show", "10.1.2.3")).toMatchObject([{ lladdr: "02:00:00:00:00:09" }]);
        expect(ipJson(path, "neigh", "show", "fd00::3")).toMatchObject([{ lladdr: "02:00:00:00:00:09" }]);
    });

    it.each([
        ["a link that is not there", "none-such", new Uint8Array(42), "ENODEV"],
        ["a link that is down", "lo", new Uint8Array(42), "ENETDOWN"],
        ["a frame without a header", "lo", new Uint8Array(13), "BAD_ARGUMENT"],
    ])("refuses %s", (_, name, frame, code) => {
        expect(() => sendFrames(path, name, [frame])).toThrow(expect.objectContaining({ code }));
    });
});

describe("the library when bundled", () => {
    it("works as one file with koffi left outside", async () => {
        const { build } = await import("esbuild");
        const entry = `import { Netlink } from "./src/index.ts";
            using netlink = Netlink.openIn(process.argv[2]);
            console.log((await netlink.links()).map((link) => link.name).join());`;
        const root = new URL("../..", import.meta.url).pathname;
        const { outputFiles } = await build({
            stdin: { contents: entry, resolveDir: root, loader: "ts" },
            bundle: true,
            write: false,
            platform: "node",
            format: "esm",
            target: "node24",
            external: ["koffi"],
        });
        const code = outputFiles[0]?.text ?? "";
        const output = execFileSync(process.execPath, ["--input-type=module", "-", path], {
            input: code,
            cwd: root,
            encoding: "utf8",
            env: { ...process.env, NODE_OPTIONS: "" },
        });
        // lo, and what modules of the kernel put into each new network namespace, as gre0
        const names = ipJson(path, "link").map(({ ifname }) => String(ifname));
        expect(names).toContain("lo");
        expect(output).toBe(`${names.join()}\n`);
    });
});

describe("nftablesGeneration", () => {
    it("is another number after each change by nft and iptables, of its namespace only, and the same after listings", () => {
        const generation = (): number | undefined => inNetns(path, nftablesGeneration);
        const numbers = [generation()];
        const change = (...command: readonly string[]): void => {
            runIn(path, ...command);
            numbers.push(generation());
        };
        change("nft", "add", "table", "inet", "one");
        change("iptables-nft", "-A", "FORWARD", "-j", "ACCEPT");
        change("nft", "delete", "table", "inet", "one");
        expect(numbers).not.toContain(undefined);
        expect(new Set(numbers).size).toBe(4);
        runIn(path, "nft", "list", "ruleset");
        runIn(path, "iptables-nft", "-w", "5", "-S", "FORWARD");
        runIn(namespaces.add(), "nft", "add", "table", "inet", "other");
        expect(generation()).toBe(numbers.at(-1));
    });
});
