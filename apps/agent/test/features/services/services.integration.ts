import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { Category, cookieOf, Table } from "@antrea/flows";
import { services } from "@antrea/kube";
import { parseIp } from "@antrea/ip";
import type { FieldValue, FlowStats } from "@antrea/openflow";
import { eventually } from "../../support/eventually.ts";
import { ask, PodProgram } from "../../support/pod-programs.ts";
import { ipsOf, TestPod } from "../../support/test-pod.ts";
import { ServiceCluster, type TestPort } from "./service-cluster.ts";

let cluster: ServiceCluster;
const pods: TestPod[] = [];
/** By Pod: its addresses. */
const ips: (readonly [v4: string, v6: string])[] = [];
const servers: PodProgram[] = [];
/** A Pod that serves nothing. */
let client: TestPod;
let clientIps: readonly [v4: string, v6: string];

async function addPod(name: string): Promise<[TestPod, readonly [string, string]]> {
    const pod = new TestPod(name);
    pods.push(pod);
    const [v4 = "", v6 = ""] = ipsOf(await cluster.agent.add(pod));
    return [pod, [v4, v6]];
}

beforeAll(async () => {
    cluster = await ServiceCluster.start();
    for (const name of ["a", "b"]) {
        const [pod, addresses] = await addPod(name);
        ips.push(addresses);
        servers.push(await PodProgram.serve(pod, name));
    }
    [client, clientIps] = await addPod("client");
});

afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    for (const pod of pods) pod[Symbol.dispose]();
});

/** 10.96.0.1, the API server's own Service, which has no endpoint that is not a loopback address. */
const ofApiServer = 0x0a60_0001n;

/** The flows of all Services but that of the API server. */
const flowsOfServices = async (): Promise<readonly FlowStats[]> =>
    (await cluster.agent.openflow.dumpFlows()).filter(
        ({ cookie, match }) =>
            cookieOf(cookie).category === Category.service && BigInt(Number(match.ipv4_dst ?? 0)) !== ofApiServer,
    );

/** What a client hears of a Service that the host is left with: the host serves none here, and reports it or not. */
const fromNoProxy = /^(no answer|ENETUNREACH)$/;

/** What new connections hear, once it satisfies. */
const heard = (host: string, satisfies: (text: string) => boolean, port = 80, from = client): Promise<string> =>
    // an informer that has not reached the API server for a while tries it again after up to 15 s
    eventually(() => ask(from, host, port), satisfies, 30_000);

/** Sends datagrams by a socket until the answer is one of these; resolves with the last one. */
const answerOf = (socket: PodProgram, satisfies: (text: string) => boolean): Promise<string> =>
    eventually(() => socket.send("hello"), satisfies, 15_000);

const at = (index: number, family: 4 | 6): string => ips[index]?.[family === 4 ? 0 : 1] ?? "";

