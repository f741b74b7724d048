import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { PrivateOvs } from "@antrea/openflow/testing";
import { OvsdbSession } from "@antrea/ovsdb/session";
import {
    bridgeRows,
    checkTunnelType,
    datapathOf,
    DatapathProbe,
    tunnelBridgeProblem,
    Unixctl,
    type DatapathType,
} from "../../../../src/platform/ovs/datapath/index.ts";
import { missingFeatures, parseFeatures } from "../../../../src/platform/ovs/datapath/features.ts";
import { interfaceTypes } from "../../../../src/platform/ovs/datapath/tunnel-types.ts";
import { monitoredColumns, OvsBridge } from "../../../../src/platform/ovs/bridge/index.ts";
import { Readiness } from "../../../../src/platform/readiness.ts";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/logger.ts";
import { signal } from "../../../support/signal.ts";

const bridgeName = "br-int";

/** An Open vSwitch in a network namespace of its own, with the files that the image has beside its socket. */
class Switch implements AsyncDisposable {
    readonly ovs: PrivateOvs;
    readonly control: Unixctl;
    readonly database: OvsdbSession;
    readonly #stop = new AbortController();

    private constructor(ovs: PrivateOvs) {
        this.ovs = ovs;
        this.control = new Unixctl({ runDir: ovs.runDir });
        this.database = new OvsdbSession(
            { logger: silentLogger },
            { socketPath: ovs.dbSocket, monitor: monitoredColumns },
        );
    }

    static async start(): Promise<Switch> {
        const ovs = await PrivateOvs.start({ network: "own" });
        const one = new Switch(ovs);
        await one.connect();
        return one;
    }

    /** ovs-vswitchd with all datapath types, as on a Node. This machine's kernel has no module openvswitch. */
    static async startWithSystem(): Promise<{ readonly node: Switch; readonly daemon: ChildProcess }> {
        const ovs = await PrivateOvs.start({ vswitchd: false });
        const command = ["unshare", "--net", "ovs-vswitchd", `unix:${ovs.dbSocket}`, "--pidfile"];
        const daemon = spawn("setpriv", ["--pdeathsig", "KILL", ...command], { env: ovs.env, stdio: "ignore" });
        const node = new Switch(ovs);
        await node.connect();
        await eventually(
            () => interfaceTypes(node.database),
            (types) => types.length > 0,
        );
        return { node, daemon };
    }

