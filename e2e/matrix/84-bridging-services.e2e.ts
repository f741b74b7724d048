import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { families, ipOf, ofFamily, type FamilyName } from "../fixture/addresses.ts";
import { bridged, kindName, kinds, setBridging, setBridgingStage, type BridgingStage } from "../fixture/bridging.ts";
import { warmUpBridging } from "../fixture/bridging-matrix.ts";
import {
    addressesSeen,
    expectedSight,
    places,
    questionsOf,
    questionText,
    type BridgedQuestion,
} from "../fixture/bridging-sights.ts";
import { helmUpgrade, internalIps, shellOnNode, workers } from "../fixture/cluster.ts";
import { setIpam, TestPools } from "../fixture/ipam.ts";
import { record } from "../fixture/matrix.ts";
import { getJson } from "../fixture/objects.ts";
import { hostPort, TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { policies, type Policy } from "../fixture/service-matrix.ts";
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
    type Shell,
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

        describe("each with one policy for all traffic", () => {
            /** By Pod and policy: all addresses of the Service, and the NodePorts of TCP and UDP. */
            const served = new Map<string, ServedAt>();
            const keyOf = ({ name }: TestPod, policy: Policy): string => `${policy.toLowerCase()}-${name}`;

            beforeAll(async () => {
                for (const where of places)
                    for (const server of Object.values(stage[where]))
                        for (const policy of policies)
                            served.set(
                                keyOf(server, policy),
                                await addWithPolicy(stage.namespace, server, {
                                    name: keyOf(server, policy),
                                    policy,
                                    number: served.size + 1,
                                }),
                            );
                for (const { clusterIps, externalIps } of served.values())
                    for (const ip of [...clusterIps, ...externalIps]) await untilInOvs(first, ip);
            });

            it.each(
                ([0, 2] as const).flatMap((kind) => families.map((family) => [kindName(kind), family, kind] as const)),
            )(
                "answer a Pod of %s at its Node's NodePort, an externalIP and a ClusterIP over %s, and see whom they should",
                async (name, family, kind) => {
                    const client = stage.clients[kind];
                    const shell: Shell = (script, timeoutMs) => stage.namespace.exec(client.name, script, timeoutMs);
                    const nodeIps = await internalIps(first);
                    const questions = questionsOf(kind, kinds);
                    const asked = questions.map((question) => {
                        const { clusterIps, externalIps, nodePorts } = servedAt(question);
                        const { protocol } = question;
                        const port = protocol === "TCP" ? servicePorts.http : servicePorts.udp;
                        if (question.kind === "NodePort of its Node")
                            return { ip: ofFamily(nodeIps, family), port: nodePorts[protocol], protocol };
                        const ips = question.kind === "ClusterIP" ? clusterIps : externalIps;
                        return { ip: ofFamily(ips, family), port, protocol };
                    });
                    // the first packets to an endpoint may be lost until its neighbours are known
                    await addressesSeen(shell, family, asked);
                    const owners = new Map([
                        [ipOf(client, family), "Pod"],
                        ...nodeIps.map((ip) => [ip, "Node"] as const),
                    ]);
                    const seen = (await addressesSeen(shell, family, asked)).map((ip) =>
                        ip === "" ? "nobody" : (owners.get(ip) ?? ip),
                    );
                    const wanted = questions.map(expectedSight);
                    for (const [at, question] of questions.entries()) {
                        const row = `bridging, ${name} to ${kindName(question.target)} ${question.place}, ${question.policy}`;
                        const column = `${question.kind}, ${question.protocol}`;
                        record(row, family, column, seen[at] === wanted[at], "bridging-services", seen[at] ?? "");
                    }
                    const text = (sights: readonly string[]): readonly string[] =>
                        questions.map((question, at) => `${questionText(question)}: ${sights[at] ?? ""}`);
                    expect(text(seen)).toEqual(text(wanted));
                },
            );

            function servedAt({ target, place, policy }: BridgedQuestion): ServedAt {
                const found = served.get(keyOf(stage[place][target], policy));
                if (found === undefined) throw new TypeError(`no Service of ${stage[place][target].name}`);
                return found;
            }
        });
    });
});

interface ServedAt {
    readonly clusterIps: readonly string[];
    readonly externalIps: readonly string[];
    readonly nodePorts: Readonly<Record<"TCP" | "UDP", number>>;
}

/** Creates a Service of type NodePort with one endpoint and two externalIPs, which are those of this number and nobody's. */
async function addWithPolicy(
    namespace: TestNamespace,
    server: TestPod,
    { name, policy, number }: { readonly name: string; readonly policy: Policy; readonly number: number },
): Promise<ServedAt> {
    const externalIps = [`198.51.100.${number}`, `2001:db8:51::${number}`];
    const spec = {
        type: "NodePort",
        externalIPs: externalIps,
        externalTrafficPolicy: policy,
        internalTrafficPolicy: policy,
    };
    const clusterIps = await addService(namespace, name, server.name, spec);
    const { spec: created } = await getJson<{
        readonly spec: { readonly ports: readonly { readonly name: string; readonly nodePort: number }[] };
    }>("service", { name, namespace: namespace.name });
    const nodePort = (of: string): number => created.ports.find((port) => port.name === of)?.nodePort ?? 0;
    return { clusterIps, externalIps, nodePorts: { TCP: nodePort("http"), UDP: nodePort("udp") } };
}
