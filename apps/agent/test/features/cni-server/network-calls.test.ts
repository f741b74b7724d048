import { beforeEach, describe, expect, it } from "@jest/globals";
import { CniCallError, ErrorCode, type CniCmdArgs } from "@antrea/cni";
import { messageOf } from "@antrea/errors";
import { CniCalls } from "../../../src/features/cni-server/index.ts";
import type { NetworkBackend } from "../../../src/features/cni-server/network-calls.ts";
import type { AddRequest, Attachment, NetworkCall, NetworkRecord } from "../../../src/platform/pod-interfaces/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { networkRecord } from "../../support/records.ts";
import { FakeBackend } from "./fake-backend.ts";

class FakeNetworks implements NetworkBackend {
    readonly adds: NetworkCall[] = [];
    readonly refusals: string[] = [];
    readonly deleted: string[] = [];

    add(call: NetworkCall): Promise<NetworkRecord> {
        this.adds.push(call);
        const { containerId, ifName, netns, podName, podNamespace, podUid } = call;
        const attachment = { containerId, ifName, netns, podName, podNamespace, podUid };
        return Promise.resolve(networkRecord({ ...attachment, network: call.asked.network }));
    }

    refused({ podName, podUid }: AddRequest, error: unknown): void {
        this.refusals.push(`${podName} ${podUid} ${messageOf(error)}`);
    }

    delete({ containerId, ifName }: Attachment): Promise<void> {
        return Promise.resolve(void this.deleted.push(`${containerId} ${ifName}`));
    }

    check(): Promise<void> {
        return Promise.resolve();
    }

    collect(): Promise<number> {
        return Promise.resolve(0);
    }
}

let networks: FakeNetworks;
let calls: CniCalls;

beforeEach(() => {
    networks = new FakeNetworks();
    const backend = Object.assign(new FakeBackend(), { networks });
    calls = new CniCalls({ backend, logger: silentLogger, now: () => 4711, observe: () => undefined });
});

const podArgs = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_UID=uid-0";

function argsOf(changes: Partial<CniCmdArgs> = {}, config: object = {}): CniCmdArgs {
    const whole = { cniVersion: "1.0.0", name: "red", type: "antrea", networkType: "vlan", vlan: 100, ...config };
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

describe("a call of a meta plugin for an interface on a network", () => {
    it("is handed on with the network, which is of the Pod's Namespace, and answered with the interface", async () => {
        const answer = await calls.call("add", argsOf(), new AbortController().signal);
        expect(JSON.parse(new TextDecoder().decode(answer))).toMatchObject({
            interfaces: [{ name: "web-0-fedcba" }, { name: "net1", mac: "0a:58:c0:a8:64:05" }],
        });
        expect(networks.adds).toMatchObject([{ ifName: "net1", podName: "web-0", asked: { network: "default/red" } }]);
    });

    it.each<[string, Partial<CniCmdArgs>, object, number, RegExp]>([
        [
            "without Pod",
            { args: "IgnoreUnknown=1" },
            {},
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            /^network red: CNI_ARGS: K8S_POD_NAME and K8S_POD_NAMESPACE are needed; .*; next: correct what the /,
        ],
        [
            "as eth0",
            { ifname: "eth0" },
            {},
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            /^network default\/red: CNI_IFNAME: eth0 is the name of an interface that every Pod has; next: /,
        ],
        [
            "with a requested address that is none",
            {},
            { runtimeConfig: { ips: ["x"] } },
            ErrorCode.INVALID_NETWORK_CONFIG,
            /^network default\/red: runtimeConfig\.ips: "x" is refused: .*; next: correct the Pod's annotation /,
        ],
        [
            "with a MAC address that is none",
            {},
            { runtimeConfig: { mac: 7 } },
            ErrorCode.INVALID_NETWORK_CONFIG,
            /^network default\/red: runtimeConfig\.mac: 7 must be a string; next: write a MAC address, as \S+$/,
        ],
    ])(
        "is refused %s, before anything is made, with an event; its DEL is not",
        async (_, changes, config, cniCode, message) => {
            const { signal } = new AbortController();
            const refused = calls.call("add", argsOf(changes, config), signal);
            await expect(refused).rejects.toThrow(CniCallError);
            await expect(refused).rejects.toMatchObject({ cniCode, message: expect.stringMatching(message) });
            expect(networks.adds).toEqual([]);
            // Without Pod there is nothing that could have an event.
            const events =
                changes.args === undefined ? [expect.stringMatching(/^web-0 uid-0 network default\/red: /)] : [];
            expect(networks.refusals).toEqual(events);
            await calls.call("del", argsOf(changes), signal);
            expect(networks.deleted).toEqual([`c1 ${changes.ifname ?? "net1"}`]);
        },
    );

    it("is an event too if the network breaks a rule", async () => {
        const refused = calls.call("add", argsOf({}, { vlan: 5000 }), new AbortController().signal);
        await expect(refused).rejects.toMatchObject({
            message: expect.stringMatching(/^network default\/red: vlan: /),
        });
        expect(networks.refusals).toEqual([
            expect.stringMatching(/^web-0 uid-0 network default\/red: vlan: 5000 .*; next: /),
        ]);
    });
});
