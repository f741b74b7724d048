import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Point } from "./support/input.ts";
import { UplinkNode } from "./support/uplink-node.ts";

/** Three times what docs/operations.md promises, as docs/testing.md says of busy machines. */
const limitMs = 6_000;

let node: UplinkNode;
let before: ReturnType<UplinkNode["truth"]>;

beforeAll(async () => {
    node = await UplinkNode.start();
    before = node.truth();
});

afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
});

/** What of the truth goes with the name. */
function moved({ links, ...rest }: ReturnType<UplinkNode["truth"]>): object {
    const [link = {}] = (links as readonly Record<string, unknown>[]).filter(({ ifname }) => ifname === "eth0");
    const { address, mtu, altnames, addr_info: addresses } = link;
    return { ...rest, address, mtu, altnames, addresses };
}

describe("the move", () => {
    it("gives the host port all that the NIC had, and the rollback gives it back", async () => {
        const { reported } = await node.run({ actions: ["recover", "connect"] });
        const { mac } = reported[1] as { mac: string };
        expect(reported).toEqual([{ kind: "idle" }, { kind: "bridged", name: "eth0", physicalName: "eth0~", mac }]);
        expect(moved(node.truth())).toEqual(moved(before));
        expect(node.ip("-d", "link", "show", "eth0")).toContain("tun type tap");
        expect(node.ip("-o", "addr", "show", "dev", "eth0~")).toBe("");
        expect(node.ip("-o", "link", "show", "eth0~")).toContain("group 178");
        expect(
            await node.ovs.vsctl("get", "interface", "eth0", "ofport", "--", "get", "interface", "eth0~", "ofport"),
        ).toBe("32771\n32770\n");
        for (const address of ["10.99.0.1", "fd99::1", "fe80::99%eth0"]) expect(node.reaches(address)).toBe(true);

        expect((await node.run({ actions: ["recover", "connect"] })).reported).toEqual([
            { kind: "found", name: "eth0" },
            reported[1],
        ]);
        expect(moved(node.truth())).toEqual(moved(before));

        expect((await node.run({ actions: ["recover", "restore"] })).reported).toEqual([
            { kind: "found", name: "eth0" },
            { kind: "idle" },
        ]);
        expect(node.truth()).toEqual(before);
    });

    it("takes back what changed on the host port meanwhile", async () => {
        await node.run({ actions: ["recover", "connect"] });
        node.ip("addr", "add", "10.99.0.4/24", "dev", "eth0");
        node.ip("route", "add", "198.18.5.0/24", "via", "10.99.0.1");
        await node.run({ actions: ["recover", "restore"] });
        expect(node.ip("route", "show", "198.18.5.0/24")).toContain("via 10.99.0.1 dev eth0");
        expect(node.ip("addr", "show", "dev", "eth0")).toContain("inet 10.99.0.4/24");
        node.ip("addr", "del", "10.99.0.4/24", "dev", "eth0");
        node.ip("route", "del", "198.18.5.0/24");
        expect(node.truth()).toEqual(before);
    });

    describe("while OVS and the disk take their time", () => {
        const points: readonly Point[] = [
            { step: "rename", moment: "before" },
            { step: "host-port", moment: "written" },
            { step: "switch", moment: "written" },
        ];

        it.each(points)("takes along what changes on the NIC: $step, $moment", async (pause) => {
            const { go } = await node.pause({ actions: ["connect"], pause });
            const nic = pause.step === "rename" ? "eth0" : "eth0~";
            node.ip("addr", "add", "10.99.0.4/24", "dev", nic);
            node.ip("route", "add", "198.18.5.0/24", "via", "10.99.0.1");
            const old = ["100.64.0.0/10", "via", "inet6", "fe80::99", "dev"];
            node.ip("route", "del", ...old, nic);
            expect((await go()).reported).toMatchObject([{ kind: "paused" }, { kind: "bridged" }]);
            expect(node.ip("route", "show", "198.18.5.0/24")).toContain("via 10.99.0.1 dev eth0");
            expect(node.ip("route", "show", "100.64.0.0/10")).toBe("");
            expect(node.ip("addr", "show", "dev", "eth0")).toContain("inet 10.99.0.4/24");

            await node.run({ actions: ["recover", "restore"] });
            expect(node.ip("route", "show", "198.18.5.0/24")).toContain("via 10.99.0.1 dev eth0");
            node.ip("addr", "del", "10.99.0.4/24", "dev", "eth0");
            node.ip("route", "del", "198.18.5.0/24");
            node.ip("route", "add", ...old, "eth0");
            expect(node.truth()).toEqual(before);
        });

        it("is undone with the reason when a route comes that cannot be moved", async () => {
            const { go } = await node.pause({ actions: ["connect"], pause: { step: "switch", moment: "written" } });
            const hops = ["1", "3"].flatMap((last) => ["nexthop", "via", `10.99.0.${last}`, "dev", "eth0~"]);
            node.ip("route", "add", "198.18.5.0/24", ...hops);
            const { reported } = await go();
            expect(reported).toMatchObject([{ kind: "paused" }, { kind: "rolledBack", name: "eth0" }]);
            expect(reported[1]).toHaveProperty("reason", expect.stringContaining("route 198.18.5.0/24"));
            expect(node.truth()).toEqual(before);
        });
    });

    it("is made on a kernel that renames no link that is up", async () => {
        expect((await node.run({ actions: ["connect"], oldKernel: true })).reported).toMatchObject([
            { kind: "bridged" },
        ]);
        expect(moved(node.truth())).toEqual(moved(before));
        await node.run({ actions: ["restore"], oldKernel: true });
        expect(node.truth()).toEqual(before);
    });

    it.each(["10.99.0.1", "fd99::1"])("and the rollback keep a TCP connection to %s", async (host) => {
        const { child, ended } = node.begin({ stream: true, api: { host, port: 6443 } });
        await new Promise((resolve) => child.stdout?.once("data", resolve));
        await node.run({ actions: ["recover", "connect"] });
        await node.run({ actions: ["recover", "restore"] });
        child.stdin?.end();
        const [, result] = (await ended).reported as { longestGapMs: number; sent: number; heard: number }[];
        expect(result?.heard).toBe(result?.sent);
        // eslint-disable-next-line no-restricted-syntax -- the gap is the promise; it is 10 to 30 ms
        expect(result?.longestGapMs).toBeLessThan(limitMs);
        console.info(
            `longest gap of a TCP connection to ${host} over the move and the rollback: ${result?.longestGapMs.toFixed(0)} ms`,
        );
    });

    it("is made and undone 50 times", async () => {
        const { reported, log } = await node.run({ actions: ["cycle"] });
        expect({
            kinds: new Set(reported.map(({ kind }) => kind)),
            count: reported.length,
            log: log.includes('"error"'),
        }).toEqual({
            kinds: new Set(["bridged"]),
            count: 50,
            log: false,
        });
        expect(node.truth()).toEqual(before);
    });
});
