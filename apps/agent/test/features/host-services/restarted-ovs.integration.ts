import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { PodProgram, type ProgramPlace } from "../../support/pod-programs.ts";
import { heard, NodeNetwork, outsideIps, run } from "./node-network.ts";

let network: NodeNetwork;
let count = 0;
let name = "";

beforeAll(async () => {
    network = await NodeNetwork.start();
});
afterAll(() => network?.[Symbol.asyncDispose]());
afterEach(() => network.cluster.deleteService(name));

/** With the userspace datapath OVS loses flows and connections. */
async function restartOvs(): Promise<void> {
    const { agent, node } = network.cluster;
    await node.ovs.killVswitchd();
    await node.ovs.startVswitchd();
    await agent.resync();
}

const add = (spec: Readonly<Record<string, unknown>>): ReturnType<NodeNetwork["addService"]> => {
    count += 1;
    name = `service-${count}`;
    return network.addService(name, spec);
};

describe.each([4, 6] as const)("over IPv%d", (family) => {
    // nobody has them
    const external = family === 4 ? "198.51.100.7" : "2001:db8:1::7";
    const balanced = family === 4 ? "198.51.100.8" : "2001:db8:1::8";
    const service = { tcp: 80, udp: 80 };
    const clients = (): readonly (readonly [from: ProgramPlace, ip: string])[] => [
        [network.pods[1], network.pod(1, family)],
        [network.outside, outsideIps[family]],
    ];

    it("external addresses without endpoints are refused, also when OVS was restarted", async () => {
        await add({ type: "LoadBalancer", externalIPs: [external] });
        await network.cluster.setIngress(name, balanced);
        const wanted = "ECONNREFUSED";
        const expectRefused = async (): Promise<void> => {
            for (const [from] of [...clients(), [undefined]] as const)
                for (const host of [external, balanced])
                    expect([host, ...(await heard(from, host, { ...service, wanted }))]).toEqual([
                        host,
                        wanted,
                        wanted,
                    ]);
        };
        await expectRefused();
        await restartOvs();
        await expectRefused();
    });

    it("connections that OVS has lost are reset, whatever address of the Service they were to", async () => {
        const { vips } = await add({ externalIPs: [external] });
        await network.setEndpoints(name, family, [network.pod(0, family)]);
        for (const [from, ip] of clients()) {
            const wanted = `a ${ip}`;
            const hosts = from === network.outside ? [external] : [vips[family], external];
            for (const host of hosts) {
                await heard(from, host, { ...service, wanted });
                await using established = PodProgram.connect(from, host, 80);
                expect(await established.line()).toBe("connected");
                expect(await established.send("hello")).toBe(wanted);
                await restartOvs();
                expect([host, await established.send("hello")]).toEqual([host, "ECONNRESET"]);
                expect(await heard(from, host, { ...service, wanted })).toEqual([wanted, wanted]);
            }
        }
    });

    it("connections of a Pod that kube-proxy translates go on, also when OVS has lost them", async () => {
        const iptables = family === 4 ? "iptables" : "ip6tables";
        const endpoint = family === 4 ? `${network.pod(0, 4)}:8080` : `[${network.pod(0, 6)}]:8080`;
        const rule = `PREROUTING -d ${external} -p tcp --dport 80 -j DNAT --to-destination ${endpoint}`.split(" ");
        const [, client] = network.pods;
        const wanted = `a ${network.pod(1, family)}`;
        run(iptables, "-t", "nat", "-A", ...rule);
        await using established = PodProgram.connect(client, external, 80);
        try {
            expect(await established.line()).toBe("connected");
            expect(await established.send("hello")).toBe(wanted);
        } finally {
            run(iptables, "-t", "nat", "-D", ...rule);
        }
        await add({ externalIPs: [external] });
        await network.setEndpoints(name, family, [network.pod(1, family)]);
        const own = `b ${outsideIps[family]}`;
        expect(await heard(network.outside, external, { ...service, wanted: own })).toEqual([own, own]);
        expect(await established.send("hello")).toBe(wanted);
        await network.cluster.node.ovs.appctl("dpctl/flush-conntrack");
        expect(await established.send("hello")).toBe(wanted);
    });
});
