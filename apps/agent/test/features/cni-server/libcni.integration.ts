import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CniServer } from "../../../src/features/cni-server/index.ts";
import { conflistText } from "../../../src/features/cni-server/conflist/index.ts";
import { TestNode, type TestAgent } from "../../support/test-node.ts";
import { ipsOf, TestPod, type AddAnswer } from "../../support/test-pod.ts";

// A container runtime of 1.7's age: the real plugins, called by the library that containerd 1.7 has.

const run = promisify(execFile);
const repository = new URL("../../../../../", import.meta.url).pathname;

let node: TestNode;
let agent: TestAgent;
let server: CniServer;
let folder: string;
let socketPath: string;

beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "antrea-libcni-"));
    symlinkSync(
        mustExist(join(repository, "apps/cni/dist/antrea-cni"), "npx nx build antrea-cni"),
        join(folder, "antrea"),
    );
    const plugins = join(cache(), `programs/cni-plugins-${version("CNI_PLUGINS_VERSION")}`);
    for (const name of ["portmap", "bandwidth"]) {
        const program = mustExist(join(plugins, name), "tools/cluster/build-programs.sh cni-plugins");
        symlinkSync(program, join(folder, name));
    }
    node = await TestNode.start();
    agent = await node.startAgent();
    socketPath = join(node.ovs.runDir, "cni.sock");
    server = new CniServer({ calls: agent.calls }, { socketPath });
    await server.start();
});

afterAll(async () => {
    await server?.stop();
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
});

function mustExist(path: string, next: string): string {
    if (!existsSync(path)) throw new Error(`${path} is missing: run "${next}"`);
    return path;
}

function cache(): string {
    const folders = process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? "/root", ".cache");
    return process.env["ANTREA_CACHE"] ?? join(folders, "antrea");
}

function version(name: string): string {
    const text = readFileSync(join(repository, "tools/versions.env"), "utf8");
    return new RegExp(`^${name}=(.+)$`, "m").exec(text)?.[1] ?? "";
}

/** One call of the network list; gives what the library made of the result, rejects with its error. */
async function call(
    command: "ADD" | "CHECK" | "DEL",
    pod: TestPod,
    conflist = conflistText({ portmap: true, bandwidth: true }),
    capabilities: Readonly<Record<string, unknown>> = {},
): Promise<string> {
    const path = join(folder, "10-antrea.conflist");
    writeFileSync(path, conflist);
    const { args } = pod.args();
    const options = ["-args", `IgnoreUnknown=1;${args}`, "-capabilities", JSON.stringify(capabilities)];
    const words = [command, path, folder, join(folder, "cache"), pod.containerId, pod.netns.path, "eth0"];
    const env = { ...process.env, ANTREA_CNI_SOCKET: socketPath };
    const driver = mustExist(join(cache(), "programs/libcni-1/libcni"), "tools/cluster/build-programs.sh libcni");
    const { stdout } = await run(driver, [...options, ...words], { env, timeout: 60_000 });
    return stdout;
}

const resultOf = async (...args: Parameters<typeof call>): Promise<AddAnswer> =>
    JSON.parse(await call(...args)) as AddAnswer;

