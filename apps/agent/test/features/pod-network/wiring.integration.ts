import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { parsePrefix, prefixContains, addressInPrefix } from "@antrea/ip";
import { AntreaError } from "@antrea/errors";
import { eventually } from "../../support/eventually.ts";
import { allDiffer, TestNode, type NodeState, type Stage, type TestAgent } from "../../support/test-node.ts";
import { ipsOf, TestPod, type AddAnswer } from "../../support/test-pod.ts";

let node: TestNode;
let agent: TestAgent;
let empty: NodeState;
let pods: TestPod[] = [];

beforeAll(async () => {
    node = await TestNode.start();
    agent = await node.startAgent();
    empty = await node.state();
});

afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

beforeEach(() => {
    pods = [];
});

// Whatever a test did: after the end of its Pods and one check of the agent nothing of it is left.
afterEach(async () => {
    for (const pod of pods) {
        await agent.del(pod);
        pod[Symbol.dispose]();
    }
    const state = (): Promise<NodeState> => agent.resync().then(() => node.state());
    expect(await eventually(state, (found) => found.links.length <= empty.links.length)).toEqual(empty);
    expect(agent.used).toEqual([0, 0]);
});

function newPod(name?: string): TestPod {
    const pod = new TestPod(name);
    pods.push(pod);
    return pod;
}