describe.each([4, 6] as const)("Services of IPv%d", (family) => {
    const own = (): string => clientIps[family === 4 ? 0 : 1];
    let vip = "";
    let name = "";
    let count = 0;

    const add = async (protocol: "TCP" | "UDP", spec: Readonly<Record<string, unknown>> = {}): Promise<void> => {
        count += 1;
        name = `service-${family}-${count}`;
        const all = await cluster.addService(name, [{ port: 80, protocol }], spec);
        vip = all[family === 4 ? 0 : 1];
    };
    const setEndpoints = (texts: readonly string[], protocol: "TCP" | "UDP" = "TCP"): Promise<void> =>
        cluster.setEndpoints(name, family, texts, [{ port: 80, protocol }]);

    afterEach(async () => {
        await cluster.deleteService(name);
        const left = await eventually(flowsOfServices, (flows) => flows.length === 0, 10_000);
        expect(left).toEqual([]);
        expect(await cluster.agent.openflow.dumpGroups()).toEqual([]);
    });

    it("lead a Pod to the endpoint, which sees the Pod's address, and follow it to another one", async () => {
        await add("TCP");
        await setEndpoints([at(0, family)]);
        expect(await heard(vip, (text) => text.startsWith("a "))).toBe(`a ${own()}`);
        await using established = PodProgram.connect(client, vip, 80);
        expect(await established.line()).toBe("connected");
        await setEndpoints([at(1, family)]);
        expect(await heard(vip, (text) => text.startsWith("b "))).toBe(`b ${own()}`);
        // that of before stays where it is
        expect(await established.send("hello")).toBe(`a ${own()}`);
        await setEndpoints([at(0, family), at(1, family)]);
        const both = new Set<string>();
        await eventually(
            async () => both.add((await ask(client, vip, 80)).slice(0, 1)),
            () => both.size === 2,
        );
        expect(both).toEqual(new Set(["a", "b"]));
    });

    it("lead a Pod to itself", async () => {
        await add("TCP");
        await setEndpoints([at(0, family)]);
        const [pod] = pods;
        const virtual = family === 4 ? "169.254.0.253" : "fc01::aabb:ccdd:eeff";
        expect(await heard(vip, (text) => text.startsWith("a "), 80, pod)).toBe(`a ${virtual}`);
    });

    it("without endpoints are refused at once, and served when they have one", async () => {
        await add("TCP");
        await eventually(flowsOfServices, (flows) => flows.length > 0, 10_000);
        // at once: the client gives up after five seconds without an answer
        expect(await ask(client, vip, 80)).toBe("ECONNREFUSED");
        await setEndpoints([at(0, family)]);
        expect(await heard(vip, (text) => text.startsWith("a "))).toBe(`a ${own()}`);
        await setEndpoints([]);
        expect(await heard(vip, (text) => text === "ECONNREFUSED")).toBe("ECONNREFUSED");
        expect(await cluster.metrics.text()).toMatch(
            new RegExp(`antrea_proxy_rejected_packets_total\\{ip_family="v${family}"\\} [1-9]`),
        );
    });

    it("of UDP refuse datagrams without endpoints", async () => {
        await add("UDP");
        await eventually(flowsOfServices, (flows) => flows.length > 0, 10_000);
        await using socket = await PodProgram.datagrams(client, vip, 80);
        expect(await socket.send("hello")).toBe("ECONNREFUSED");
    });

    it("of UDP lead datagrams in fragments to one of the endpoints, from the first one on", async () => {
        const ofEndpoint = new RegExp(`^[ab] ${own()}$`);
        const say = async (bytes: number): Promise<string> => {
            await using socket = await PodProgram.datagrams(client, vip, 80);
            const heard = await socket.send("x".repeat(bytes));
            // later ones of the connection stay with the endpoint
            if (ofEndpoint.test(heard)) expect(await socket.send("hello")).toBe(heard);
            return heard;
        };
        await add("UDP");
        await eventually(flowsOfServices, (flows) => flows.length > 0, 10_000);
        expect(await say(3_000)).toBe("ECONNREFUSED");
        await setEndpoints([at(0, family), at(1, family)], "UDP");
        await eventually(
            () => say(3_000),
            (text) => ofEndpoint.test(text),
            10_000,
        );
        for (const bytes of [2_000, 3_000, 8_000]) expect(await say(bytes)).toMatch(ofEndpoint);
    });

    it("of UDP lead a client that keeps its port away from an endpoint that stops serving", async () => {
        await add("UDP");
        // nobody answers it, and the datagrams before the flows go to the host
        await using socket = await PodProgram.datagrams(client, vip, 80);
        await setEndpoints([at(0, family)], "UDP");
        const say = (wanted: string): Promise<string> =>
            eventually(
                () => socket.send("hello"),
                (text) => text === wanted,
                5_000,
            );
        expect(await say(`a ${own()}`)).toBe(`a ${own()}`);
        await setEndpoints([at(1, family)], "UDP");
        expect(await say(`b ${own()}`)).toBe(`b ${own()}`);
        await setEndpoints([], "UDP");
        expect(await say("ECONNREFUSED")).toBe("ECONNREFUSED");
        await setEndpoints([at(0, family)], "UDP");
        expect(await say(`a ${own()}`)).toBe(`a ${own()}`);
    });

    it("with affinity lead a client to one endpoint, to another one when it goes, and leave nothing", async () => {
        await add("TCP", {
            sessionAffinity: "ClientIP",
            sessionAffinityConfig: { clientIP: { timeoutSeconds: 3_600 } },
        });
        await setEndpoints([at(0, family), at(1, family)]);
        await heard(vip, (text) => text.endsWith(own()));
        const answers = new Set<string>();
        for (let times = 0; times < 10; times += 1) answers.add(await ask(client, vip, 80));
        expect(answers.size).toBe(1);
        const [first = ""] = answers;
        const other = first.startsWith("a") ? 1 : 0;
        expect(await cluster.learnedFlows()).toBe(1);
        await setEndpoints([at(other, family)]);
        const wanted = `${other === 0 ? "a" : "b"} ${own()}`;
        expect(await heard(vip, (text) => text === wanted)).toBe(wanted);
        await setEndpoints([at(0, family), at(1, family)]);
        // a choice again, and the client stays where it was last, not where it was before
        await eventually(
            () => cluster.agent.openflow.dumpGroups(),
            (groups) => groups.length > 0,
            10_000,
        );
        const again = new Set<string>();
        for (let times = 0; times < 10; times += 1) again.add(await ask(client, vip, 80));
        expect([...again]).toEqual([wanted]);
        await cluster.deleteService(name);
        const left = await eventually(
            () => cluster.learnedFlows(),
            (n) => n === 0,
            10_000,
        );
        expect(left).toBe(0);
    });
});