describe("libcni 1.1.2", () => {
    it("adds, checks and deletes a Pod by the CNI configuration of the Node", async () => {
        using pod = new TestPod();
        const before = await node.state();
        const answer = await resultOf("ADD", pod);
        expect(answer).toMatchObject({
            cniVersion: "1.0.0",
            interfaces: [{}, { name: "eth0", sandbox: pod.netns.path }],
        });
        expect(ipsOf(answer)).toHaveLength(2);
        expect(await pod.ping(answer.ips[0]?.gateway ?? "")).toBe(1);
        expect(await call("CHECK", pod)).toBe("");
        expect(await call("DEL", pod)).toBe("");
        expect(await call("DEL", pod)).toBe("");
        expect(agent.used).toEqual([0, 0]);
        expect((await node.state()).ports).toEqual(before.ports);
        await expect(call("CHECK", pod)).rejects.toMatchObject({ stderr: expect.stringContaining("eth0") });
    });

    describe("bandwidth of a Pod", () => {
        // What containerd makes of kubernetes.io/ingress-bandwidth and egress-bandwidth: bits a second, and bits.
        const limits = { ingressRate: 8_000_000, ingressBurst: 800_000, egressRate: 4_000_000, egressBurst: 800_000 };
        const tc = async (...words: readonly string[]): Promise<string> => (await run("tc", words)).stdout;
        const linksOf = async (kind: string): Promise<readonly string[]> =>
            [...(await run("ip", ["-o", "link", "show", "type", kind])).stdout.matchAll(/^\d+: ([^:@]+)/gm)].map(
                ([, name = ""]) => name,
            );

        it("is limited as asked for, and DEL leaves nothing", async () => {
            using pod = new TestPod();
            const before = await node.state();
            const answer = await resultOf("ADD", pod, undefined, { bandwidth: limits });
            const [ifb = "none"] = await linksOf("ifb");
            expect(answer.interfaces.map(({ name }) => name)).toEqual([pod.hostIfName, "eth0", ifb]);
            expect(await tc("qdisc", "show", "dev", pod.hostIfName)).toMatch(/tbf .*rate 8Mbit.*ingress/s);
            expect(await tc("qdisc", "show", "dev", ifb)).toMatch(/tbf .*rate 4Mbit/);
            // what the agent searches after a start of OVS
            expect(JSON.parse(await tc("-j", "qdisc", "show"))).toEqual(
                expect.arrayContaining([
                    expect.objectContaining({ kind: "tbf", dev: pod.hostIfName }),
                    expect.objectContaining({ kind: "ingress", dev: pod.hostIfName }),
                ]),
            );
            expect(await pod.ping(answer.ips[0]?.gateway ?? "")).toBe(1);
            expect(await call("CHECK", pod, undefined, { bandwidth: limits })).toBe("");
            // kubelet repeats an ADD that it did not see end; the runtime deletes before
            await call("DEL", pod, undefined, { bandwidth: limits });
            expect(await linksOf("ifb")).toEqual([]);
            expect((await node.state()).ports).toEqual(before.ports);
        });

        it.each([
            ["holds back what is too much to the Pod", { ingressRate: 80_000, ingressBurst: 80_000 }],
            ["holds back what is too much from the Pod", { egressRate: 80_000, egressBurst: 80_000 }],
        ])("%s", async (_, bandwidth) => {
            using pod = new TestPod();
            const answer = await resultOf("ADD", pod, undefined, { bandwidth });
            // 100 packets of 8 kbit in a second, each way
            const options = { count: 100, intervalS: 0.01, limitS: 3, size: 1000 };
            const answered = await pod.ping(answer.ips[0]?.gateway ?? "", options);
            expect(answered).toBeGreaterThan(5);
            expect(answered).toBeLessThan(60);
            await call("DEL", pod, undefined, { bandwidth });
        });

        it("holds back nothing below it", async () => {
            using pod = new TestPod();
            const bandwidth = { ingressRate: 80_000_000, ingressBurst: 800_000 };
            const answer = await resultOf("ADD", pod, undefined, { bandwidth });
            // Without a limit of time: a busy machine sends them over a longer time.
            const options = { count: 100, intervalS: 0.01, size: 1000 };
            expect(await pod.answered(answer.ips[0]?.gateway ?? "", options)).toBeGreaterThan(80);
            await call("DEL", pod, undefined, { bandwidth });
        });

        it("stays when other Pods come, but not when OVS is restarted", async () => {
            using pod = new TestPod();
            using other = new TestPod("web-1");
            await call("ADD", pod, undefined, { bandwidth: limits });
            const limited = await tc("qdisc", "show", "dev", pod.hostIfName);
            await call("ADD", other);
            await call("DEL", other);
            expect(await tc("qdisc", "show", "dev", pod.hostIfName)).toBe(limited);
            // docs/operations.md names it among the limits
            await node.ovs.restartVswitchd();
            await agent.resync();
            expect(await tc("qdisc", "show", "dev", pod.hostIfName)).not.toMatch(/tbf|ingress/);
            await call("DEL", pod, undefined, { bandwidth: limits });
            expect(await linksOf("ifb")).toEqual([]);
        });

        it("is not touched without the annotations", async () => {
            using pod = new TestPod();
            await call("ADD", pod);
            expect(await linksOf("ifb")).toEqual([]);
            expect(await tc("qdisc", "show", "dev", pod.hostIfName)).not.toMatch(/tbf|ingress/);
            await call("CHECK", pod);
            await call("DEL", pod);
        });
    });

    it.each(["0.3.0", "0.3.1", "0.4.0", "1.0.0"])("is served with a configuration of %s", async (cniVersion) => {
        using pod = new TestPod();
        const conflist = JSON.stringify({ cniVersion, name: "antrea", plugins: [{ type: "antrea" }] });
        expect(await resultOf("ADD", pod, conflist)).toMatchObject({ cniVersion });
        await call("DEL", pod, conflist);
        expect(agent.used).toEqual([0, 0]);
    });

    it("cannot read a result of 1.1.0, which is why a configuration of 1.1.0 must be asked for", async () => {
        using pod = new TestPod();
        const conflist = JSON.stringify({ cniVersion: "1.1.0", name: "antrea", plugins: [{ type: "antrea" }] });
        await expect(call("ADD", pod, conflist)).rejects.toMatchObject({
            stderr: expect.stringContaining('unsupported CNI result version "1.1.0"'),
        });
        await call("DEL", pod, conflist);
        expect(agent.used).toEqual([0, 0]);
    });

    it("gets the plugin's error with its code and its words", async () => {
        using pod = new TestPod();
        const conflist = JSON.stringify({
            cniVersion: "1.0.0",
            name: "antrea",
            plugins: [{ type: "antrea", mtu: 12 }],
        });
        await expect(call("ADD", pod, conflist)).rejects.toMatchObject({
            stderr: expect.stringContaining("mtu: 12 must be"),
        });
    });
});