describe("ADD", () => {
    it("gives one address of each family, on eth0, with default routes", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        expect(answer.ips.map(({ gateway }) => gateway)).toEqual(["10.10.1.1", "fd10:10:0:1::1"]);
        for (const [at, cidr] of ["10.10.1.0/24", "fd10:10:0:1::/64"].entries()) {
            const { ip, prefix } = addressInPrefix(answer.ips[at]?.address ?? "");
            expect(prefix).toEqual(parsePrefix(cidr));
            expect(prefixContains(prefix, ip)).toBe(true);
        }
        expect(answer.interfaces).toEqual([
            { name: pod.hostIfName },
            { name: "eth0", mac: expect.stringMatching(/^0a:58:/), sandbox: pod.netns.path },
        ]);
        const link = pod.netns.run("ip", "-o", "link", "show", "eth0");
        expect(link).toContain(`link/ether ${answer.interfaces[1]?.mac}`);
        expect(link).toContain("mtu 1400");
        expect(link).toContain("UP");
        const addresses = pod.netns.run("ip", "-o", "addr", "show", "dev", "eth0", "scope", "global");
        for (const { address } of answer.ips) expect(addresses).toContain(address);
        expect(addresses).not.toContain("tentative");
        expect(pod.netns.run("ip", "route", "show", "default")).toContain("via 10.10.1.1 dev eth0");
        expect(pod.netns.run("ip", "-6", "route", "show", "default")).toContain("via fd10:10:0:1::1 dev eth0");
    });

    it("Pods reach each other and the gateway, with both families", async () => {
        const [one, other] = [newPod("one"), newPod("other")];
        await agent.add(one);
        const target = await agent.add(other);
        for (const ip of [...ipsOf(target), "10.10.1.1", "fd10:10:0:1::1"]) {
            expect([ip, await one.ping(ip)]).toEqual([ip, 1]);
        }
    });

    it("a Pod that takes another's address is not heard", async () => {
        const [one, other] = [newPod("one"), newPod("other")];
        await agent.add(one);
        const target = await agent.add(other);
        one.netns.run("ip", "addr", "add", "10.10.1.200/24", "dev", "eth0");
        const ip = ipsOf(target)[0] ?? "";
        expect(await one.ping(ip)).toBe(1);
        expect(await one.ping(ip, { from: "10.10.1.200", count: 3, limitS: 1 })).toBe(0);
    });

    it("repeated gives the same answer and changes nothing", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        const before = await node.state();
        expect(await agent.add(pod)).toEqual(answer);
        expect(await Promise.all([agent.add(pod), agent.add(pod)])).toEqual([answer, answer]);
        expect(await node.state()).toEqual(before);
    });

    it("repeated puts right what is broken", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        await node.ovs.ofctl("del-flows", node.bridge, `in_port=${agent.bridge.port(pod.hostIfName)?.ofPort}`);
        pod.netns.run("ip", "addr", "flush", "dev", "eth0");
        expect(await agent.check(pod, answer)).toMatch(/^ADDRESS/);
        expect(await agent.add(pod)).toEqual(answer);
        expect(await agent.check(pod, answer)).toBe("");
    });

    it("for another namespace of the same container is refused", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        using another = new TestPod();
        const args = pod.args({}, { netns: another.netns.path });
        await expect(agent.calls.call("add", args, new AbortController().signal)).rejects.toMatchObject({
            cniCode: 102,
            message: expect.stringContaining("DEL it first"),
        });
        expect(await agent.check(pod, answer)).toBe("");
    });

    // Repeated: a link that comes back at once under its name has been seen down, by ovs-vswitchd's doing.
    it.each([1, 2, 3, 4])("after the pair was deleted makes it anew, with nothing of the first left (%i)", async () => {
        const pod = newPod();
        await agent.add(pod);
        pod.netns.run("ip", "link", "del", "eth0");
        const answer = await agent.add(pod);
        expect(await agent.check(pod, answer)).toBe("");
        expect(agent.used).toEqual([1, 1]);
    });

    it.each([1, 2, 3, 4])("after a DEL that left the pair, too (%i)", async () => {
        const pod = newPod();
        await agent.add(pod);
        await agent.del(pod);
        const answer = await agent.add(pod);
        expect(await agent.check(pod, answer)).toBe("");
        expect(await pod.ping("10.10.1.1")).toBe(1);
    });

    it.each([
        ["a namespace that is not there", "/var/run/netns/antrea-nothing"],
        ["a file that is no namespace", "/etc/hostname"],
    ])("into %s fails and takes nothing", async (_, netns) => {
        const pod = newPod();
        await expect(
            agent.calls.call("add", pod.args({}, { netns }), new AbortController().signal),
        ).rejects.toMatchObject({ cniCode: 102, message: expect.stringContaining(netns) });
        expect(agent.used).toEqual([0, 0]);
        expect(await node.state()).toEqual(empty);
    });

    it("leaves an eth0 of somebody else alone", async () => {
        const pod = newPod();
        pod.netns.run("ip", "tuntap", "add", "eth0", "mode", "tap");
        await expect(agent.add(pod)).rejects.toMatchObject({
            cniCode: 102,
            message: expect.stringContaining("has an interface eth0 already"),
        });
        expect(pod.netns.run("ip", "-d", "link", "show", "eth0")).toContain("tun type tap");
    });

    it("leaves a link and a port of somebody else alone that have the name it needs", async () => {
        const pod = newPod();
        execFileSync("ip", ["tuntap", "add", pod.hostIfName, "mode", "tap"]);
        await node.ovs.addPort(node.bridge, pod.hostIfName, { type: "" });
        try {
            await expect(agent.add(pod)).rejects.toMatchObject({
                cniCode: 102,
                message: expect.stringContaining(pod.hostIfName),
            });
            expect((await node.state()).links).toContain(pod.hostIfName);
            expect((await node.state()).ports).toContain(pod.hostIfName);
        } finally {
            await node.ovs.vsctl("del-port", node.bridge, pod.hostIfName);
            execFileSync("ip", ["link", "del", pod.hostIfName]);
        }
    });

    it("thirty at once all succeed with addresses of their own, and go at once", async () => {
        const many = Array.from({ length: 30 }, (_, index) => newPod(`pod-${index}`));
        const answers = await Promise.all(many.map((pod) => agent.add(pod)));
        expect(allDiffer(answers)).toBe(true);
        expect(agent.used).toEqual([30, 30]);
        const [first, last] = [many[0], answers.at(-1)];
        if (first !== undefined && last !== undefined) expect(await first.ping(ipsOf(last)[1] ?? "")).toBe(1);
        await Promise.all(many.map((pod) => agent.del(pod)));
        expect(agent.used).toEqual([0, 0]);
    });
});

