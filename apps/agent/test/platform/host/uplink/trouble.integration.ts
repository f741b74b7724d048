import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { signal } from "../../../support/signal.ts";
import { UplinkNode } from "./support/uplink-node.ts";

let node: UplinkNode;
let before: ReturnType<UplinkNode["truth"]>;

beforeAll(async () => {
    node = await UplinkNode.start();
    before = node.truth();
});

afterEach(() => {
    expect(node.truth()).toEqual(before);
    expect(existsSync(join(node.folder, "uplink.json"))).toBe(false);
});

afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
});

async function flows(on: boolean): Promise<void> {
    if (!on) await node.ovs.ofctl("del-flows", node.bridge);
    else await node.addFlows();
}

/** Its flows are gone with the one that ended. */
async function startVswitchd(): Promise<void> {
    await node.ovs.startVswitchd();
    await flows(true);
}

/** Whatever it prints from now on: to be asked before what has it print the text. */
async function hasPrinted(child: ChildProcess, text: string): Promise<void> {
    await new Promise<void>((resolve) => {
        for (const stream of [child.stdout, child.stderr]) {
            let printed = "";
            stream?.on("data", (chunk: string) => {
                printed += chunk;
                if (printed.includes(text)) resolve();
            });
        }
    });
}

async function portsLeft(): Promise<string> {
    return (await node.ovs.vsctl("list-ports", node.bridge)).trim();
}

describe("confirmation", () => {
    it("undoes the move when neither gateway nor API server answers any more", async () => {
        await flows(false);
        const { reported } = await node.run({ actions: ["recover", "connect"], checkTimeoutMs: 1_500 });
        await flows(true);
        expect(reported[1]).toEqual({
            kind: "rolledBack",
            name: "eth0",
            reason: "within 1.5 s after the move neither gateway 10.99.0.1 and gateway fe80::99 and the API server answered",
        });
        expect(node.reaches()).toBe(true);
        expect(await portsLeft()).toBe("");
    });

    it("keeps the move when the API server goes away meanwhile and the gateway answers", async () => {
        const { reported } = await node.run({ actions: ["recover", "connect", "restore"], apiOutage: true });
        expect(reported).toMatchObject([{ kind: "idle" }, { kind: "bridged" }, { kind: "idle" }]);
    });

    it("keeps the move when the gateway never answered and the API server does", async () => {
        node.ip(
            "route",
            "replace",
            "default",
            "via",
            "10.99.0.200",
            "dev",
            "eth0",
            "metric",
            "100",
            "src",
            "10.99.0.2",
        );
        const { reported } = await node.run({ actions: ["recover", "connect", "restore"] });
        node.ip("route", "replace", "default", "via", "10.99.0.1", "dev", "eth0", "metric", "100", "src", "10.99.0.2");
        expect(reported).toMatchObject([{ kind: "idle" }, { kind: "bridged" }, { kind: "idle" }]);
    });

    it.each([
        ["the API server", { apiAway: true }, "the API server does not answer"],
        ["OVS", { ovsProblem: "ovs-vswitchd is not connected" }, "ovs-vswitchd is not connected"],
    ])("does not begin while %s is away", async (_, input, reason) => {
        const { reported } = await node.run({ actions: ["recover", "connect"], ...input });
        expect(reported[1]).toEqual({ kind: "waiting", name: "eth0", reason });
        expect(node.truth()).toEqual(before);
        expect(await portsLeft()).toBe("");
    });

    it("does not take the word of an API server on the Node itself when there are gateways", async () => {
        await flows(false);
        const { reported } = await node.run({
            actions: ["recover", "connect"],
            checkTimeoutMs: 1_000,
            apiIsLocal: true,
        });
        await flows(true);
        expect(reported[1]).toMatchObject({
            kind: "rolledBack",
            reason: "within 1 s after the move neither gateway 10.99.0.1 and gateway fe80::99 answered",
        });
    });

    it("is not made again by a restart: a complete move stands without gateway and API server", async () => {
        await node.run({ actions: ["recover", "connect"] });
        await flows(false);
        const { reported } = await node.run({ actions: ["recover", "connect"], apiAway: true, checkTimeoutMs: 500 });
        await flows(true);
        expect(reported).toMatchObject([{ kind: "found" }, { kind: "bridged" }]);
        await node.run({ actions: ["recover", "restore"] });
    });

    it("is undone when the agent is asked to end meanwhile", async () => {
        const { reported } = await node.run({ actions: ["connect"], abort: { step: "switch", moment: "made" } });
        expect(reported).toMatchObject([{ kind: "error" }]);
        expect(await portsLeft()).toBe("");
    });
});