it("have their queue in /readyz?verbose, with its last result", async () => {
    const shown = await eventually(
        () => Promise.resolve(cluster.shownJobs.flatMap((jobs) => jobs.health())),
        ([queue]) => queue?.succeededAtMs !== undefined,
    );
    expect(shown).toMatchObject([{ name: "services", failures: 0 }]);
});

it("with affinity lead a client to another endpoint some time after its affinity has ended", async () => {
    const [vip] = await cluster.addService("short", [{ port: 80 }], {
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } },
    });
    await cluster.setEndpoints("short", 4, [at(0, 4), at(1, 4)]);
    const first = await heard(vip, (text) => text.endsWith(clientIps[0]));
    const heardAfter = new Set([first]);
    // the salt changes each ten seconds, and then one of two clients gets the same endpoint again
    for (let tries = 0; tries < 160 && heardAfter.size === 1; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        heardAfter.add(await ask(client, vip, 80));
    }
    expect(heardAfter.size).toBe(2);
    await cluster.deleteService("short");
});

it("with affinity forget clients of another port or timeout, also of one that changed while the agent was away", async () => {
    const ofTimeout = (timeoutSeconds: number): object => ({ sessionAffinityConfig: { clientIP: { timeoutSeconds } } });
    const change = async (spec: object): Promise<unknown> =>
        cluster.api.patch(services, { name: "sticky", namespace: "default" }, { type: "merge", body: { spec } });
    const bothAt = (port: number): TestPort[] => [
        { name: "t", port },
        { name: "u", port, protocol: "UDP" },
    ];
    const podIp = at(0, 4);
    const [vip] = await cluster.addService("sticky", bothAt(80), {
        sessionAffinity: "ClientIP",
        ...ofTimeout(3_600),
    });
    await cluster.setEndpoints("sticky", 4, [podIp], bothAt(80));
    const connect = async (port: number): Promise<void> => {
        await heard(vip, (text) => text.startsWith("a "), port);
        await using socket = await PodProgram.datagrams(client, vip, port);
        await answerOf(socket, (text) => text.startsWith("a "));
    };
    await connect(80);
    const valueOf = (field: FieldValue | undefined): unknown => (typeof field === "object" ? field.value : field);
    const learned = async (): Promise<readonly string[]> =>
        (await cluster.agent.openflow.dumpFlows({ table: Table.SessionAffinity }))
            .filter(({ cookie }) => cookie !== 0n && cookieOf(cookie).round === 0)
            .map(({ idleTimeout, match: { tcp_dst, reg9 } }) => `${tcp_dst ?? `UDP ${valueOf(reg9)}`}: ${idleTimeout}`)
            .sort();
    const expectLearned = async (...wanted: readonly string[]): Promise<void> =>
        expect(await eventually(learned, (flows) => flows.join() === wanted.join(), 10_000)).toEqual(wanted);
    await expectLearned("80: 3600", "UDP 80: 3600");
    // a restart alone changes nothing, also when the agent has compared them with what is served
    await cluster.stopAgent();
    await cluster.startAgent();
    const learnedJob = (): string | undefined =>
        cluster.agent.jobs.health().find(({ name }) => name === "services/learned-flows")?.state;
    await eventually(learnedJob, (state) => state === "done", 10_000);
    await expectLearned("80: 3600", "UDP 80: 3600");
    await cluster.stopAgent();
    await change(ofTimeout(1_800));
    await cluster.startAgent();
    await expectLearned();
    await connect(80);
    await expectLearned("80: 1800", "UDP 80: 1800");
    await change({ ports: bothAt(81) });
    await expectLearned();
    await connect(81);
    await expectLearned("81: 1800", "UDP 81: 1800");
    await cluster.stopAgent();
    await cluster.deleteService("sticky");
    await cluster.startAgent();
    await expectLearned();
});