describe("DEL", () => {
    it("twice, of what never was, and after the namespace is gone", async () => {
        const pod = newPod();
        await agent.del(pod);
        await agent.add(pod);
        pod.netns.remove();
        await agent.del(pod);
        await agent.del(pod);
        expect(agent.used).toEqual([0, 0]);
        expect(agent.network.interfaces()).toEqual([]);
    });

    it("of a Pod that still runs switches its link off: without a port the Node's own stack would hear it", async () => {
        const pod = newPod();
        await agent.add(pod);
        await agent.del(pod);
        const link = execFileSync("ip", ["link", "show", "dev", pod.hostIfName], { encoding: "utf8" });
        expect(link).toMatch(/alias antrea1 released/);
        expect(link).not.toMatch(/[<,]UP[,>]/);
        expect(await pod.ping("10.10.1.1", { limitS: 1 })).toBe(0);
    });

    it("a freed address is not the next one given", async () => {
        const [one, other] = [newPod(), newPod()];
        const first = await agent.add(one);
        await agent.del(one);
        expect(allDiffer([first, await agent.add(other)])).toBe(true);
    });

    it("that cannot reach OVS keeps the address until the wiring is gone", async () => {
        const [pod, other] = [newPod(), newPod()];
        const first = await agent.add(pod);
        agent.hold("deletePort", new AntreaError("DISCONNECTED", "environment", "no database")).release();
        await agent.del(pod);
        expect(agent.used).toEqual([1, 1]);
        expect(allDiffer([first, await agent.add(other)])).toBe(true);
        await agent.resync();
        expect(agent.used).toEqual([1, 1]);
        expect(agent.network.find(pod.containerId, "eth0")).toBeUndefined();
    });

    it("that cannot reach OVS, then ADD again: asked to try again until the first one is removed, nothing lost", async () => {
        const pod = newPod();
        await agent.add(pod);
        const away = new AntreaError("DISCONNECTED", "environment", "no database");
        agent.hold("deletePort", away).release();
        await agent.del(pod);
        agent.hold("deletePort", away).release();
        await expect(agent.add(pod)).rejects.toMatchObject({ cniCode: 11 });
        expect(agent.used).toEqual([1, 1]);
        const answer = await agent.add(pod);
        expect(await agent.check(pod, answer)).toBe("");
        expect(agent.used).toEqual([1, 1]);
    });
});