describe("what cannot be moved is refused before anything moves", () => {
    const via = ["via", "10.99.0.1", "dev", "eth0"];
    it.each([
        [
            "MULTIPATH_ROUTES",
            ["route", "add", "198.18.1.0/24", "nexthop", ...via, "nexthop", "via", "10.99.0.9", "dev", "eth0"],
        ],
        [
            "MULTIPATH_ROUTES",
            [
                "-6",
                "route",
                "add",
                "2001:db8:9::/48",
                "nexthop",
                "via",
                "fd99::1",
                "dev",
                "eth0",
                "nexthop",
                "via",
                "fd99::9",
                "dev",
                "eth0",
            ],
        ],
        ["NEXT_HOP_OBJECTS", ["route", "add", "198.18.1.0/24", "nhid", "77"]],
        [
            "ENCAPSULATING_ROUTES",
            ["route", "add", "198.18.1.0/24", "encap", "ip", "id", "5", "dst", "10.99.0.9", ...via],
        ],
    ] as const)("%s", async (code, route) => {
        node.ip("nexthop", "add", "id", "77", "via", "10.99.0.1", "dev", "eth0");
        node.ip(...route);
        const { reported } = await node.run({ actions: ["recover", "connect"] });
        node.ip(...route.map((word) => (word === "add" ? "del" : word)));
        node.ip("nexthop", "flush");
        expect(reported[1]).toMatchObject({
            kind: "error",
            code,
            message: expect.stringContaining("eth0 cannot become the uplink"),
        });
    });

    it("a port of another OVS bridge", async () => {
        await node.ovs.vsctl("add-br", "br-other", "--", "set", "bridge", "br-other", "datapath_type=netdev");
        await node.ovs.vsctl("add-port", "br-other", "eth0");
        const { reported } = await node.run({ actions: ["recover", "connect"] });
        await node.ovs.vsctl("del-br", "br-other");
        expect(reported[1]).toMatchObject({
            code: "NIC_IN_USE",
            message: expect.stringContaining("port of OVS bridge br-other"),
        });
    });

    it("a port of a Linux bridge, a link that is not there", async () => {
        node.ip("link", "add", "lb0", "type", "bridge");
        node.ip("link", "add", "d0", "type", "veth", "peer", "name", "d1");
        node.ip("link", "set", "d0", "master", "lb0");
        const bridged = await node.run({ actions: ["connect"], nic: "d0" });
        node.ip("link", "del", "d0");
        node.ip("link", "del", "lb0");
        expect(bridged.reported[0]).toMatchObject({
            code: "NIC_IN_USE",
            message: expect.stringContaining("belongs to lb0"),
        });
        expect((await node.run({ actions: ["connect"], nic: "d0" })).reported[0]).toMatchObject({
            code: "NIC_MISSING",
        });
    });
});

