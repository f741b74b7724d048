import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { families } from "../fixture/addresses.ts";
import { allNodes, nodesFromWorker } from "../fixture/cluster.ts";
import { besideKubeProxy, withoutKubeProxy } from "../fixture/kube-proxy.ts";
import { noEncap, setMode, settled, type Mode } from "../fixture/modes.ts";
import { clients } from "../fixture/service-matrix.ts";
import { ServiceStage } from "../fixture/service-stage.ts";
import { serveAtNodes } from "../fixture/services-at-nodes.ts";
import { begunInOvs, untilBegunInOvs } from "../fixture/services.ts";
import { addressesOf, home, homeOf, placeNode, plugUnderlay, unplugUnderlay } from "../fixture/underlay.ts";

// in mode hybrid there is a route to the control plane, which is on the same subnet, and a tunnel to the other worker
const [first = "", neighbour = "", remote = ""] = nodesFromWorker;
const encap: Mode = { trafficEncapMode: "encap", tunnelType: "geneve" };
const hybrid: Mode = { ...encap, trafficEncapMode: "hybrid" };

// noEncap: suites/31-services-without-kube-proxy. Here kube-proxy runs beside: that OVS served shows in the counters of its flows
describe("Services with proxyAll, between Nodes with tunnels", () => {
    beforeAll(() => plugUnderlay());
    afterAll(async () => {
        await setMode(noEncap, besideKubeProxy);
        await settled(noEncap, home);
        await unplugUnderlay();
    });

    describe.each([
        { title: "encap, by geneve", mode: encap, tunnels: true, second: remote },
        { title: "hybrid, by geneve", mode: hybrid, tunnels: true, second: remote },
        { title: "hybrid, by a route", mode: hybrid, tunnels: false, second: neighbour },
    ])("mode $title", ({ title, mode, tunnels, second }) => {
        const made = new AsyncDisposableStack();
        let stage: ServiceStage;

        beforeAll(async () => {
            await setMode(mode, withoutKubeProxy);
            await Promise.all(allNodes.map((node) => placeNode(node, homeOf(node))));
            await settled(mode, home);
            stage = made.use(await ServiceStage.set("e2e-services-encap", [first, second]));
            await stage.served();
        });
        afterAll(() => made.disposeAsync());

        describe.each(clients)("of a client: %s", (client) => {
            it.each(families)("answer at each address over %s, and see whom they should", async (family) => {
                const near = { target: "near", policy: "Local", protocol: "TCP", kind: "LoadBalancer IP" } as const;
                const [ip] = stage.addressOf({ ...near, family });
                const before = await begunInOvs(first, ip);
                const { answers, expected } = await stage.explore({ mode: title, tunnels }, client, family);
                expect(answers).toEqual(expected);
                // two questions by TCP, two by UDP
                await untilBegunInOvs(first, ip, before + 4);
            });
        });

        it("lead externalIPs that are addresses of Nodes, those of tunnels too, and neither other ports nor tunnels", async () => {
            const ofTunnels = [first, second].flatMap((node) => addressesOf(homeOf(node)));
            expect(await serveAtNodes(stage, ofTunnels)).toEqual([]);
        });
    });
});