describe("CHECK", () => {
    it("finds nothing wrong with what is well, with prevResult and without", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        expect(await agent.check(pod, answer)).toBe("");
        expect(await agent.checkAs(pod, {})).toBe("");
    });

    const inPod =
        (...command: readonly string[]) =>
        ({ netns }: TestPod): void =>
            void netns.run("ip", ...command);
    const onNode =
        (...command: readonly string[]) =>
        (pod: TestPod): void => {
            const named = command.map((word) => word.replace("HOST", pod.hostIfName));
            execFileSync("ip", named);
        };
    const flows = async (pod: TestPod): Promise<readonly string[]> => {
        const text = await node.ovs.ofctl("--no-stats", "dump-flows", node.bridge);
        return text
            .split("\n")
            .filter((line) => line.includes(`in_port=${agent.bridge.port(pod.hostIfName)?.ofPort},`));
    };
    const strict = (line: string): string =>
        line
            .trim()
            .replace(/^cookie=0x[0-9a-f]+, /, "")
            .replace(/ actions=.*$/, "");

    it.each<[string, RegExp, (pod: TestPod, answer: AddAnswer) => void | Promise<void>]>([
        [
            "the IPv4 address is gone",
            /^ADDRESS.*lacks address 10\.10\.1\.\d+\/24/,
            (pod, answer) => inPod("addr", "del", answer.ips[0]?.address ?? "", "dev", "eth0")(pod),
        ],
        [
            "the IPv6 address is gone",
            /^ADDRESS.*lacks address fd10:10:0:1::[0-9a-f]+\/64/,
            (pod, answer) => inPod("addr", "del", answer.ips[1]?.address ?? "", "dev", "eth0")(pod),
        ],
        ["the IPv4 default route is gone", /^ROUTE.*via 10\.10\.1\.1 on eth0/, inPod("route", "del", "default")],
        [
            "the IPv6 default route is gone",
            /^ROUTE.*via fd10:10:0:1::1 on eth0/,
            inPod("-6", "route", "del", "default"),
        ],
        ["the default route goes elsewhere", /^ROUTE/, inPod("route", "replace", "default", "via", "10.10.1.250")],
        ["the Pod's end is down", /^INTERFACE.*eth0 is down/, inPod("link", "set", "eth0", "down")],
        [
            "the Pod's end has another name",
            /^INTERFACE.*no interface eth0/,
            (pod) => {
                inPod("link", "set", "eth0", "down")(pod);
                inPod("link", "set", "eth0", "name", "eth9")(pod);
            },
        ],
        [
            "the MAC address is another",
            /^MAC.*02:00:00:00:00:99, not 0a:58/,
            inPod("link", "set", "eth0", "address", "02:00:00:00:00:99"),
        ],
        ["the host's end is down", /^HOST_LINK.*is down/, onNode("link", "set", "HOST", "down")],
        [
            "the host's end has another name",
            /^HOST_LINK.*has no link/,
            (pod) => {
                onNode("link", "set", "HOST", "down")(pod);
                onNode("link", "set", "HOST", "name", "elsewhere")(pod);
            },
        ],
        ["the pair is gone", /^INTERFACE.*no interface eth0/, onNode("link", "del", "HOST")],
        [
            "the host's end is not the other end",
            /^HOST_LINK.*not the two ends/,
            (pod) => {
                onNode("link", "set", "HOST", "down")(pod);
                onNode("link", "set", "HOST", "name", "elsewhere")(pod);
                onNode("link", "add", "HOST", "up", "type", "veth", "peer", "name", "nobody")(pod);
            },
        ],
        [
            "the OVS port is gone",
            /^OVS_PORT.*no port/,
            async (pod) => {
                await node.ovs.vsctl("del-port", node.bridge, pod.hostIfName);
                await agent.database.until(() => (agent.bridge.port(pod.hostIfName) === undefined ? true : undefined), {
                    timeoutMs: 50_000,
                });
            },
        ],
        [
            "the OVS port has another number",
            /^OVS_PORT.*has number 45000, not 3/,
            async (pod) => {
                await node.ovs.vsctl("set", "interface", pod.hostIfName, "ofport_request=45000");
                await agent.database.until(
                    () => (agent.bridge.port(pod.hostIfName)?.ofPort === 45000 ? true : undefined),
                    {
                        timeoutMs: 50_000,
                    },
                );
            },
        ],
        [
            "one flow is gone",
            /^FLOWS.*lacks 1 flows of the interface/,
            async (pod) => {
                const [line = ""] = await flows(pod);
                await node.ovs.ofctl("--strict", "del-flows", node.bridge, strict(line));
            },
        ],
        [
            "one flow does something else",
            /^FLOWS.*lacks 1 flows of the interface/,
            async (pod) => {
                const [line = ""] = await flows(pod);
                await node.ovs.ofctl("--strict", "mod-flows", node.bridge, `${strict(line)} actions=drop`);
            },
        ],
        [
            "the Pod end is of another pair, whose ends have the numbers of this one's",
            /^HOST_LINK.*are not the two ends of one veth pair/,
            async (pod) => {
                const third = newPod("third").netns;
                const host = await agent.netlink.link(pod.hostIfName);
                const [, mac = ""] = /link\/ether (\S+)/.exec(pod.netns.run("ip", "link", "show", "eth0")) ?? [];
                pod.netns.run("ip", "link", "set", "eth0", "netns", third.name);
                third.run(
                    "ip",
                    "link",
                    "add",
                    "other",
                    "index",
                    String(host?.index),
                    "type",
                    "veth",
                    "peer",
                    "name",
                    "eth0",
                    "index",
                    String(host?.peerIndex),
                    "address",
                    mac,
                    "netns",
                    pod.netns.name,
                );
                pod.netns.run("ip", "link", "set", "eth0", "up");
            },
        ],
        ["the namespace is gone", /^NETNS.*cannot be read/, (pod) => pod.netns.remove()],
    ])("reports that %s", async (_, expected, change) => {
        const pod = newPod();
        const answer = await agent.add(pod);
        await change(pod, answer);
        expect(await agent.check(pod, answer)).toMatch(expected);
        // What was only renamed would outlive the test.
        if ((await node.state()).links.includes("elsewhere")) onNode("link", "del", "elsewhere")(pod);
        if ((await node.state()).links.includes("nobody")) onNode("link", "del", "nobody")(pod);
        await node.ovs.vsctl("--if-exists", "del-port", node.bridge, pod.hostIfName);
    });

    it("reports that the namespace is not the one that was wired", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        using another = new TestPod();
        expect(await agent.checkAs(pod, { prevResult: answer }, another.netns.path)).toMatch(/^NETNS/);
    });

    it("reports that prevResult has other addresses", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        const [v4, v6] = answer.ips;
        const other = { ...v4, address: "10.10.1.99/24" };
        expect(await agent.checkAs(pod, { prevResult: { ...answer, ips: [other, v6] } })).toMatch(/^PREV_RESULT/);
        expect(await agent.checkAs(pod, { prevResult: { ...answer, ips: [v4] } })).toMatch(/^PREV_RESULT/);
    });

    it("reports that it knows no such container", async () => {
        expect(await agent.checkAs(newPod(), {})).toMatch(/^NO_RECORD/);
    });
});