describe("without OVS", () => {
    it("the next start gives the Node its NIC back", async () => {
        await node.run({ actions: ["recover", "connect"] });
        await node.ovs.killVswitchd();
        expect(node.reaches()).toBe(false);
        // Of all limits only that for a complete move ends within the time of the test: nothing else waits for OVS.
        const timing = { ovsMs: 600_000, lossMs: 600_000, carrierMs: 1_000 };
        expect((await node.run({ actions: ["recover"], timing })).reported).toEqual([{ kind: "idle" }]);
        expect(node.reaches()).toBe(true);
        await startVswitchd();
        expect(await portsLeft()).toBe("");
    });

    describe("while ovs-vswitchd lives and its database cannot be reached", () => {
        beforeEach(async () => {
            await node.run({ actions: ["connect"], kill: { step: "switch", moment: "made" } });
            const { reported } = await node.run({
                actions: ["recover"],
                ovsDown: true,
                dbSocket: "/nonexistent/db.sock",
            });
            expect(reported).toEqual([{ kind: "idle" }]);
        });

        it("the next start gives the Node its NIC back, and the one after moves it again", async () => {
            expect(node.reaches()).toBe(true);
            expect(node.truth()).toEqual(before);
            // The ports are still in the database, and OVS would take up the links again.
            const { reported } = await node.run({ actions: ["recover", "connect", "restore"] });
            expect(reported).toMatchObject([{ kind: "idle" }, { kind: "bridged" }, { kind: "idle" }]);
        });

        it("an ovs-vswitchd that is slow does not take the ports of the next move for those of the last", async () => {
            const row = (): Promise<string> => node.ovs.vsctl("--if-exists", "get", "Port", "eth0", "_uuid");
            const left = await row();
            node.ovs.signalVswitchd("SIGSTOP");
            const { ended } = node.begin({ actions: ["recover", "connect", "restore"] });
            while ((await row()) === left) await sleep(20);
            // time for new rows, which must not come yet
            await sleep(300);
            expect((await row()).trim()).toBe("");
            node.ovs.signalVswitchd("SIGCONT");
            expect((await ended).reported).toMatchObject([{ kind: "idle" }, { kind: "bridged" }, { kind: "idle" }]);
        });
    });

    it("a move that cannot be made is undone, and may be tried again", async () => {
        await node.ovs.killVswitchd();
        const { reported } = await node.run({ actions: ["recover", "connect"], timing: { ovsMs: 3_000 } });
        expect(reported[1]).toMatchObject({ kind: "error", message: expect.stringContaining("ovs-vswitchd") });
        expect(node.truth()).toEqual(before);
        await startVswitchd();
        expect((await node.run({ actions: ["recover", "connect", "restore"] })).reported[1]).toMatchObject({
            kind: "bridged",
        });
    });

    it("an agent that runs gives the Node its NIC back after some seconds", async () => {
        const timing = { lossMs: 1_000 };
        const { child, ended } = node.begin({ actions: ["recover", "connect", "check-long"], timing });
        await hasPrinted(child, "bridged");
        await node.ovs.killVswitchd();
        expect((await ended).reported.at(-1)).toMatchObject({ kind: "lost" });
        expect(node.reaches()).toBe(true);
        await startVswitchd();
    });

    it("ports that somebody took out of the database are made again, and the host port gets back what it had", async () => {
        const { child, ended } = node.begin({ actions: ["recover", "connect", "check-long"] });
        await hasPrinted(child, "bridged");
        const isBack = hasPrinted(child, "NIC is already the uplink of the bridge");
        await node.ovs.vsctl("del-port", "eth0", "--", "del-port", "eth0~");
        await Promise.race([isBack, ended]);
        expect((await portsLeft()).split("\n").sort()).toEqual(["eth0", "eth0~"]);
        expect(node.reaches()).toBe(true);
        child.kill("SIGKILL");
        await ended;
        await node.run({ actions: ["recover", "restore"] });
    });

    it("a host port whose device somebody has deleted is made again at once, and the NIC stays the uplink", async () => {
        const { child, ended } = node.begin({ actions: ["recover", "connect", "check-long"] });
        await hasPrinted(child, "bridged");
        const uplink = node.ip("-o", "link", "show", "eth0~");
        for (const loss of ["once", "again"]) {
            const isBack = hasPrinted(child, "NIC is already the uplink of the bridge");
            node.ip("link", "del", "eth0");
            await Promise.race([isBack, ended]);
            expect([loss, node.reaches()]).toEqual([loss, true]);
        }
        expect((await portsLeft()).split("\n").sort()).toEqual(["eth0", "eth0~"]);
        expect((await node.ovs.vsctl("get", "interface", "eth0", "ofport")).trim()).toBe("32771");
        expect(node.ip("-o", "link", "show", "eth0~")).toBe(uplink);
        child.kill("SIGTERM");
        const { reported, log } = await ended;
        expect(reported.at(-1)).toMatchObject({ kind: "bridged" });
        expect(log).not.toContain("restoring the uplink");
        await node.run({ actions: ["recover", "restore"] });
    });

    it.each(["addresses", "routes"] as const)(
        "a host port whose device goes just before its %s are read is made again with all it had",
        async (what) => {
            const actions = ["recover", "connect", "check-long", "restore"] as const;
            const { child, ended } = node.begin({ actions, vanishesBefore: what });
            const isBack = hasPrinted(child, "NIC is already the uplink of the bridge");
            await hasPrinted(child, "vanished");
            await Promise.race([isBack, ended]);
            const { routes4, routes6 } = node.truth();
            child.kill("SIGTERM");
            const { reported, log } = await ended;
            expect(reported).toMatchObject(
                ["idle", "bridged", "vanished", "bridged", "idle"].map((kind) => ({ kind })),
            );
            expect(log).not.toContain("restoring the uplink");
            expect({ routes4, routes6 }).toEqual({ routes4: before["routes4"], routes6: before["routes6"] });
        },
    );

    it("a host port that OVS does not make again is not reported as OVS that is away", async () => {
        const timing = { lossMs: 1_000 };
        const { child, ended } = node.begin({ actions: ["recover", "connect", "check-long"], timing });
        await hasPrinted(child, "bridged");
        signal(node.ovs.vswitchdPid, "SIGSTOP");
        node.ip("link", "del", "eth0");
        const { reported } = await ended;
        await node.ovs.killVswitchd();
        expect(reported.at(-1)).toEqual({
            kind: "lost",
            name: "eth0",
            reason: "the host port eth0 has had no device for 1 s",
        });
        expect(node.reaches()).toBe(true);
        await startVswitchd();
    });

    it("a host port that OVS made anew, and that has half of what it had, is not what the NIC gets", async () => {
        await node.run({ actions: ["recover", "connect"] });
        await node.ovs.vsctl("del-port", "eth0");
        const port = ["add-port", node.bridge, "eth0", "--", "set", "interface", "eth0", "type=internal"];
        await node.ovs.vsctl(...port, "--", "set", "port", "eth0", "external_ids:antrea-type=host");
        node.ip("link", "set", "eth0", "up");
        node.ip("addr", "add", "10.99.0.2/24", "brd", "+", "dev", "eth0");
        expect((await node.run({ actions: ["recover"] })).reported).toEqual([{ kind: "idle" }]);
        expect(await portsLeft()).toBe("");
    });
});

