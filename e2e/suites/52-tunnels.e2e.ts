import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { allNodes, internalIps, nodesFromWorker, uidsOf } from "../fixture/cluster.ts";
import { families, ipOf, ofFamily } from "../fixture/addresses.ts";
import { setStage, type Stage } from "../fixture/matrix.ts";
import { Outside } from "../fixture/outside.ts";
import { enter, itWorks, itWrapsPackets, withoutIp4, type TunnelMode } from "../fixture/tunnel-tests.ts";
import { repeatPorts, type NewPods } from "../fixture/tunnels.ts";
import { home, homeOf, placeNode, plugUnderlay } from "../fixture/underlay.ts";

const [, , third = ""] = nodesFromWorker;
const geneve: TunnelMode = { trafficEncapMode: "encap", tunnelType: "geneve" };

// every test of the other types: matrix/50-tunnels
describe("mode encap", () => {
    let stage: Stage;
    let podsOf: () => NewPods;

    beforeAll(async () => {
        // these Pods start before the first tunnel and are kept in all modes
        [stage] = await Promise.all([setStage("e2e-tunnels", nodesFromWorker), plugUnderlay()]);
    });
    afterAll(() => stage.namespace[Symbol.asyncDispose]());

    describe("with geneve", () => {
        podsOf = itWorks("geneve", geneve, () => stage);

        // the endpoint's side of the Service's connection is in TIME_WAIT, and may reject the next one's sequence numbers
        it.each(families)(
            "reaches endpoints of a Service directly from the port of its connection, over %s",
            async (family) => {
                const outcomes = await repeatPorts(stage, family);
                expect(new Set(outcomes)).toEqual(new Set(["near near", "far-2 far-2", "far-3 far-3"]));
            },
        );

        it.each(families)("reports to senders outside how long a packet may be over %s", async (family) => {
            await using outside = await Outside.start();
            const [, far] = podsOf();
            const ip = ipOf(far, family);
            await outside.exec(["ip", "route", "add", ip, "via", ofFamily(await internalIps(third), family)]);
            const size = family === "IPv4" ? 1472 : 1452;
            const ping = (more: string): Promise<string> =>
                outside.exec(["sh", "-c", `ping -M do -W 2 ${more} ${ip} 2>&1 || true`]);
            expect(await ping(`-c 1 -s ${size}`)).toMatch(/mtu ?= ?1450/);
            expect(await ping(`-c 1 -s ${size - 50}`)).toContain(" 0% packet loss");
        });
    });

    describe("with geneve over IPv6", () => {
        beforeAll(() => enter(geneve, withoutIp4, stage));
        afterAll(async () => {
            await Promise.all(allNodes.map((node) => placeNode(node, homeOf(node))));
        });

        itWrapsPackets(geneve, withoutIp4, () => [stage, podsOf()]);
    });

    describe("with vxlan on another port, with checksums", () => {
        const mode = { trafficEncapMode: "encap", tunnelType: "vxlan", tunnelPort: 8472, tunnelCsum: true } as const;
        let before: { readonly agents: string; readonly controller: string };
        const uids = async (): Promise<typeof before> => ({
            agents: await uidsOf("antrea-agent"),
            controller: await uidsOf("antrea-controller"),
        });

        beforeAll(async () => {
            before = await uids();
            await enter(mode, home, stage);
        });

        it("has restarted the agents, which the values are of, but not the controller", async () => {
            const after = await uids();
            expect(after.controller).toBe(before.controller);
            expect(after.agents).not.toBe(before.agents);
        });

        itWrapsPackets(mode, home, () => [stage, podsOf()]);
    });
});
