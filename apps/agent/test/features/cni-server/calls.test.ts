import { beforeEach, describe, expect, it } from "@jest/globals";
import { CniCallError, ErrorCode, supportedVersions, toCniError, type CniCmdArgs } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import { OpenFlowError } from "@antrea/openflow";
import { OvsdbError } from "@antrea/ovsdb";
import { MemoryLog } from "@antrea/runtime/testing";
import { CniCalls, type CniCommand } from "../../../src/features/cni-server/index.ts";
import { IpPoolError, type IpPoolErrorCode } from "../../../src/features/ip-pools/index.ts";
import { NodeConfigError } from "../../../src/platform/node/config/index.ts";
import { CheckError, NodeSubnetError, PodNetworkError } from "../../../src/features/pod-network/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeBackend } from "./fake-backend.ts";

let backend: FakeBackend;
let calls: CniCalls;
let observed: string[];
/** Pod, interface, part and message of refused ADDs. */
let refused: string[];

beforeEach(() => {
    backend = new FakeBackend();
    [observed, refused] = [[], []];
    calls = new CniCalls({
        backend,
        logger: silentLogger,
        now: () => 4711,
        refused: ({ podNamespace, podName, podUid, ifName }, { message }, part) =>
            void refused.push(`${podNamespace}/${podName} ${podUid} ${ifName} ${part}: ${message}`),
        observe: (...call) => observed.push(call.join(" ")),
    });
});

const podArgs = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_UID=uid-0";

function argsOf(config: unknown = {}, changes: Partial<CniCmdArgs> = {}): CniCmdArgs {
    const whole = { cniVersion: "1.1.0", name: "antrea", type: "antrea", ...(config as object) };
    return {
        containerId: "c1",
        netns: "/var/run/netns/cni-1",
        ifname: "eth0",
        args: podArgs,
        path: "/opt/cni/bin",
        networkConfiguration: new TextEncoder().encode(JSON.stringify(whole)),
        ...changes,
    };
}

function call(command: CniCommand, args = argsOf(), signal = new AbortController().signal): Promise<Uint8Array> {
    return calls.call(command, args, signal);
}

async function callJson(command: CniCommand, args = argsOf()): Promise<Record<string, unknown>> {
    return JSON.parse(new TextDecoder().decode(await call(command, args))) as Record<string, unknown>;
}