describe("a journal", () => {
    it("of another boot, with ports of it in the database, is read afresh", async () => {
        await node.run({ actions: ["recover", "connect"] });
        const journal = readFileSync(join(node.folder, "uplink.json"), "utf8");
        await node.run({ actions: ["recover", "restore"] });
        // The Node came up again: its NIC has its name, and the database what it had.
        await node.ovs.killVswitchd();
        for (const name of ["eth0", "eth0~"]) await node.ovs.vsctl("add-port", node.bridge, name);
        await node.ovs.vsctl(
            "set",
            "interface",
            "eth0",
            "type=internal",
            "--",
            "set",
            "port",
            "eth0",
            "external_ids:antrea-type=host",
        );
        await node.ovs.vsctl("set", "port", "eth0~", "external_ids:antrea-type=uplink");
        await startVswitchd();
        writeFileSync(join(node.folder, "uplink.json"), journal);
        const { reported } = await node.run({ actions: ["recover", "connect", "restore"], bootId: "boot-2" });
        expect(reported).toMatchObject([{ kind: "idle" }, { kind: "bridged" }, { kind: "idle" }]);
        expect(await portsLeft()).toBe("");
    });

    it.each(["lost", "damaged"])("that is %s does not stop the rollback", async (what) => {
        await node.run({ actions: ["recover", "connect"] });
        if (what === "lost") rmSync(join(node.folder, "uplink.json"));
        else writeFileSync(join(node.folder, "uplink.json"), '{"version":1,"step":"bri');
        const { reported } = await node.run({ actions: ["recover", "connect", "restore"] });
        expect(reported).toMatchObject([{ kind: "idle" }, { kind: "bridged" }, { kind: "idle" }]);
    });
});

describe("other NICs", () => {
    it("a Linux bridge with a NIC of its own becomes the uplink", async () => {
        node.ip("link", "add", "br0", "type", "bridge");
        node.ip("link", "add", "d0", "type", "veth", "peer", "name", "d1");
        node.ip("link", "set", "d0", "master", "br0");
        for (const link of ["br0", "d0", "d1"]) node.ip("link", "set", link, "up");
        node.ip("addr", "add", "10.66.0.1/24", "dev", "br0");
        const { reported } = await node.run({ actions: ["recover", "connect"], nic: "br0" });
        const host = node.ip("-d", "addr", "show", "dev", "br0");
        await node.run({ actions: ["recover", "restore"], nic: "br0" });
        const back = node.ip("-d", "addr", "show", "dev", "br0");
        for (const link of ["d0", "br0"]) node.ip("link", "del", link);
        expect(reported[1]).toMatchObject({ kind: "bridged", name: "br0", physicalName: "br0~" });
        expect(host).toMatch(/tun type tap[^]*inet 10\.66\.0\.1\/24/);
        expect(back).toMatch(/forward_delay[^]*inet 10\.66\.0\.1\/24/);
    });
});

describe("names", () => {
    it("of 15 characters are cut", async () => {
        const name = "a-nic-of-15-ch0";
        node.ip("link", "add", name, "type", "veth", "peer", "name", "d1");
        node.ip("link", "add", "a-nic-of-15-ch~", "type", "veth", "peer", "name", "d2");
        node.ip("link", "set", name, "up");
        const { reported } = await node.run({ actions: ["connect", "restore"], nic: name });
        const back = node.ip("link", "show", name);
        for (const link of [name, "a-nic-of-15-ch~"]) node.ip("link", "del", link);
        expect(back).toContain(`${name}@d1`);
        expect(reported[0]).toMatchObject({ kind: "bridged", name, physicalName: "a-nic-of-15-c~1" });
    });
});