describe("GC", () => {
    it("removes what is not in the list, and nothing of others", async () => {
        const [one, other, third] = [newPod("one"), newPod("other"), newPod("third")];
        const answers = await Promise.all([one, other, third].map((pod) => agent.add(pod)));
        await node.ovs.addPort(node.bridge, "foreign0");
        await node.ovs.ofctl("add-flow", node.bridge, "table=200,priority=7,in_port=4711,actions=drop");
        try {
            await agent.collect([one, third]);
            expect(await agent.check(one, answers[0] as AddAnswer)).toBe("");
            expect(await agent.check(third, answers[2] as AddAnswer)).toBe("");
            expect(await agent.checkAs(other, {})).toMatch(/^NO_RECORD/);
            const { ports, flows } = await node.state();
            expect(ports).toContain("foreign0");
            expect(flows.some((line) => line.includes("in_port=4711"))).toBe(true);
            await agent.collect([]);
            expect(agent.used).toEqual([0, 0]);
        } finally {
            await node.ovs.vsctl("del-port", node.bridge, "foreign0");
            await node.ovs.ofctl("del-flows", node.bridge, "in_port=4711");
        }
    });

    it.each<Stage>(["ports done", "flows", "flows done"])("spares an ADD that is under way at: %s", async (stage) => {
        const pod = newPod();
        const hold = agent.hold(stage);
        const adding = agent.add(pod);
        await hold.reached;
        await agent.collect([]);
        hold.release();
        expect(await agent.check(pod, await adding)).toBe("");
    });

    it("during churn: every ADD that was answered stands, every address is free in the end", async () => {
        const many = Array.from({ length: 10 }, (_, index) => newPod(`churn-${index}`));
        const keep = many.slice(0, 5);
        const kept = await Promise.all(keep.map((pod) => agent.add(pod)));
        const churn = many.slice(5).map(async (pod) => {
            await agent.add(pod);
            await agent.del(pod);
        });
        const collecting = Promise.all([agent.collect(keep), agent.collect(keep), agent.collect(keep)]);
        await Promise.all([...churn, collecting]);
        for (const [index, pod] of keep.entries()) expect(await agent.check(pod, kept[index] as AddAnswer)).toBe("");
        expect(agent.used).toEqual([5, 5]);
    });
});

