import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { PodProgram, ask } from "../../support/pod-programs.ts";
import { ipsOf, TestPod } from "../../support/test-pod.ts";
import { ServiceCluster } from "./service-cluster.ts";
import { eventually } from "../../support/eventually.ts";

/** Sends so many datagrams, each from a new port, as fast as it can, after a line; prints how many milliseconds that took. */
const flood = `
    const dgram = require("node:dgram"), [host, port, count] = process.argv.slice(1);
    console.log("ready");
    process.stdin.once("data", async () => {
        const began = performance.now();
        for (let at = 0; at < Number(count); at += 1) {
            const socket = dgram.createSocket("udp4").on("error", () => {});
            await new Promise((resolve) => socket.send("x", Number(port), host, resolve));
            socket.close();
        }
        console.log(String(Math.round(performance.now() - began)));
    });`;

let cluster: ServiceCluster;
const pods: TestPod[] = [];

beforeAll(async () => {
    cluster = await ServiceCluster.start();
});
afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    for (const pod of pods) pod[Symbol.dispose]();
});

it("of many packets to a Service without endpoints a thousand a second are answered, and others get through", async () => {
    const ips: string[] = [];
    for (const name of ["flooder", "client", "server"]) {
        const pod = new TestPod(name);
        pods.push(pod);
        ips.push(ipsOf(await cluster.agent.add(pod))[0] ?? "");
    }
    const [flooder, client, server] = pods as [TestPod, TestPod, TestPod];
    const [nobody] = await cluster.addService("nobody", [{ port: 80, protocol: "UDP" }]);
    const [vip] = await cluster.addService("web", [{ port: 80 }]);
    await cluster.setEndpoints("web", 4, [ips[2] ?? ""]);
    await using _ = await PodProgram.serve(server, "server");
    await eventually(
        () => ask(client, vip, 80),
        (text) => text.startsWith("server "),
        10_000,
    );
    await using flooding = await PodProgram.start(flooder, flood, [nobody, "80", "30000"]);
    const took = flooding.send("go");
    const answers: string[] = [];
    for (let n = 0; n < 10; n += 1) answers.push(await ask(client, vip, 80));
    const ms = Number(await took);
    expect(new Set(answers)).toEqual(new Set([`server ${ips[1]}`]));
    const text = await cluster.metrics.text();
    const rejected = Number(/rejected_packets_total\{ip_family="v4"\} (\d+)/.exec(text)?.[1]);
    // those of the first moment, and a thousand a second; with what the switch counts late
    expect(rejected).toBeGreaterThan(500);
    expect(rejected).toBeLessThan(2_000 + ms);
});
