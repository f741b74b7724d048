import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { families } from "../fixture/addresses.ts";
import { helmUpgrade, workers } from "../fixture/cluster.ts";
import { noEncap, setMode } from "../fixture/modes.ts";
import { clients } from "../fixture/service-matrix.ts";
import { ServiceStage } from "../fixture/service-stage.ts";

// kube-proxy stays beside it: what OVS serves does not get there
describe.each(["geneve", "vxlan"] as const)("Services with proxyAll, encap by %s", (tunnelType) => {
    let stage: ServiceStage;

    beforeAll(async () => {
        const [first = "", second = ""] = workers;
        stage = await ServiceStage.set("e2e-services-encap", [first, second]);
        await helmUpgrade(["antreaProxy.proxyAll=true"]);
        await setMode({ trafficEncapMode: "encap", tunnelType, underlay: false });
        await stage.served();
    });
    afterAll(async () => {
        await stage[Symbol.asyncDispose]();
        await helmUpgrade(["antreaProxy.proxyAll=false"]);
        await setMode(noEncap);
    });

    describe.each(clients)("of a client: %s", (client) => {
        it.each(families)("answer at each address over %s, and see whom they should", async (family) => {
            const { answers, expected } = await stage.explore("encap", client, family);
            expect(answers).toEqual(expected);
        });
    });
});
