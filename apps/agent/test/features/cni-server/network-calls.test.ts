import { beforeEach, describe, expect, it } from "@jest/globals";
import { CniCallError, ErrorCode, type CniCmdArgs } from "@antrea/cni";
import { CniCalls } from "../../../src/features/cni-server/index.ts";
import type { NetworkBackend } from "../../../src/features/cni-server/network-calls.ts";
import type { Attachment, NetworkCall, NetworkRecord } from "../../../src/platform/pod-interfaces/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { networkRecord } from "../../support/records.ts";
import { FakeBackend } from "./fake-backend.ts";

class FakeNetworks implements NetworkBackend {
    readonly adds: NetworkCall[] = [];
    readonly deleted: string[] = [];

    add(call: NetworkCall): Promise<NetworkRecord> {
        this.adds.push(call);
        const { containerId, ifName, netns, podName, podNamespace, podUid } = call;
        const attachment = { containerId, ifName, netns, podName, podNamespace, podUid };
        return Promise.resolve(networkRecord({ ...attachment, network: call.asked.network }));
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

function argsOf(changes: Partial<CniCmdArgs> = {}): CniCmdArgs {
    const whole = { cniVersion: "1.0.0", name: "red", type: "antrea", networkType: "vlan", vlan: 100 };
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

    it.each<[string, Partial<CniCmdArgs>, number, RegExp]>([
        [
            "without Pod",
            { args: "IgnoreUnknown=1" },
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            /^CNI_ARGS: K8S_POD_NAME and K8S_POD_NAMESPACE are needed; antrea wires Kubernetes Pods only$/,
        ],
        [
            "as eth0",
            { ifname: "eth0" },
            ErrorCode.INVALID_ENVIRONMENT_VARIABLES,
            /CNI_IFNAME: eth0 is the name of an interface that every Pod has; next: /,
        ],
    ])("is refused %s, before anything is made; its DEL is not", async (_, changes, cniCode, message) => {
        const { signal } = new AbortController();
        const refused = calls.call("add", argsOf(changes), signal);
        await expect(refused).rejects.toThrow(CniCallError);
        await expect(refused).rejects.toMatchObject({ cniCode, message: expect.stringMatching(message) });
        expect(networks.adds).toEqual([]);
        await calls.call("del", argsOf(changes), signal);
        expect(networks.deleted).toEqual([`c1 ${changes.ifname ?? "net1"}`]);
    });
});
