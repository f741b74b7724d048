import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { allNodes, nodeObject, nodesFromWorker } from "../fixture/cluster.ts";
import { explore, families, setStage, warmUp, type Cells, type Stage } from "../fixture/matrix.ts";
import { ianaPorts, setMode, settled, type Mode, type TunnelType } from "../fixture/modes.ts";
import { Outside } from "../fixture/outside.ts";
import {
    captureBetween,
    everyCell,
    fits,
    gatewaysOf,
    hop,
    mtuOf,
    newPodPaths,
    repeatPorts,
    startNewPods,
    type NewPods,
} from "../fixture/tunnels.ts";
import { home, homeOf, placeNode, plugUnderlay, tunnelTo, type Place } from "../fixture/underlay.ts";

const [first = "", , third = ""] = nodesFromWorker;
const nicMtu = 1500;
const withoutIp4: ReadonlyMap<string, Place> = new Map(
    [...home].map(([node, place]) => [node, { ...place, families: [6] }]),
);

describe("mode encap", () => {
    let stage: Stage;
    let pods: NewPods;

    beforeAll(async () => {
        // these Pods run before the first tunnel and stay, whatever the mode
        [stage] = await Promise.all([setStage("e2e-tunnels", nodesFromWorker), plugUnderlay()]);
    }, 240_000);
    afterAll(() => stage.namespace[Symbol.asyncDispose]());

    const itWrapsPackets = (
        mode: Mode & { readonly tunnelType: TunnelType },
        places: ReadonlyMap<string, Place>,
    ): void => {
        const { tunnelType, tunnelPort: port = ianaPorts[tunnelType], tunnelCsum = false } = mode;

        it("wraps packets as the type demands, a hop and the marks of congestion counted", async () => {
            const { pings, longest } = await captureBetween(stage.namespace, pods, tunnelType, port);
            const overIp6 = places === withoutIp4;
            const [source, destination] = [first, third].map((node) => tunnelTo(places.get(node) ?? homeOf(node)));
            const packet = {
                key: 0,
                // over IPv6 UDP has one always
                checksum: tunnelCsum || (overIp6 && tunnelType !== "gre"),
                ...(port === undefined ? {} : { port }),
                // 64, once less by the router between the Nodes
                outer: { source, destination, ttl: 63 },
                inner: { ttl: 63 },
            };
            for (const family of families) {
                expect(pings[family]).toMatchObject([packet, packet, packet, packet]);
                expect(pings[family].map(({ inner }) => inner.ecn)).toEqual([0, 1, 2, 3]);
                // RFC 3168 9.1.1: a packet that has met congestion already leaves as one that may meet it
                expect(pings[family].map(({ outer }) => outer.ecn)).toEqual([0, 1, 2, 2]);
            }
            expect(longest).toBe(nicMtu);
        });
    };

    const itWorks = (row: string, mode: Mode & { readonly tunnelType: TunnelType }, places = home): void => {
        const mtu = nicMtu - (mode.tunnelType === "gre" ? 42 : 50) - (places === withoutIp4 ? 20 : 0);
        let cells: Cells;

        beforeAll(async () => {
            await setMode(mode);
            if (places !== home) await Promise.all([...places].map(([node, place]) => placeNode(node, place)));
            await settled(mode, places);
            const name = row.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase();
            [pods] = await Promise.all([startNewPods(stage.namespace, name), warmUp(stage)]);
            cells = await explore(row, stage, nodesFromWorker, newPodPaths(stage, pods));
        }, 300_000);

        it.each(everyCell)("%s", (cell) => {
            expect(cells.get(cell)).toBe("ok");
        });

        it("leaves nothing of another mode on any Node", () => settled(mode, places, { timeoutMs: 0 }));

        it("gives new Pods the MTU that a tunnel leaves", async () => {
            expect(await Promise.all(pods.map((pod) => mtuOf(stage.namespace, pod)))).toEqual([mtu, mtu]);
        });

        it.each(families)("carries the longest packet that fits over %s and refuses a longer one", async (inner) => {
            const sizes = [mtu, mtu + 1].map((size) => fits(stage.namespace, ...pods, inner, size));
            expect(await Promise.all(sizes)).toEqual([true, false]);
        });

        it.each(families)("answers %s packets that live too short, first here, then at the peer", async (inner) => {
            const [own, peer] = await Promise.all([gatewaysOf(first), gatewaysOf(third)]);
            const hops = await Promise.all([1, 2].map((ttl) => hop(stage.namespace, ...pods, inner, ttl)));
            expect(hops).toEqual([own[inner], peer[inner]]);
        });

        itWrapsPackets(mode, places);
    };

    describe("with geneve", () => {
        itWorks("geneve", { trafficEncapMode: "encap", tunnelType: "geneve" });

        // whose side of the Service's connection is in TIME_WAIT, and who may find the numbers of the next too old
        it.each(families)(
            "reaches endpoints of a Service directly from the port of its connection, over %s",
            async (family) => {
                const outcomes = await repeatPorts(stage, family);
                expect(new Set(outcomes)).toEqual(new Set(["near near", "far-2 far-2", "far-3 far-3"]));
            },
        );

        it.each(families)("tells senders outside how long a packet may be over %s", async (family) => {
            await using outside = await Outside.start();
            const [, far] = pods;
            const ip = family === "IPv4" ? far.ip4 : far.ip6;
            const via = (await nodeObject(third)).status.addresses.find(
                ({ type, address }) => type === "InternalIP" && address.includes(":") === ip.includes(":"),
            );
            await outside.exec(["ip", "route", "add", ip, "via", via?.address ?? ""]);
            const size = family === "IPv4" ? 1472 : 1452;
            const ping = (more: string): Promise<string> =>
                outside.exec(["sh", "-c", `ping -M do -W 2 ${more} ${ip} 2>&1 || true`]);
            expect(await ping(`-c 1 -s ${size}`)).toMatch(/mtu ?= ?1450/);
            expect(await ping(`-c 1 -s ${size - 50}`)).toContain(" 0% packet loss");
        });
    });

    describe("with geneve over IPv6", () => {
        itWorks("geneve over IPv6", { trafficEncapMode: "encap", tunnelType: "geneve" }, withoutIp4);

        afterAll(async () => {
            await Promise.all(allNodes.map((node) => placeNode(node, homeOf(node))));
        }, 60_000);
    });

    describe("with vxlan", () => {
        itWorks("vxlan", { trafficEncapMode: "encap", tunnelType: "vxlan" });
    });

    describe("with vxlan on another port, with checksums", () => {
        const mode = { trafficEncapMode: "encap", tunnelType: "vxlan", tunnelPort: 8472, tunnelCsum: true } as const;
        beforeAll(async () => {
            await setMode(mode);
            await settled(mode, home);
            await warmUp(stage);
        }, 300_000);

        itWrapsPackets(mode, home);
    });

    describe("with gre", () => {
        itWorks("gre", { trafficEncapMode: "encap", tunnelType: "gre" });
    });
});