describe("an ADD that is not wanted any more", () => {
    const stages: readonly Stage[] = ["ports", "ports done", "ofPort", "flows", "flows done"];

    it.each(stages)("cancelled at: %s, leaves nothing", async (stage) => {
        const pod = newPod();
        const stop = new AbortController();
        const hold = agent.hold(stage);
        const adding = agent.add(pod, stop.signal);
        await hold.reached;
        stop.abort();
        hold.release();
        await expect(adding).rejects.toMatchObject({ cniCode: 11 });
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toContain("eth0");
        expect(await node.state()).toEqual(empty);
        expect(agent.used).toEqual([0, 0]);
    });

    it.each(stages)("deleted at: %s, leaves nothing, and DEL waits for that", async (stage) => {
        const pod = newPod();
        const hold = agent.hold(stage);
        const adding = agent.add(pod);
        await hold.reached;
        const deleting = agent.del(pod);
        hold.release();
        await expect(adding).rejects.toMatchObject({ cniCode: 102, message: expect.stringContaining("was deleted") });
        await deleting;
        expect(await node.state()).toEqual(empty);
        expect(agent.used).toEqual([0, 0]);
    });

    it("that fails at a step is rolled back", async () => {
        for (const stage of stages) {
            const pod = newPod();
            agent.hold(stage, new AntreaError("X", "environment", "broken")).release();
            await expect(agent.add(pod)).rejects.toMatchObject({ message: "broken" });
            expect(await node.state()).toEqual(empty);
        }
    });

    it("cancelled at any moment is whole or nothing", async () => {
        for (let delayMs = 0; delayMs < 24; delayMs += 2) {
            const pod = newPod();
            const answer = await agent.add(pod, AbortSignal.timeout(delayMs)).catch(() => undefined);
            if (answer === undefined) expect(agent.network.find(pod.containerId, "eth0")).toBeUndefined();
            else expect(await agent.check(pod, answer)).toBe("");
            await agent.del(pod);
            pod.netns.remove();
            expect(agent.used).toEqual([0, 0]);
        }
        expect((await node.state()).ports).toEqual(empty.ports);
    });

    it("late, after its DEL: refused; one that is asked for after the DEL is not", async () => {
        const pod = newPod();
        agent.readiness.unmet("records", "held up by the test");
        const late = agent.add(pod);
        await new Promise(setImmediate);
        await agent.del(pod);
        agent.readiness.met("records");
        await expect(late).rejects.toMatchObject({ cniCode: 102, message: expect.stringContaining("was deleted") });
        expect(await node.state()).toEqual(empty);
        expect(await agent.check(pod, await agent.add(pod))).toBe("");
    });
});

describe("the check of each minute", () => {
    it.each<[string, (pod: TestPod) => void | Promise<unknown>]>([
        ["a port that somebody deleted", (pod) => node.ovs.vsctl("del-port", node.bridge, pod.hostIfName)],
        ["flows that somebody deleted", () => node.ovs.ofctl("del-flows", node.bridge)],
        [
            "a host's end that somebody switched off",
            (pod) => void execFileSync("ip", ["link", "set", pod.hostIfName, "down"]),
        ],
    ])("puts back %s", async (_, change) => {
        const pod = newPod();
        const answer = await agent.add(pod);
        await change(pod);
        const check = (): Promise<string> => agent.resync().then(() => agent.check(pod, answer));
        expect(await eventually(check, (problem) => problem === "")).toBe("");
        expect(await pod.ping("fd10:10:0:1::1")).toBeGreaterThan(0);
    });

    it("removes a Pod's port that has no record, and leaves a foreign one alone", async () => {
        const ids = ["external_ids:antrea-type=container", "external_ids:container-id=lost"];
        await node.ovs.addPort(node.bridge, "orphan0");
        await node.ovs.vsctl("set", "port", "orphan0", ...ids);
        await node.ovs.addPort(node.bridge, "foreign0");
        const names = (): Promise<readonly string[]> =>
            agent
                .resync()
                .then(() => node.state())
                .then(({ ports }) => ports);
        expect(await eventually(names, (ports) => !ports.includes("orphan0"))).toEqual(
            [...empty.ports, "foreign0"].sort(),
        );
        await node.ovs.vsctl("del-port", node.bridge, "foreign0");
    });
});
