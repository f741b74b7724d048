import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { families, ipOf, ofFamily, type FamilyName } from "../fixture/addresses.ts";
import { bridged, kindName, kinds, setBridging, setBridgingStage, type BridgingStage } from "../fixture/bridging.ts";
import { warmUpBridging } from "../fixture/bridging-matrix.ts";
import { helmUpgrade, internalIps, shellOnNode, workers } from "../fixture/cluster.ts";
import { setIpam, TestPools } from "../fixture/ipam.ts";
import { hostPort, TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import {
    addressIn,
    addService,
    ask,
    askByUdp,
    begunInOvs,
    servicePorts,
    untilBegunInOvs,
    untilInOvs,
    virtualSource,
} from "../fixture/services.ts";
import { plugRouter, poolRanges, unplugRouter } from "../fixture/vlan-router.ts";

const [first = "", second = ""] = workers;

// kube-proxy runs beside AntreaProxy: that OVS served a connection shows in the counters of its flows
describe("Services in bridging mode", () => {
    let pools: TestPools;
    let stage: BridgingStage;
    /** By the name of the Pod that is the only endpoint. */
    const clusterIps = new Map<string, readonly string[]>();

    beforeAll(async () => {
        await setIpam(true);
        await plugRouter();
        await setBridging(true);
        await bridged();
        pools = await TestPools.create(await poolRanges());
        stage = await setBridgingStage(await TestNamespace.create("e2e-bridging-services"), [first, second]);
        await warmUpBridging(stage);
        for (const { name } of [stage.clients, stage.near, stage.far].flatMap((pods) => Object.values(pods))) {
            const ips = await addService(stage.namespace, `to-${name}`, name);
            clusterIps.set(name, ips);
            for (const ip of ips) await untilInOvs(first, ip);
        }
    });
    afterAll(async () => {
        await stage.namespace[Symbol.asyncDispose]();
        await pools[Symbol.asyncDispose]();
        await helmUpgrade(["antreaProxy.proxyAll=false"], { oneByOne: true, timeoutMs: 300_000 });
        await setBridging(false);
        await unplugRouter();
    });

    const vip = ({ name }: TestPod, family: FamilyName): string => ofFamily(clusterIps.get(name) ?? [], family);

    const pairs = kinds.flatMap((from) => kinds.flatMap((to) => families.map((family) => [from, to, family] as const)));

    describe.each(["near", "far"] as const)("lead to a Pod that is %s", (where) => {
        it.each(pairs.map(([from, to, family]) => [kindName(from), kindName(to), family, from, to] as const))(
            "from %s to %s by TCP and UDP over %s, which sees the Pod's address",
            async (_from, _to, family, from, to) => {
                const { namespace, clients } = stage;
                const [client, server] = [clients[from], stage[where][to]];
                const ip = vip(server, family);
                const own = ipOf(client, family);
                await eventually(`${server.name} answers`, () => ask(namespace, client, ip, "hostname"));
                const before = await begunInOvs(first, ip);
                expect(await ask(namespace, client, ip, "hostname")).toBe(server.name);
                expect(addressIn(await ask(namespace, client, ip, "clientip"))).toBe(own);
                expect(addressIn(await askByUdp(namespace, client, ip, "clientip"))).toBe(own);
                await untilBegunInOvs(first, ip, before + 3);
            },
        );
    });

    it.each(kinds.flatMap((kind) => families.map((family) => [kindName(kind), family, kind] as const)))(
        "lead a Pod of %s to itself over %s",
        async (_kind, family, kind) => {
            const pod = stage.clients[kind];
            expect(addressIn(await ask(stage.namespace, pod, vip(pod, family), "clientip"))).toBe(
                virtualSource[family],
            );
        },
    );

    describe("with proxyAll", () => {
        beforeAll(async () => {
            await helmUpgrade(["antreaProxy.proxyAll=true"], { oneByOne: true, timeoutMs: 300_000 });
            await bridged();
            for (const ips of clusterIps.values()) for (const ip of ips) await untilInOvs(first, ip);
        });

        it.each(kinds.flatMap((kind) => families.map((family) => [kindName(kind), family, kind] as const)))(
            "lead the Node to a Pod of %s over %s",
            async (_kind, family, kind) => {
                const url = (ip: string): string => `http://${hostPort(ip, servicePorts.http)}`;
                const own = await internalIps(first);
                for (const server of [stage.near[kind], stage.far[kind]]) {
                    const ip = vip(server, family);
                    const get = (path: string): Promise<string> =>
                        shellOnNode(first, `curl -sS -m 5 ${url(ip)}/${path}`);
                    await eventually(`${server.name} answers the Node`, () => get("hostname"));
                    expect((await get("hostname")).trim()).toBe(server.name);
                    const seen = addressIn((await get("clientip")).trim());
                    if (server.node === first && kind !== "subnet" && kind !== 0)
                        expect(seen).toBe(virtualSource[family]);
                    else if (server.node !== first) expect(own).toContain(seen);
                }
            },
        );

        it.each(pairs.map(([from, to, family]) => [kindName(from), kindName(to), family, from, to] as const))(
            "lead from %s to %s over %s as before",
            async (_from, _to, family, from, to) => {
                const { namespace, clients, far } = stage;
                const ip = vip(far[to], family);
                await eventually("it answers", () => ask(namespace, clients[from], ip, "hostname"));
                expect(addressIn(await ask(namespace, clients[from], ip, "clientip"))).toBe(
                    ipOf(clients[from], family),
                );
            },
        );
    });
});
