import { afterAll, beforeAll, describe } from "@jest/globals";
import { allNodes, nodesFromWorker } from "../fixture/cluster.ts";
import { setStage, type Stage } from "../fixture/matrix.ts";
import { itWorks, withoutIp4 } from "../fixture/tunnel-tests.ts";
import { homeOf, placeNode, plugUnderlay } from "../fixture/underlay.ts";

// geneve over IPv4, and tunnels on another port: suites/52-tunnels
describe("mode encap", () => {
    let stage: Stage;

    beforeAll(async () => {
        // these Pods run before the first tunnel and stay, whatever the mode
        [stage] = await Promise.all([setStage("e2e-tunnels", nodesFromWorker), plugUnderlay()]);
    });
    afterAll(() => stage.namespace[Symbol.asyncDispose]());

    describe("with geneve over IPv6", () => {
        itWorks("geneve over IPv6", { trafficEncapMode: "encap", tunnelType: "geneve" }, () => stage, withoutIp4);

        afterAll(async () => {
            await Promise.all(allNodes.map((node) => placeNode(node, homeOf(node))));
        });
    });

    describe("with vxlan", () => {
        itWorks("vxlan", { trafficEncapMode: "encap", tunnelType: "vxlan" }, () => stage);
    });

    describe("with gre", () => {
        itWorks("gre", { trafficEncapMode: "encap", tunnelType: "gre" }, () => stage);
    });
});
