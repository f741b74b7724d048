import { beforeEach, describe, expect, it } from "@jest/globals";
import { CniCallError, ErrorCode, type CniCmdArgs } from "@antrea/cni";
import { messageOf } from "@antrea/errors";
import { formatIp, parseIp } from "@antrea/ip";
import { type StaticAddress } from "@antrea/networks";
import type { AddressAdd, AddressBackend } from "../../../src/features/cni-server/address-calls.ts";
import { CniCalls, type CniCommand } from "../../../src/features/cni-server/index.ts";
import type { Attachment, PodAttachment } from "../../../src/platform/pod-interfaces/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeBackend } from "./fake-backend.ts";

class FakeAddresses implements AddressBackend {
    readonly adds: AddressAdd[] = [];
    readonly refusals: string[] = [];
    readonly deleted: string[] = [];
    readonly checked: string[] = [];
    readonly collected: unknown[] = [];
    given: readonly StaticAddress[] = [
        { ip: parseIp("10.2.0.9"), prefixLength: 24, gateway: parseIp("10.2.0.1") },
        { ip: parseIp("fd02::9"), prefixLength: 64, gateway: undefined },
    ];

    add(call: AddressAdd): Promise<readonly StaticAddress[]> {
        this.adds.push(call);
        return Promise.resolve(this.given);
    }

    refused({ podName, podUid }: PodAttachment, error: unknown): void {
        this.refusals.push(`${podName} ${podUid} ${messageOf(error)}`);
    }

    delete({ containerId, ifName }: Attachment): Promise<void> {
        return Promise.resolve(void this.deleted.push(`${containerId} ${ifName}`));
    }

    check({ network }: { readonly network: string }, previous: Parameters<AddressBackend["check"]>[1]): Promise<void> {
        return Promise.resolve(void this.checked.push(`${network} ${previous?.map(({ ip }) => formatIp(ip)).join()}`));
    }

    collect(...asked: Parameters<AddressBackend["collect"]>): Promise<number> {
        this.collected.push(asked);
        return Promise.resolve(0);
    }
}

let backend: FakeBackend & { addresses?: AddressBackend };
let addresses: FakeAddresses;
let calls: CniCalls;

beforeEach(() => {
    addresses = new FakeAddresses();
    backend = Object.assign(new FakeBackend(), { addresses });
    calls = new CniCalls({ backend, logger: silentLogger, now: () => 4711, observe: () => undefined });
});

const podArgs = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_UID=uid-0";

function argsOf(config: object = {}, changes: Partial<CniCmdArgs> = {}): CniCmdArgs {
    const ipam = { type: "antrea", ippools: ["pool1"] };
    const whole = { cniVersion: "1.1.0", name: "macnet", type: "macvlan", master: "eth0", ipam, ...config };
    return {
        containerId: "c1",
        netns: "/var/run/netns/cni-1",
        ifname: "net1",
        args: podArgs,
        path: "/opt/cni/bin",
        networkConfiguration: new TextEncoder().encode(JSON.stringify(whole)),
        ...changes,
    };
}

async function answer(command: CniCommand, args = argsOf()): Promise<unknown> {
    const bytes = await calls.call(command, args, new AbortController().signal);
    return bytes.length === 0 ? undefined : (JSON.parse(new TextDecoder().decode(bytes)) as unknown);
}

const refusal = async (command: CniCommand, args?: CniCmdArgs): Promise<CniCallError> =>
    answer(command, args).then(
        () => new CniCallError("UNKNOWN", "internal", "it was not refused"),
        (error: unknown) => error as CniCallError,
    );