    async connect(): Promise<void> {
        this.database.start(this.#stop.signal);
        await this.database.ready();
    }

    /** Runs a command in the network namespace of ovs-vswitchd. */
    async inside(...command: readonly string[]): Promise<void> {
        await run("nsenter", `--net=${this.ovs.netnsPath}`, ...command);
    }

    bridge(datapathType: DatapathType): OvsBridge {
        return new OvsBridge({ database: this.database }, { bridge: bridgeName, datapathType });
    }

    probe(type: DatapathType) {
        const readiness = new Readiness({ datapath: "the datapath of OVS is not known" });
        const { control } = this;
        const probe = new DatapathProbe(
            { control, readiness, logger: silentLogger },
            { bridge: bridgeName, datapath: datapathOf(type) },
        );
        return { probe, readiness };
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.database.close();
        await this.ovs[Symbol.asyncDispose]();
    }
}

async function endOf(daemon: ChildProcess): Promise<void> {
    const ended = new Promise((resolve) => daemon.once("exit", resolve));
    daemon.kill("SIGKILL");
    await ended;
}

describe("on the userspace datapath", () => {
    let node: Switch;

    beforeAll(async () => {
        node = await Switch.start();
        await node.bridge("netdev").ensure();
    });

    afterAll(async () => {
        await node?.[Symbol.asyncDispose]();
    });

    it("the bridge is written as netdev, the probe passes, and all features are there", async () => {
        const { probe, readiness } = node.probe("netdev");
        await probe.passed(AbortSignal.timeout(60_000));
        expect(readiness.missing()).toBeUndefined();
        expect(await node.ovs.vsctl("get", "bridge", bridgeName, "datapath_type")).toBe("netdev\n");
        const text = await node.control.request("dpif/show-dp-features", [bridgeName]);
        expect(text).toBe(await node.ovs.appctl("dpif/show-dp-features", bridgeName));
        expect(missingFeatures(parseFeatures(text))).toEqual([]);
    });

    it("connection tracking lets segments pass whose numbers do not fit, again after a restart of OVS", async () => {
        const { probe } = node.probe("netdev");
        const check = (): Promise<string> => node.ovs.appctl("dpctl/ct-get-tcp-seq-chk");
        await probe.passed(AbortSignal.timeout(60_000));
        expect(await check()).toContain("disabled");
        await node.ovs.killVswitchd();
        await node.ovs.startVswitchd();
        await probe.passed(AbortSignal.timeout(60_000));
        expect(await check()).toContain("disabled");
    });

    it("the control socket refuses what it does not know, with the words of OVS", async () => {
        await expect(node.control.request("dpif/show-dp-features", ["br-none"])).rejects.toMatchObject({
            code: "REFUSED",
            details: { answer: "no such bridge" },
        });
        await expect(node.control.request("no/such-command")).rejects.toMatchObject({
            code: "REFUSED",
            message: expect.stringContaining('"no/such-command" is not a valid command'),
        });
    });

    it("it answers requests side by side, and one longer than allowed ends in an error", async () => {
        const commands = Array.from({ length: 50 }, () => node.control.request("version"));
        expect(new Set(await Promise.all(commands)).size).toBe(1);
        const short = new Unixctl({ runDir: node.ovs.runDir, maxAnswerBytes: 1_000 });
        await expect(short.request("list-commands")).rejects.toMatchObject({ code: "ANSWER_TOO_LONG" });
        expect((await node.control.request("list-commands")).length).toBeGreaterThan(1_000);
    });

    it("a daemon that hangs is given up after the limit, and asked again when it goes on", async () => {
        const pid = node.ovs.vswitchdPid;
        const control = new Unixctl({ runDir: node.ovs.runDir, timeoutMs: 300 });
        signal(pid, "SIGSTOP");
        try {
            // It is stopped all the while, so nothing but the limit of 300 ms, and not that of 5 s, ends this.
            await expect(control.request("dpif/dump-dps")).rejects.toMatchObject({
                code: "TIMEOUT",
                fault: "timeout",
                message: expect.stringContaining("did not answer dpif/dump-dps within 300 ms"),
            });
        } finally {
            signal(pid, "SIGCONT");
        }
        expect(await node.control.request("dpif/dump-dps")).toContain(`netdev@${bridgeName}\n`);
    });

    it("stt is refused: this OVS lists it, takes the port and drops what is sent to it", async () => {
        const check = (tunnelType: "geneve" | "vxlan" | "gre" | "stt") =>
            checkTunnelType(node.database, { datapath: datapathOf("netdev"), tunnelType }, { timeoutMs: 10_000 });
        await Promise.all([check("geneve"), check("vxlan"), check("gre")]);
        await expect(check("stt")).rejects.toMatchObject({
            code: "NO_TUNNEL_TYPE",
            message: expect.stringMatching(/no tunnel type stt; it has .*; set tunnelType to geneve, vxlan or gre$/),
        });
        expect(interfaceTypes(node.database)).toEqual(expect.arrayContaining(["geneve", "gre", "internal", "vxlan"]));
    });

    it("a transport interface by which tunnels cannot leave is reported, step by step, until it is right", async () => {
        const { ovs, database } = node;
        await node.inside("ip", "link", "add", "nic0", "type", "veth", "peer", "name", "wire0");
        await node.inside("ip", "link", "set", "nic0", "up");
        await node.inside("ip", "link", "set", "wire0", "up");
        const problem = () => tunnelBridgeProblem(bridgeRows(database), "br-phy");
        const reportsProblem = (words: string) => eventually(problem, (text) => text?.includes(words) === true);
        expect(problem()).toContain("br-phy is none");
        await ovs.vsctl("add-br", "br-phy");
        expect(await reportsProblem("has datapath type")).toContain("datapath_type=netdev");
        await ovs.vsctl("set", "bridge", "br-phy", "datapath_type=netdev");
        expect(await reportsProblem("has no NIC")).toContain("ovs-vsctl add-port br-phy NIC");
        await ovs.vsctl("add-port", "br-phy", "nic9").catch(() => undefined);
        expect(await reportsProblem("cannot open")).toMatch(
            /OVS cannot open NIC nic9 of bridge br-phy: .*No such device/,
        );
        await ovs.vsctl("del-port", "br-phy", "nic9");
        await ovs.vsctl("add-port", "br-phy", "nic0");
        expect(await eventually(problem, (text) => text === undefined)).toBeUndefined();
        expect(tunnelBridgeProblem(bridgeRows(database), "nic0")).toContain("another port of bridge br-phy");
    });

    // What the rules of the agent rest on.
    it("tunnels leave by the LOCAL port of a netdev bridge with a NIC, those of stt do not", async () => {
        const { ovs, database } = node;
        await node.inside("ip", "address", "add", "192.0.2.1/24", "dev", "br-phy");
        await node.inside("ip", "link", "set", "br-phy", "up");
        await node.inside("ip", "address", "add", "fd00:192::1/64", "dev", "br-phy", "nodad");
        await node.inside("ip", "address", "add", "198.51.100.1/24", "dev", "wire0");
        await eventually(
            () => node.control.request("ovs/route/show"),
            (text) => text.includes("198.51.100.0/24"),
        );
        await node.control.request("tnl/neigh/set", ["br-phy", "192.0.2.2", "02:00:00:00:00:02"]);
        await node.control.request("tnl/neigh/set", ["wire0", "198.51.100.2", "02:00:00:00:00:03"]);
        await node.control.request("tnl/neigh/set", ["br-phy", "fd00:192::2", "02:00:00:00:00:04"]);
        const sent = (type: string, to: string) => traceTunnel(ovs, type, to);
        for (const type of ["geneve", "vxlan", "gre"]) {
            expect(await sent(type, "192.0.2.2")).toMatch(/tnl_push\(.*ipv4\(src=192\.0\.2\.1,dst=192\.0\.2\.2,/);
            expect(await sent(type, "fd00:192::2")).toMatch(/tnl_push\(.*ipv6\(src=fd00:192::1,dst=fd00:192::2,/);
        }
        expect(await sent("geneve", "198.51.100.2")).toMatch(/Datapath actions: drop/);
        if (interfaceTypes(database).includes("stt")) {
            expect(await sent("stt", "192.0.2.2")).toMatch(/header build failed[^]*Datapath actions: drop/);
        }
    });

    it("an OVS that is gone is reported at once, and a new one is found", async () => {
        await node.ovs.killVswitchd();
        await expect(node.control.request("version")).rejects.toMatchObject({
            code: "NOT_RUNNING",
            message: expect.stringContaining("see the log of container antrea-ovs"),
        });
        await node.ovs.startVswitchd();
        const { probe } = node.probe("netdev");
        await probe.passed(AbortSignal.timeout(60_000));
    });
});

const hasModule = existsSync("/sys/module/openvswitch");

describe("on the kernel datapath", () => {
    let node: Switch;
    let daemon: ChildProcess;

    beforeAll(async () => {
        ({ node, daemon } = await Switch.startWithSystem());
    });

    afterAll(async () => {
        if (daemon !== undefined) await endOf(daemon);
        await node?.[Symbol.asyncDispose]();
    });

    it("the bridge is written as system", async () => {
        await node.bridge("system").ensure();
        expect(await node.ovs.vsctl("get", "bridge", bridgeName, "datapath_type", "fail_mode")).toBe(
            "system\nsecure\n",
        );
        expect(tunnelBridgeProblem(bridgeRows(node.database), bridgeName)).toContain("has datapath type system");
    });

    if (hasModule) {
        it("with the module the probe passes", async () => {
            await node.probe("system").probe.passed(AbortSignal.timeout(60_000));
        });
    } else {
        it("without the module the reason is reported instead of waiting for ever", async () => {
            const { probe, readiness } = node.probe("system");
            await expect(probe.check()).rejects.toMatchObject({
                code: "MODULE_MISSING",
                message: expect.stringMatching(/had no module openvswitch loaded .*modprobe openvswitch/),
            });
            expect(readiness.missing()).toContain("modprobe openvswitch");
            await expect(node.bridge("system").datapathId(200)).rejects.toMatchObject({ code: "TIMEOUT" });
        });

        it("nor does a datapath id of before hide that the bridge is gone", async () => {
            await node.bridge("netdev").ensure();
            const { probe } = node.probe("netdev");
            await probe.passed(AbortSignal.timeout(60_000));
            const id = await node.bridge("netdev").datapathId(10_000);
            await node.bridge("system").ensure();
            await eventually(
                () => node.control.request("dpif/dump-dps"),
                (text) => !text.includes(bridgeName),
            );
            expect(await node.bridge("system").datapathId(1_000)).toBe(id);
            await expect(node.probe("system").probe.check()).rejects.toMatchObject({ code: "MODULE_MISSING" });
            const { probe: late, readiness } = node.probe("netdev");
            const passed = late.passed(AbortSignal.timeout(60_000));
            await eventually(
                () => readiness.missing(),
                (text) => text?.includes("has not made bridge") === true,
            );
            await node.bridge("netdev").ensure();
            await passed;
            expect(readiness.missing()).toBeUndefined();
        });
    }

    it("an OVS without the type reports it", async () => {
        await using other = await Switch.start();
        await other.bridge("system").ensure();
        await expect(other.probe("system").probe.check()).rejects.toMatchObject({
            code: "TYPE_MISSING",
            message: expect.stringContaining("this Open vSwitch has no datapath type system"),
        });
    });
});

it("something else at the socket is no OVS", async () => {
    await using ovs = await PrivateOvs.start({ vswitchd: false });
    writeFileSync(join(ovs.runDir, "ovs-vswitchd.pid"), "1\n");
    const server = createServer((socket) => socket.resume().end("SSH-2.0-OpenSSH\r\n"));
    await new Promise<void>((resolve) => server.listen(join(ovs.runDir, "ovs-vswitchd.1.ctl"), resolve));
    await expect(new Unixctl({ runDir: ovs.runDir }).request("version")).rejects.toMatchObject({ code: "BAD_ANSWER" });
    await new Promise((resolve) => server.close(resolve));
});

/** What OVS would do with a packet for a tunnel of that type to that address. */
async function traceTunnel(ovs: PrivateOvs, type: string, to: string): Promise<string> {
    const port = `tun-${type}`;
    const row = [`type=${type}`, "options:remote_ip=flow", "options:key=flow"];
    await ovs.vsctl("--may-exist", "add-port", bridgeName, port, "--", "set", "interface", port, ...row);
    const ofPort = (await ovs.vsctl("get", "interface", port, "ofport")).trim();
    const field = to.includes(":") ? "tun_ipv6_dst" : "tun_dst";
    await ovs.ofctl("add-flow", bridgeName, `in_port=local,ip,actions=set_field:${to}->${field},output:${ofPort}`);
    return ovs.appctl("ofproto/trace", bridgeName, "in_port=local,ip,nw_dst=10.0.0.1");
}

async function run(...command: readonly string[]): Promise<void> {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { stdio: "ignore" });
    const code = await new Promise((resolve) => child.once("exit", resolve));
    expect([command.join(" "), code]).toEqual([command.join(" "), 0]);
}