async function errorOf(command: CniCommand, args = argsOf(), signal?: AbortSignal): Promise<CniCallError> {
    const error: unknown = await call(command, args, signal).then(
        () => undefined,
        (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CniCallError);
    return error as CniCallError;
}

describe("ADD", () => {
    it("hands on who asks for what, and when", async () => {
        await call("add");
        expect(backend.adds).toEqual([
            {
                containerId: "c1",
                ifName: "eth0",
                netns: "/var/run/netns/cni-1",
                podNamespace: "default",
                podName: "web-0",
                podUid: "uid-0",
                network: "antrea",
                receivedAt: 4711,
            },
        ]);
    });

    it("without a UID leaves it to the backend", async () => {
        await call("add", argsOf({}, { args: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0" }));
        expect(backend.adds[0]?.podUid).toBe("");
    });

    it.each(supportedVersions)("answers in the form of %s", async (version) => {
        const old = !["1.0.0", "1.1.0"].includes(version);
        const ip = (family: string): object => (old ? { version: family } : {});
        expect(await callJson("add", argsOf({ cniVersion: version, dns: { nameservers: ["10.96.0.10"] } }))).toEqual({
            cniVersion: version,
            interfaces: [
                { name: "web-0-abcdef" },
                { name: "eth0", mac: "0a:58:0a:0a:01:02", sandbox: "/var/run/netns/cni-1" },
            ],
            ips: [
                { ...ip("4"), address: "10.10.1.2/24", gateway: "10.10.1.1", interface: 1 },
                { ...ip("6"), address: "fd10:10:0:1::2/64", gateway: "fd10:10:0:1::1", interface: 1 },
            ],
            routes: [
                { dst: "0.0.0.0/0", gw: "10.10.1.1" },
                { dst: "::/0", gw: "fd10:10:0:1::1" },
            ],
            dns: { nameservers: ["10.96.0.10"] },
        });
    });

    it("asked again gives the same bytes", async () => {
        expect(await call("add")).toEqual(await call("add"));
    });

    it("waits for the network, and is served as soon as it is there", async () => {
        const readied = Promise.withResolvers<void>();
        backend.ready = () => readied.promise;
        const answer = call("add");
        expect(backend.adds).toEqual([]);
        readied.resolve();
        await answer;
        expect(backend.adds).toHaveLength(1);
    });

    it("that gives up waiting is informed what is missing, and nothing was begun", async () => {
        backend.problem = "ovs-vswitchd is not connected";
        const error = await errorOf("add", argsOf(), AbortSignal.timeout(20));
        expect(error.cniCode).toBe(11);
        expect(error.message).toContain("ovs-vswitchd is not connected");
        expect(backend.adds).toEqual([]);
    });
});

describe("DEL", () => {
    it("removes, again and again, and answers nothing", async () => {
        await call("add");
        expect(await call("del")).toEqual(new Uint8Array());
        expect(backend.wired.size).toBe(0);
        expect(await call("del")).toEqual(new Uint8Array());
    });

    it("needs neither a namespace nor a Pod's name nor a network that is ready", async () => {
        await call("add");
        backend.problem = "everything is missing";
        await call("del", argsOf({}, { netns: "", args: "" }));
        expect(backend.wired.size).toBe(0);
    });

    it("does not stumble over a prevResult that breaks a rule", async () => {
        await call("add");
        await call("del", argsOf({ prevResult: { cniVersion: "1.1.0", ips: [{ address: "nonsense" }] } }));
        expect(backend.wired.size).toBe(0);
    });
});

describe("CHECK", () => {
    it("hands on namespace and prevResult", async () => {
        const prevResult = await callJson("add");
        await call("check", argsOf({ prevResult }));
        const [request] = backend.checks;
        expect(request).toMatchObject({ containerId: "c1", ifName: "eth0", netns: "/var/run/netns/cni-1" });
        expect(request?.previous?.map(({ ip, prefixLength }) => `${formatIp(ip)}/${prefixLength}`)).toEqual([
            "10.10.1.2/24",
            "fd10:10:0:1::2/64",
        ]);
    });

    it("without prevResult hands on that there is none", async () => {
        expect(await call("check")).toEqual(new Uint8Array());
        expect(backend.checks[0]?.previous).toBeUndefined();
    });
});

describe("GC", () => {
    const valid = (...ids: readonly string[]): object => ({
        "cni.dev/valid-attachments": ids.map((containerID) => ({ containerID, ifname: "eth0" })),
    });

    it("removes what is not in the list", async () => {
        for (const containerId of ["c1", "c2", "c3"]) await call("add", argsOf({}, { containerId }));
        expect(await call("gc", argsOf(valid("c1", "c3"), { containerId: "", ifname: "" }))).toEqual(new Uint8Array());
        expect([...backend.wired.keys()]).toEqual(["c1 eth0", "c3 eth0"]);
        expect(backend.collects[0]?.receivedAt).toBe(4711);
    });

    it("an empty list is a list", async () => {
        await call("add");
        await call("gc", argsOf(valid()));
        expect(backend.wired.size).toBe(0);
    });

    it("without a list is refused: all would be garbage", async () => {
        await call("add");
        for (const name of ["antrea", "storage"]) {
            expect(await errorOf("gc", argsOf({ name }))).toMatchObject({
                cniCode: 7,
                message: expect.stringContaining("valid-attachments"),
            });
        }
        expect(backend.wired.size).toBe(1);
    });

    it("removes what is of its own network, whatever that is called, and nothing of another", async () => {
        await call("add");
        await call("add", argsOf({ name: "storage" }, { containerId: "c2" }));
        await call("gc", argsOf({ ...valid(), name: "backup" }));
        expect([...backend.wired.keys()]).toEqual(["c1 eth0", "c2 eth0"]);
        await call("gc", argsOf({ ...valid("c1") }));
        expect([...backend.wired.keys()]).toEqual(["c1 eth0", "c2 eth0"]);
        await call("gc", argsOf({ ...valid(), name: "storage" }));
        expect([...backend.wired.keys()]).toEqual(["c1 eth0"]);
    });
});

describe("STATUS", () => {
    it("succeeds, or reports what is missing", async () => {
        expect(await call("status")).toEqual(new Uint8Array());
        backend.problem = "the Node's podCIDRs are not known";
        expect(await errorOf("status")).toMatchObject({
            cniCode: 50,
            message: expect.stringContaining("the Node's podCIDRs are not known"),
        });
    });
});

it("each call is counted by its outcome", async () => {
    await call("add");
    backend.failure = { of: "check", error: new CheckError("ROUTE", "environment", "no default route") };
    await errorOf("check");
    expect(observed).toEqual(["add OK 0", "check CHECK_INTERFACE_FAILURE 0"]);
});

describe("the log of a call that failed", () => {
    const logged = async (command: CniCommand, args: CniCmdArgs, error: unknown): Promise<unknown> => {
        const log = new MemoryLog();
        const logging = new CniCalls({ backend, logger: log.logger, now: () => 0, observe: () => undefined });
        backend.failure = { of: command === "add" ? "add" : command === "del" ? "delete" : "check", error };
        await expect(logging.call(command, args, new AbortController().signal)).rejects.toThrow();
        return log.records.at(-1);
    };
    const full = new NodeSubnetError("EXHAUSTED", "environment", "all 253 are in use");

    it.each<CniCommand>(["add", "check", "del"])("names the Pod of %s, its container and why", async (command) => {
        expect(await logged(command, argsOf(), full)).toMatchObject({
            level: "warn",
            msg: "CNI call failed",
            command,
            pod: "default/web-0",
            container: "c1",
            error: { message: "all 253 are in use" },
        });
    });

    it("names it also when the caller went away", async () => {
        const gone = new PodNetworkError("CANCELLED", "aborted", "cancelled");
        expect(await logged("add", argsOf(), gone)).toMatchObject({ level: "info", pod: "default/web-0" });
    });

    it.each([
        ["has no Pod", ""],
        ["has no Namespace", "K8S_POD_NAME=web-0"],
        ["has arguments that are none", "x"],
    ])("names none when the call %s", async (_, args) => {
        const record = await logged("del", argsOf({}, { args }), full);
        expect(record).toMatchObject({ msg: "CNI call failed", container: "c1" });
        expect(record).not.toHaveProperty("pod");
    });
});

describe("errors of the caller", () => {
    const bytes = (text: string): Partial<CniCmdArgs> => ({ networkConfiguration: new TextEncoder().encode(text) });

    it.each<[string, number, CniCmdArgs, string]>([
        ["no configuration", ErrorCode.DECODING_FAILURE, argsOf({}, bytes("")), "empty"],
        ["no JSON", ErrorCode.DECODING_FAILURE, argsOf({}, bytes("{")), "not valid JSON"],
        ["a version of the future", ErrorCode.INCOMPATIBLE_CNI_VERSION, argsOf({ cniVersion: "9.0.0" }), "9.0.0"],
        ["a version of the past", ErrorCode.INCOMPATIBLE_CNI_VERSION, argsOf({ cniVersion: "0.2.0" }), "0.2.0"],
        ["no name", ErrorCode.INVALID_NETWORK_CONFIG, argsOf({ name: "" }), "name"],
        ["a wrong MTU", ErrorCode.INVALID_NETWORK_CONFIG, argsOf({ mtu: 12 }), "mtu"],
        ["no Pod", ErrorCode.INVALID_ENVIRONMENT_VARIABLES, argsOf({}, { args: "" }), "K8S_POD_NAME"],
        [
            "no Namespace",
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            argsOf({}, { args: "K8S_POD_NAME=web-0" }),
            "K8S_POD_NAMESPACE",
        ],
        ["arguments that are none", ErrorCode.INVALID_ENVIRONMENT_VARIABLES, argsOf({}, { args: "x" }), "CNI_ARGS"],
        [
            "no container id",
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            argsOf({}, { containerId: "" }),
            "CNI_CONTAINERID",
        ],
        [
            "a container id with a blank",
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            argsOf({}, { containerId: "a b" }),
            "CNI_CONTAINERID",
        ],
        [
            "a container id too long for a record",
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            argsOf({}, { containerId: "c".repeat(97) }),
            "96",
        ],
        ["no interface name", ErrorCode.INVALID_ENVIRONMENT_VARIABLES, argsOf({}, { ifname: "" }), "CNI_IFNAME"],
        [
            "a long interface name",
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            argsOf({}, { ifname: "i".repeat(16) }),
            "CNI_IFNAME",
        ],
        ["no namespace path", ErrorCode.INVALID_ENVIRONMENT_VARIABLES, argsOf({}, { netns: "" }), "CNI_NETNS"],
        [
            "a namespace path that is not absolute",
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            argsOf({}, { netns: "t2" }),
            'CNI_NETNS: "t2" must be an absolute path, like /var/run/netns/cni-1 or /proc/4711/ns/net',
        ],
    ])("ADD with %s is %i", async (_, cniCode, args, words) => {
        const error = await errorOf("add", args);
        expect(error).toMatchObject({ cniCode, fault: "caller" });
        expect(error.message).toContain(words);
        expect(backend.adds).toEqual([]);
    });

    it.each<[CniCommand, string]>([
        ["check", "0.3.1"],
        ["gc", "1.0.0"],
        ["status", "1.0.0"],
    ])("%s does not exist in %s", async (command, cniVersion) => {
        expect(await errorOf(command, argsOf({ cniVersion }))).toMatchObject({ cniCode: 1 });
    });

    it("CHECK refuses a namespace path that is not absolute, DEL does not check it", async () => {
        const args = argsOf({}, { netns: "../netns/t2" });
        const error = await errorOf("check", args);
        expect(error.cniCode).toBe(4);
        expect(error.message).toContain('CNI_NETNS: "../netns/t2" must be an absolute path');
        expect(backend.checks).toEqual([]);
        await call("add");
        await call("del", args);
        expect(backend.wired.size).toBe(0);
    });

    it("CHECK refuses a prevResult that breaks a rule", async () => {
        const prevResult = { cniVersion: "1.1.0", ips: [{ address: "nonsense" }] };
        expect(await errorOf("check", argsOf({ prevResult }))).toMatchObject({ cniCode: 7 });
    });
});

describe("configurations of networks that are not served", () => {
    const ipamOf = (...ippools: readonly string[]): object => ({ type: "antrea", ippools });

    // As NetworkAttachmentDefinitions have them; the names come from Multus.
    const configurations: readonly (readonly [string, object, string, string])[] = [
        [
            "a plugin that takes its addresses from Antrea, while there are no pools",
            {
                cniVersion: "0.3.0",
                name: "ipv4-net-1",
                type: "macvlan",
                master: "eth0",
                mode: "bridge",
                ipam: ipamOf("ipv4-pool-1"),
            },
            'ipam.type: "antrea"',
            "featureGates.AntreaIPAM=true",
        ],
        [
            "one with addresses, routes and DNS beside the pool",
            {
                cniVersion: "0.3.0",
                name: "pool-and-static-net-1",
                type: "bridge",
                bridge: "br0",
                ipam: {
                    ...ipamOf("ipv4-pool-1"),
                    addresses: [{ address: "10.10.0.1/24", gateway: "10.10.0.254" }],
                    routes: [{ dst: "0.0.0.0/0" }, { dst: "192.168.0.0/16", gw: "10.10.5.1" }],
                    dns: { nameservers: ["8.8.8.8"], domain: "example.com", search: ["example.com"] },
                },
            },
            'ipam.type: "antrea"',
            "featureGates.AntreaIPAM=true",
        ],
        [
            "a VLAN",
            {
                cniVersion: "0.3.0",
                name: "vlan100",
                type: "antrea",
                networkType: "vlan",
                mtu: 1500,
                vlan: 100,
                ipam: ipamOf("vlan100-ipv4", "vlan100-ipv6"),
            },
            'networkType: "vlan"',
            "NetworkAttachmentDefinition",
        ],
        [
            "SR-IOV",
            {
                cniVersion: "0.3.0",
                name: "sriov-net-a",
                type: "antrea",
                networkType: "sriov",
                ipam: ipamOf("sriov-ipv4"),
            },
            'networkType: "sriov"',
            "NetworkAttachmentDefinition",
        ],
        [
            "a network type that is no text",
            { cniVersion: "1.0.0", name: "x", networkType: 5 },
            "networkType: 5",
            "NetworkAttachmentDefinition",
        ],
        [
            "pools in the configuration of the Pod network",
            { cniVersion: "1.0.0", ipam: ipamOf("pool1") },
            'ipam.type: "antrea"',
            "ipam.antrea.io/ippools",
        ],
        [
            "addresses by another plugin",
            { cniVersion: "1.0.0", ipam: { type: "whereabouts", range: "10.0.0.0/24" } },
            'ipam.type: "whereabouts"',
            "remove ipam",
        ],
        ["another plugin", { cniVersion: "1.0.0", name: "x", type: "bridge" }, 'type: "bridge"', 'type "antrea"'],
    ];

    it.each(configurations)("ADD of %s is refused, and nothing is made", async (_, config, keyAndValue, next) => {
        const error = await errorOf("add", argsOf(config, { ifname: "net1" }));
        expect(error).toMatchObject({ cniCode: ErrorCode.UNSUPPORTED_FIELD, fault: "caller" });
        expect(error.message).toContain(`${keyAndValue} is not served`);
        expect(error.message).toMatch(new RegExp(`next: .*${next}`));
        expect(backend.adds).toEqual([]);
        expect(backend.wired.size).toBe(0);
        const part =
            keyAndValue.startsWith("ipam.type") && error.message.startsWith("network ") ? "addresses" : "interface";
        expect(refused).toEqual([`default/web-0 uid-0 net1 ${part}: ${error.message}`]);
    });

    it("an ADD that is refused without a Pod is the error of the call alone", async () => {
        for (const args of ["", "K8S_POD_NAME=web-0", "no pair"])
            await errorOf("add", argsOf({ type: "bridge", name: "x" }, { args }));
        expect(refused).toEqual([]);
    });

    it.each(configurations)("DEL of %s succeeds, and deletes what an earlier version made", async (_, config) => {
        await call("add", argsOf({}, { ifname: "net1" }));
        expect(await call("del", argsOf(config, { ifname: "net1" }))).toEqual(new Uint8Array());
        expect(await call("del", argsOf(config, { ifname: "net1" }))).toEqual(new Uint8Array());
        expect(backend.wired.size).toBe(0);
    });

    it.each(configurations)("GC of %s succeeds and deletes nothing", async (_, config) => {
        await call("add");
        const asked = { ...config, cniVersion: "1.1.0", name: "antrea", "cni.dev/valid-attachments": [] };
        expect(await call("gc", argsOf(asked))).toEqual(new Uint8Array());
        expect(backend.wired.size).toBe(1);
    });

    it.each(configurations)("CHECK and STATUS of %s say the same as ADD", async (_, config, keyAndValue) => {
        for (const command of ["check", "status"] as const) {
            const error = await errorOf(command, argsOf({ ...config, cniVersion: "1.1.0" }));
            expect(error).toMatchObject({ cniCode: ErrorCode.UNSUPPORTED_FIELD });
            expect(error.message).toContain(keyAndValue);
        }
        expect([backend.checks, refused]).toEqual([[], []]);
    });

    it("the Pod network as Antrea has written it, with host-local, is served: the Node's subnet is what it means", async () => {
        await call("add", argsOf({ cniVersion: "0.3.0", ipam: { type: "host-local" } }));
        expect(backend.adds).toHaveLength(1);
    });
});

describe("errors of the work", () => {
    it.each<[string, number, unknown]>([
        ["no address is left", 101, new NodeSubnetError("EXHAUSTED", "environment", "all 253 are in use")],
        ["there is no podCIDR", 101, new NodeSubnetError("NO_SUBNET", "environment", "no podCIDR")],
        ["the Node is gone", 11, new NodeConfigError("SUBNET_LOST", "environment", "no Node")],
        ["OVS does not answer", 11, new AntreaError("TIMEOUT", "timeout", "no answer")],
        ["the caller went away", 11, new PodNetworkError("CANCELLED", "aborted", "cancelled")],
        ["the container was deleted", 102, new PodNetworkError("DELETED_MEANWHILE", "caller", "deleted")],
        ["the kernel refused", 102, new AntreaError("EPERM", "environment", "not permitted")],
        ["OVS refuses the flows", 102, new OpenFlowError("REFUSED", "caller", "no")],
        ["the database refuses the port", 102, new OvsdbError("REFUSED", "remote", "no")],
        ["OVS goes away", 11, new OpenFlowError("DISCONNECTED", "environment", "gone")],
        ["OVS does not read", 11, new OpenFlowError("BUFFER_FULL", "environment", "full")],
        ["the database goes away", 11, new OvsdbError("OUTCOME_UNKNOWN", "environment", "gone")],
        ["something of ours has a code of the same name", 102, new AntreaError("EXHAUSTED", "environment", "no")],
        ["another owner has the address", 101, new NodeSubnetError("TAKEN", "environment", "taken")],
        ["allocations are not known yet", 11, new NodeSubnetError("ALLOCATIONS_UNKNOWN", "environment", "not known")],
        ["a defect", 102, new TypeError("x is not a function")],
    ])("ADD when %s is %i", async (_, cniCode, error) => {
        backend.failure = { of: "add", error };
        const thrown = await errorOf("add");
        expect(thrown).toMatchObject({ cniCode, message: (error as Error).message });
        expect(toCniError(thrown)).toMatchObject({ code: cniCode, message: (error as Error).message });
    });

    // By hand, each on its own: 101 is for whoever looks after the pools, 11 for nobody.
    const poolErrors: Readonly<Record<IpPoolErrorCode, number>> = {
        EXHAUSTED: 101,
        NO_POOL: 101,
        POOL_DELETED: 101,
        BAD_ANNOTATION: 101,
        NOT_IN_POOL: 101,
        ADDRESS_HELD: 101,
        NOT_RESERVED: 11,
        HELD_ON_OTHER_NODE: 101,
        VLAN_CONFLICT: 101,
        POOL_CHANGED: 11,
        POD_GONE: 11,
        POD_UNKNOWN: 11,
        NODE_GONE: 11,
        DELETED_MEANWHILE: 101,
        API_AWAY: 11,
        REFUSED: 101,
    };

    it.each(Object.entries(poolErrors))("ADD when IPPools say %s is %i", async (code, cniCode) => {
        backend.failure = { of: "add", error: new IpPoolError(code as IpPoolErrorCode, "why") };
        expect(await errorOf("add")).toMatchObject({ cniCode, message: "why" });
        const name = Object.entries(ErrorCode).find(([, code]) => code === cniCode)?.[0];
        expect(observed).toEqual([`add ${name} 0`]);
    });

    it("ADD reports the causes too", async () => {
        const cause = new AntreaError("EEXIST", "environment", "File exists");
        backend.failure = { of: "add", error: new AntreaError("X", "environment", "no veth pair", { cause }) };
        expect((await errorOf("add")).message).toBe("no veth pair: File exists");
    });

    it("CHECK reports what is wrong with 103, whatever it is", async () => {
        backend.failure = { of: "check", error: new CheckError("ROUTE", "environment", "no default route") };
        expect(await errorOf("check")).toMatchObject({ cniCode: 103, message: "no default route" });
        backend.failure = { of: "check", error: new AntreaError("TIMEOUT", "timeout", "OVS is silent") };
        expect(await errorOf("check")).toMatchObject({ cniCode: 103 });
    });

    it.each<[CniCommand, "delete" | "collect", number]>([
        ["del", "delete", 102],
        ["gc", "collect", 102],
    ])("%s fails with its own code", async (command, of, cniCode) => {
        backend.failure = { of, error: new AntreaError("X", "environment", "broken") };
        const args = command === "gc" ? argsOf({ "cni.dev/valid-attachments": [] }) : argsOf();
        expect(await errorOf(command, args)).toMatchObject({ cniCode, message: "broken" });
    });
});
