import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { families, ipOf, ofFamily } from "../fixture/addresses.ts";
import { inPod, stream } from "../fixture/bridging-streams.ts";
import { helmUpgrade, killDaemon, kubectl, nodesFromWorker, waitForAgents } from "../fixture/cluster.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import {
    addressIn,
    addService,
    addWeb,
    ask,
    askByUdp,
    begunInOvs,
    requests,
    scale,
    servicePorts,
    untilBegunInOvs,
    untilInOvs,
    virtualSource,
} from "../fixture/services.ts";
import { rolledOut } from "../fixture/workloads.ts";

const targets = ["near", "far"] as const;
const [first = "", second = ""] = nodesFromWorker;

// kube-proxy runs beside AntreaProxy in this cluster: that OVS served a connection shows in the counters of its flows
describe("Services in OVS", () => {
    let namespace: TestNamespace;
    let client: TestPod;
    let near: TestPod;
    let far: TestPod;
    /** By target. */
    const clusterIps = new Map<string, readonly string[]>();

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-services");
        [client, near, far] = (await namespace.start([
            { name: "client", node: first },
            { name: "near", node: first },
            { name: "far", node: second },
        ])) as [TestPod, TestPod, TestPod];
        for (const target of targets) {
            const ips = await addService(namespace, target, target);
            clusterIps.set(target, ips);
            for (const ip of ips) await untilInOvs(first, ip);
        }
    });
    afterAll(() => namespace[Symbol.asyncDispose]());

    const ipFor = (target: string, family: (typeof families)[number]): string =>
        ofFamily(clusterIps.get(target) ?? [], family);

    describe.each(targets)("lead a Pod to the Pod %s", (target) => {
        it.each(families)("by TCP and UDP over %s, which sees the Pod's address", async (family) => {
            const ip = ipFor(target, family);
            await eventually(`the Service ${target} answers`, () => ask(namespace, client, ip, "hostname"));
            const before = await begunInOvs(first, ip);
            expect(await ask(namespace, client, ip, "hostname")).toBe(target);
            expect(addressIn(await ask(namespace, client, ip, "clientip"))).toBe(ipOf(client, family));
            expect(await askByUdp(namespace, client, ip, "hostname")).toBe(target);
            expect(addressIn(await askByUdp(namespace, client, ip, "clientip"))).toBe(ipOf(client, family));
            await untilBegunInOvs(first, ip, before + 4);
        });
    });

    it.each(families)("lead a Pod to itself over %s", async (family) => {
        const ip = ipFor("near", family);
        expect(await ask(namespace, near, ip, "hostname")).toBe("near");
        expect(addressIn(await ask(namespace, near, ip, "clientip"))).toBe(virtualSource[family]);
    });

    it.each(families)("lead a Pod by the address of a load balancer over %s", async (family) => {
        const name = `balanced-${family.toLowerCase()}`;
        const ip = family === "IPv4" ? "203.0.113.10" : "2001:db8:113::10";
        const spec = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false };
        await addService(namespace, name, "far", spec);
        const status = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip }] } } });
        const patch = ["patch", "service", name, "--subresource=status", "--type=merge", "-p", status];
        await kubectl(["-n", namespace.name, ...patch]);
        await untilInOvs(first, ip);
        expect(await ask(namespace, client, ip, "hostname")).toBe("far");
        expect(addressIn(await ask(namespace, client, ip, "clientip"))).toBe(ipOf(client, family));
        await untilBegunInOvs(first, ip, 2);
    });

    it("without endpoints are refused at once, and served again when they have one", async () => {
        await addWeb(namespace, "scaled", 1);
        const ips = await addService(namespace, "scaled", "scaled");
        await rolledOut(namespace.name, "deployment/scaled");
        for (const ip of ips) {
            await eventually("it answers", () => ask(namespace, client, ip, "hostname"));
        }
        await scale(namespace, "scaled", 0);
        for (const ip of ips) {
            // 7: refused; without an answer curl ends with 28 after two seconds
            const get = `curl -s -m 2 -o /dev/null http://${ip.includes(":") ? `[${ip}]` : ip}/hostname; echo $?`;
            await eventually("it is refused", async () =>
                (await namespace.exec(client.name, get)).trim() === "7" ? true : undefined,
            );
        }
        await scale(namespace, "scaled", 2);
        await rolledOut(namespace.name, "deployment/scaled");
        for (const ip of ips) {
            await eventually("it answers again", () => ask(namespace, client, ip, "hostname"));
        }
    });

    it("lose no connection in a rolling update, nor while the agent is killed", async () => {
        await addWeb(namespace, "rolled", 3);
        const ip = ofFamily(await addService(namespace, "rolled", "rolled"), "IPv4");
        await rolledOut(namespace.name, "deployment/rolled");
        await untilInOvs(first, ip);
        await eventually("it answers", () => ask(namespace, client, ip, "hostname"));
        const asking = requests(namespace, client, ip, 600);
        // and one connection to another Service goes on
        const [from, to] = [inPod(namespace, client.name), inPod(namespace, far.name)];
        const streaming = stream(from, to, ipFor("far", "IPv4"), { port: servicePorts.stream, lines: 300 });
        await pause(2_000);
        await kubectl(["-n", namespace.name, "rollout", "restart", "deployment/rolled"]);
        await pause(5_000);
        await killDaemon(first, "agent");
        await rolledOut(namespace.name, "deployment/rolled");
        const { answered, failures } = await asking;
        await streaming;
        expect(failures).toEqual([]);
        // of before and after the update
        expect(answered.size).toBeGreaterThan(3);
        await waitForAgents();
    });

    it("lead a client that keeps its port to another endpoint when that of its datagrams is gone", async () => {
        await addWeb(namespace, "datagrams", 2);
        const ip = ofFamily(await addService(namespace, "datagrams", "datagrams"), "IPv4");
        await rolledOut(namespace.name, "deployment/datagrams");
        await untilInOvs(first, ip);
        await eventually("it answers", () => askByUdp(namespace, client, ip, "hostname"));
        // a program for each datagram, from one port: one that goes on would end when the host of an ended server refuses it
        const one = `echo hostname | /usr/bin/nc -4 -u -p 23456 -w 1 ${ip} ${servicePorts.udp} || true; echo`;
        const talk = `n=0; while [ ! -e /tmp/enough ] && [ $((n += 1)) -le 200 ]; do ${one}; done`;
        const talking = namespace.exec(client.name, talk, 300_000);
        await pause(5_000);
        const names = (await namespace.pods())
            .map(({ metadata }) => metadata.name)
            .filter((name) => name.startsWith("datagrams-"));
        expect(names).toHaveLength(2);
        // whichever of the two answers, it goes, and another one comes
        for (const name of names) {
            await namespace.delete(name);
            await rolledOut(namespace.name, "deployment/datagrams");
        }
        await pause(5_000);
        await namespace.exec(client.name, "touch /tmp/enough");
        const output = await talking;
        const counts = names.map((name) => output.split(name).length - 1);
        const all = output.match(/datagrams-[a-z0-9]+-[a-z0-9]{5}/g) ?? [];
        expect(Math.max(...counts)).toBeGreaterThan(0);
        expect(new Set(all).size).toBeGreaterThan(1);
        expect(names).not.toContain(all.at(-1));
    });

    it.each(families)("with affinity keep a client at one endpoint until it is gone, over %s", async (family) => {
        const name = `sticky-${family.toLowerCase()}`;
        await addWeb(namespace, name, 3);
        const ips = await addService(namespace, name, name, {
            sessionAffinity: "ClientIP",
            sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
        });
        const ip = ofFamily(ips, family);
        await rolledOut(namespace.name, `deployment/${name}`);
        await untilInOvs(first, ip);
        await eventually("it answers", () => ask(namespace, client, ip, "hostname"));
        const { answered, failures } = await requests(namespace, client, ip, 40);
        expect([failures, answered.size]).toEqual([[], 1]);
        const [chosen = ""] = answered.keys();
        await namespace.delete(chosen);
        const next = await eventually("another one answers", () => ask(namespace, client, ip, "hostname"));
        expect(next).not.toBe(chosen);
        expect([...(await requests(namespace, client, ip, 20)).answered.keys()]).toEqual([next]);
    });

    it("go over to kube-proxy and back, and a connection that kube-proxy began goes on", async () => {
        const ip = ipFor("far", "IPv4");
        await helmUpgrade(["antreaProxy.enable=false"]);
        expect(await ask(namespace, client, ip, "hostname")).toBe("far");
        await eventually("OVS has no flow of it", async () => ((await begunInOvs(first, ip)) === 0 ? true : undefined));
        const [from, to] = [inPod(namespace, client.name), inPod(namespace, far.name)];
        const streaming = stream(from, to, ip, { port: servicePorts.stream, lines: 900 });
        await pause(3_000);
        await helmUpgrade(["antreaProxy.enable=true"]);
        await untilInOvs(first, ip);
        expect(await ask(namespace, client, ip, "hostname")).toBe("far");
        await untilBegunInOvs(first, ip, 1);
        await streaming;
    });
});