it("two Services with one address, protocol and port: the older has it, then the other one", async () => {
    const ip = "198.51.100.7";
    const spec = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false };
    await cluster.addService("older", [{ port: 80 }], spec);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await cluster.addService("younger", [{ port: 80 }], spec);
    await cluster.setEndpoints("older", 4, [at(0, 4)]);
    await cluster.setEndpoints("younger", 4, [at(1, 4)]);
    await cluster.setIngress("younger", ip);
    expect(await heard(ip, (text) => text.startsWith("b "))).toBe(`b ${clientIps[0]}`);
    await cluster.setIngress("older", ip);
    expect(await heard(ip, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
    const taken = await eventually(
        () => cluster.events.filter(({ reason }) => reason === "AddressTaken"),
        (found) => found.length > 0,
        5_000,
    );
    expect(taken).toMatchObject([
        {
            type: "Warning",
            action: "ServeService",
            regarding: { kind: "Service", namespace: "default", name: "younger" },
            note: expect.stringContaining("belongs to the Service default/older"),
        },
    ]);
    await cluster.deleteService("older");
    expect(await heard(ip, (text) => text.startsWith("b "))).toBe(`b ${clientIps[0]}`);
    await cluster.deleteService("younger");
});

it("come back with their meter when ovs-vswitchd was killed, also what changed meanwhile", async () => {
    const [vip] = await cluster.addService("killed", [{ port: 80 }]);
    const [nobody] = await cluster.addService("nobody", [{ port: 80 }]);
    await cluster.setEndpoints("killed", 4, [at(0, 4)]);
    expect(await heard(vip, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
    await cluster.node.ovs.killVswitchd();
    await cluster.setEndpoints("killed", 4, [at(1, 4)]);
    await cluster.node.ovs.startVswitchd();
    await cluster.agent.resync();
    expect(await heard(vip, (text) => text.startsWith("b "))).toBe(`b ${clientIps[0]}`);
    expect(await heard(nobody, (text) => text === "ECONNREFUSED")).toBe("ECONNREFUSED");
    for (const name of ["killed", "nobody"]) await cluster.deleteService(name);
});

it("of UDP whose endpoints changed while the agent was away lead clients to those of now", async () => {
    const [vip] = await cluster.addService("away", [{ port: 80, protocol: "UDP" }]);
    await cluster.setEndpoints("away", 4, [at(0, 4)], [{ port: 80, protocol: "UDP" }]);
    await using socket = await PodProgram.datagrams(client, vip, 80);
    const say = (wanted: string): Promise<string> => answerOf(socket, (text) => text === wanted);
    expect(await say(`a ${clientIps[0]}`)).toBe(`a ${clientIps[0]}`);
    await cluster.stopAgent();
    await cluster.setEndpoints("away", 4, [at(1, 4)], [{ port: 80, protocol: "UDP" }]);
    expect(await socket.send("hello")).toBe(`a ${clientIps[0]}`);
    await cluster.startAgent();
    expect(await say(`b ${clientIps[0]}`)).toBe(`b ${clientIps[0]}`);
    await cluster.deleteService("away");
});

it("are nobody's in OVS when AntreaProxy is switched off, also those of clients that keep their UDP port", async () => {
    const [vip] = await cluster.addService("off", [{ port: 80, protocol: "UDP" }]);
    await cluster.setEndpoints("off", 4, [at(0, 4)], [{ port: 80, protocol: "UDP" }]);
    await using socket = await PodProgram.datagrams(client, vip, 80);
    const say = (wanted: string): Promise<string> => answerOf(socket, (text) => text === wanted);
    expect(await say(`a ${clientIps[0]}`)).toBe(`a ${clientIps[0]}`);
    await cluster.stopAgent();
    // as after a restart of OVS with the kernel datapath, which keeps connections
    await cluster.node.ovs.ofctl("del-flows", cluster.node.bridge);
    const off = { antreaProxy: { enable: false } };
    await cluster.startAgent(
        { ...off, featureGates: { CleanupStaleUDPSvcConntrack: false } },
        { forgetsConnections: false },
    );
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await socket.send("hello")).toBe(`a ${clientIps[0]}`);
    await cluster.stopAgent();
    await cluster.startAgent(off, { forgetsConnections: false });
    expect(await eventually(flowsOfServices, (flows) => flows.length === 0, 10_000)).toEqual([]);
    await answerOf(socket, (text) => fromNoProxy.test(text));
    expect(await socket.send("hello")).toMatch(fromNoProxy);
    expect(await ask(client, vip, 80)).toMatch(fromNoProxy);
    expect(existsSync(journalPath())).toBe(false);
    const cleanUp = (): string | undefined =>
        cluster.agent.jobs.health().find(({ name }) => name === "services/udp-connections")?.state;
    expect(
        await eventually(
            async () => Promise.resolve(cleanUp()),
            (state) => state === "done",
            10_000,
        ),
    ).toBe("done");
    await cluster.stopAgent();
    await cluster.startAgent();
    expect(await say(`a ${clientIps[0]}`)).toBe(`a ${clientIps[0]}`);
    await cluster.deleteService("off");
});

it("are the host's if they are to be skipped, or of another proxy", async () => {
    const spec = { antreaProxy: { skipServices: ["default/skipped"] } };
    await cluster.stopAgent();
    await cluster.startAgent(spec);
    await cluster.addService("skipped", [{ port: 80 }]);
    await cluster.addService("other", [{ port: 80 }], {}, { "service.kubernetes.io/service-proxy-name": "other" });
    const [vip] = await cluster.addService("served", [{ port: 80 }]);
    await cluster.setEndpoints("served", 4, [at(0, 4)]);
    expect(await heard(vip, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
    const addresses = (await flowsOfServices()).map(({ match }) => match.ipv4_dst).filter((one) => one !== undefined);
    expect(addresses.map(Number)).toEqual([Number(parseIp(vip).value)]);
    for (const name of ["skipped", "other", "served"]) await cluster.deleteService(name);
    await cluster.stopAgent();
    await cluster.startAgent();
});

it("outlive the agent, and its start while the API server is away", async () => {
    const [vip] = await cluster.addService("kept", [{ port: 80 }]);
    await cluster.setEndpoints("kept", 4, [at(0, 4), at(1, 4)]);
    const [gone] = await cluster.addService("gone", [{ port: 80 }]);
    await cluster.setEndpoints("gone", 4, [at(0, 4)]);
    const isServed = (text: string): boolean => /^[ab] /.test(text);
    expect(await heard(vip, isServed)).toMatch(/^[ab] /);
    expect(await heard(gone, isServed)).toMatch(/^a /);
    await cluster.stopAgent();
    expect(await ask(client, vip, 80)).toMatch(/^[ab] /);
    await cluster.api.delete(services, { name: "gone", namespace: "default" });
    await cluster.server.stopApiServer();
    await cluster.startAgent();
    // the journal would be read after three
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    for (const ip of [vip, gone]) expect(await ask(client, ip, 80)).toMatch(/^[ab] /);
    const roundsOf = async (): Promise<ReadonlySet<number>> =>
        new Set((await flowsOfServices()).map(({ cookie }) => cookieOf(cookie).round));
    expect([...(await roundsOf())]).not.toContain(cluster.agent.round);
    await cluster.server.startApiServer();
    const rounds = await eventually(roundsOf, (found) => found.size === 1 && found.has(cluster.agent.round), 60_000);
    expect([...rounds]).toEqual([cluster.agent.round]);
    expect(await ask(client, vip, 80)).toMatch(/^[ab] /);
    const addresses = (await flowsOfServices())
        .filter(({ table }) => table === Table.ServiceLb)
        .map(({ match }) => match.ipv4_dst)
        .filter((one) => one !== undefined);
    expect(addresses).toHaveLength(1);
    const groups = await cluster.agent.openflow.dumpGroups();
    expect(groups).toHaveLength(1);
    await cluster.deleteService("kept");
});

/** What the journal of the Node's Services has, as text. */
const journaled = (): string => {
    const path = journalPath();
    return existsSync(path) ? readFileSync(path, "utf8") : "";
};
const journalPath = (): string => join(cluster.node.stateFolder, "services.journal");
const isJournaled = (...texts: readonly string[]): Promise<string> =>
    eventually(journaled, (text) => texts.every((one) => text.includes(one)), 10_000);

describe("when OVS and the agent have ended while the API server is away", () => {
    const startWithoutApiServer = async (): Promise<void> => {
        await cluster.server.stopApiServer();
        await cluster.node.ovs.killVswitchd();
        await cluster.node.ovs.startVswitchd();
        await cluster.startAgent();
    };

    it("are served as they were last known, and corrected when it is back", async () => {
        const [known] = await cluster.addService("known", [{ port: 80 }]);
        const [gone] = await cluster.addService("gone", [{ port: 80 }]);
        for (const name of ["known", "gone"]) await cluster.setEndpoints(name, 4, [at(0, 4)]);
        const texts = ['"name":"known-v4"', '"name":"gone-v4"', at(0, 4)];
        expect(await isJournaled(...texts)).toEqual(expect.stringContaining("known"));
        await cluster.stopAgent();
        await cluster.deleteService("gone");
        await cluster.setEndpoints("known", 4, [at(1, 4)]);
        const [added] = await cluster.addService("added", [{ port: 80 }]);
        await cluster.setEndpoints("added", 4, [at(0, 4)]);
        const before = journaled();
        const began = performance.now();
        await startWithoutApiServer();
        expect(await heard(known, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        // eslint-disable-next-line no-restricted-syntax -- the time is the promise; it takes 4 to 6 s
        expect(performance.now() - began).toBeLessThan(10_000);
        expect(await heard(gone, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        expect(journaled()).toBe(before);
        await cluster.server.startApiServer();
        expect(await heard(known, (text) => text.startsWith("b "))).toBe(`b ${clientIps[0]}`);
        expect(await heard(added, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        const addresses = async (): Promise<readonly string[]> =>
            (await flowsOfServices()).map(({ match }) => String(match.ipv4_dst));
        const goneAddress = String(parseIp(gone).value);
        expect(await eventually(addresses, (all) => !all.includes(goneAddress), 10_000)).not.toContain(goneAddress);
        await eventually(journaled, (text) => !text.includes('"gone-v4"'), 10_000);
        expect(journaled()).not.toContain('"gone-v4"');
        for (const name of ["known", "added"]) await cluster.deleteService(name);
    });

    it("are served too if OVS ends after the agent has started with what OVS had", async () => {
        const [vip] = await cluster.addService("later", [{ port: 80 }]);
        await cluster.setEndpoints("later", 4, [at(0, 4)]);
        await isJournaled('"name":"later-v4"', at(0, 4));
        expect(await heard(vip, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        await cluster.stopAgent();
        await cluster.server.stopApiServer();
        await cluster.startAgent();
        expect(await ask(client, vip, 80)).toBe(`a ${clientIps[0]}`);
        await cluster.node.ovs.killVswitchd();
        await cluster.node.ovs.startVswitchd();
        await cluster.agent.resync();
        expect(await heard(vip, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        await cluster.server.startApiServer();
        await cluster.deleteService("later");
    });

    it("are all served if OVS has only some, of an agent that was killed before it had sent the others", async () => {
        const [early] = await cluster.addService("early", [{ port: 80 }]);
        const [late] = await cluster.addService("late", [{ port: 80 }]);
        for (const name of ["early", "late"]) await cluster.setEndpoints(name, 4, [at(0, 4)]);
        await isJournaled('"name":"early-v4"', '"name":"late-v4"', at(0, 4));
        await cluster.stopAgent();
        await cluster.node.ovs.killVswitchd();
        await cluster.node.ovs.startVswitchd();
        cluster.onAgent = ({ flowTable }) => {
            const apply = flowTable.apply.bind(flowTable);
            flowTable.apply = async (changes, signal) => {
                const sent = changes.filter(({ owner }) => owner !== "service/default/late");
                await apply(sent, signal);
                if (sent.length === changes.length) return;
                await once(signal ?? new EventTarget(), "abort");
                signal?.throwIfAborted();
            };
        };
        await cluster.startAgent();
        expect(await heard(early, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        await cluster.stopAgent();
        cluster.onAgent = () => undefined;
        await cluster.server.stopApiServer();
        await cluster.startAgent();
        expect(await ask(client, late, 80)).toMatch(fromNoProxy);
        expect(await heard(late, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        expect(await ask(client, early, 80)).toBe(`a ${clientIps[0]}`);
        await cluster.server.startApiServer();
        for (const name of ["early", "late"]) await cluster.deleteService(name);
    });

    it.each([
        ["goes on", false],
        ["ends then too", true],
    ])("are all served if ovs-vswitchd is killed within the first sync, and the API server %s", async (_, isAway) => {
        const { node, server } = cluster;
        const [early] = await cluster.addService("early", [{ port: 80 }]);
        const [late] = await cluster.addService("late", [{ port: 80 }]);
        for (const name of ["early", "late"]) await cluster.setEndpoints(name, 4, [at(0, 4)]);
        await isJournaled('"name":"early-v4"', '"name":"late-v4"', at(0, 4));
        await cluster.stopAgent();
        // OVS has nothing of an earlier start
        await node.ovs.restartVswitchd();
        const killed = Promise.withResolvers<void>();
        let kills = 0;
        cluster.onAgent = ({ flowTable }) => {
            const apply = flowTable.apply.bind(flowTable);
            flowTable.apply = async (changes, signal) => {
                const others = changes.filter(({ owner }) => owner !== "service/default/late");
                if (kills > 0 || others.length === changes.length) return apply(changes, signal);
                kills += 1;
                await apply(others, signal);
                if (isAway) await server.stopApiServer();
                // SIGKILL with the bundle under way
                const sent = apply(changes, signal);
                await Promise.allSettled([sent, node.ovs.restartVswitchd()]);
                killed.resolve();
                return sent;
            };
        };
        await cluster.startAgent();
        cluster.onAgent = () => undefined;
        await killed.promise;
        const began = performance.now();
        await cluster.agent.resync();
        for (const ip of [early, late])
            expect(await heard(ip, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        // eslint-disable-next-line no-restricted-syntax -- the time is the promise; it takes about a second
        expect(performance.now() - began).toBeLessThan(10_000);
        expect(kills).toBe(1);
        if (isAway) await server.startApiServer();
        for (const name of ["early", "late"]) await cluster.deleteService(name);
    });

    it("are served but for those whose lines are damaged", async () => {
        const [whole] = await cluster.addService("whole", [{ port: 80 }]);
        const [damaged] = await cluster.addService("damaged", [{ port: 80 }]);
        for (const name of ["whole", "damaged"]) await cluster.setEndpoints(name, 4, [at(0, 4)]);
        await isJournaled('"name":"whole-v4"', '"name":"damaged-v4"');
        await cluster.stopAgent();
        writeFileSync(journalPath(), journaled().replaceAll("damaged-v4", "Damaged-v4"));
        await startWithoutApiServer();
        expect(await heard(whole, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        expect(await ask(client, damaged, 80)).toMatch(fromNoProxy);
        expect(await cluster.metrics.text()).toMatch(/^antrea_proxy_journal_skipped_lines_total [1-9]/m);
        await cluster.server.startApiServer();
        expect(await heard(damaged, (text) => text.startsWith("a "))).toBe(`a ${clientIps[0]}`);
        for (const name of ["whole", "damaged"]) await cluster.deleteService(name);
    });
});