describe("a call for the addresses of an interface that another plugin makes", () => {
    it("gets them with routes and DNS of the section, and no default route or interface is added", async () => {
        const ipam = {
            type: "antrea",
            ippools: ["pool1"],
            addresses: [{ address: "192.0.2.9/24" }],
            routes: [{ dst: "192.168.0.0/16", gw: "10.10.5.1" }],
            dns: { nameservers: ["8.8.8.8"] },
        };
        expect(await answer("add", argsOf({ cniVersion: "0.3.0", ipam }))).toEqual({
            cniVersion: "0.3.0",
            ips: [
                { version: "4", address: "10.2.0.9/24", gateway: "10.2.0.1" },
                { version: "6", address: "fd02::9/64" },
            ],
            routes: [{ dst: "192.168.0.0/16", gw: "10.10.5.1" }],
            dns: { nameservers: ["8.8.8.8"] },
        });
        expect(addresses.adds).toMatchObject([
            {
                containerId: "c1",
                ifName: "net1",
                podNamespace: "default",
                podName: "web-0",
                podUid: "uid-0",
                network: "macnet",
                type: "macvlan",
                section: { ippools: ["pool1"] },
                wanted: { source: "ipam.addresses", addresses: [{ ip: parseIp("192.0.2.9") }] },
            },
        ]);
        expect(backend.adds).toEqual([]);
    });

    it("asks for what the runtime requests", async () => {
        await answer("add", argsOf({ runtimeConfig: { ips: ["10.2.0.7/24"] } }));
        await answer("add", argsOf({}, { args: `${podArgs};IP=10.2.0.8` }));
        expect(addresses.adds.map(({ wanted }) => [wanted.source, formatIp(wanted.addresses[0]!.ip)])).toEqual([
            ["runtimeConfig.ips", "10.2.0.7"],
            ["CNI_ARGS", "10.2.0.8"],
        ]);
    });

    it("is handed on as DEL, CHECK and GC, with the network", async () => {
        expect(await answer("del")).toBeUndefined();
        const prevResult = { cniVersion: "1.1.0", ips: [{ address: "10.2.0.9/24" }] };
        await answer("check", argsOf({ prevResult }));
        const valid = [{ containerID: "c1", ifname: "net1" }];
        await answer("gc", argsOf({ "cni.dev/valid-attachments": valid }));
        expect(await answer("status")).toBeUndefined();
        expect(addresses.deleted).toEqual(["c1 net1"]);
        expect(addresses.checked).toEqual(["macnet 10.2.0.9"]);
        expect(addresses.collected).toEqual([["macnet", [{ containerId: "c1", ifName: "net1" }], 4711]]);
        expect([backend.checks, backend.collects]).toEqual([[], []]);
    });

    it.each<[string, object, Partial<CniCmdArgs>, number, RegExp]>([
        [
            "without Pod",
            {},
            { args: "IgnoreUnknown=1" },
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            /^CNI_ARGS: K8S_POD_NAME and K8S_POD_NAMESPACE are needed; .*; next: correct what the container runtime or /,
        ],
        [
            "with an address that is none",
            { ipam: { type: "antrea", addresses: [{ address: "10.2.0.300/24" }] } },
            {},
            ErrorCode.INVALID_NETWORK_CONFIG,
            /^ipam\.addresses\[0\].*; next: correct spec\.config of the NetworkAttachmentDefinition$/,
        ],
        [
            "with a pool twice",
            { ipam: { type: "antrea", ippools: ["a", "a"] } },
            {},
            ErrorCode.INVALID_NETWORK_CONFIG,
            /^ipam\.ippools: .* names "a" twice; next: correct spec\.config of the NetworkAttachmentDefinition$/,
        ],
        [
            "with a requested address that is none",
            { args: { cni: { ips: ["x"] } } },
            {},
            ErrorCode.INVALID_NETWORK_CONFIG,
            /^args\.cni\.ips: "x" is refused: .*; next: correct the Pod's annotation k8s\.v1\.cni\.cncf\.io\/networks$/,
        ],
        [
            "with an address in CNI_ARGS that is none",
            {},
            { args: `${podArgs};IP=10.2.0.300` },
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            /^CNI_ARGS\.IP: "10\.2\.0\.300" is refused: .*; next: correct what the container runtime or the meta plugin /,
        ],
    ])(
        "is refused %s, before anything is asked, with an event; its DEL is not",
        async (_, config, changes, cniCode, text) => {
            const error = await refusal("add", argsOf(config, changes));
            expect(error.cniCode).toBe(cniCode);
            const [, place, rest] = /^(network \S+, interface \S+): (.*)$/.exec(error.message) ?? [];
            expect([place, rest]).toEqual(["network macnet, interface net1", expect.stringMatching(text)]);
            expect(addresses.adds).toEqual([]);
            // Without Pod there is nothing that could have an event.
            const hasPod = changes.args !== "IgnoreUnknown=1";
            expect(addresses.refusals).toEqual(hasPod ? [`web-0 uid-0 ${error.message}`] : []);
            expect(await answer("del", argsOf(config, changes))).toBeUndefined();
            expect(addresses.deleted).toEqual(["c1 net1"]);
        },
    );

    it("waits until the Node is ready, and STATUS reports that it is not", async () => {
        backend.problem = "OVS is away";
        expect((await refusal("status")).message).toContain("OVS is away");
        expect(await answer("del")).toBeUndefined();
    });
});
