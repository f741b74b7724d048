import { beforeEach, describe, expect, it } from "@jest/globals";
import { KubeError, type EventInput, type Pod } from "@antrea/kube";
import { noPools } from "../../../src/features/cni-server/address-calls.ts";
import { noNetworks } from "../../../src/features/cni-server/network-calls.ts";
import { RefusedAdds } from "../../../src/features/cni-server/refused-adds.ts";
import { silentLogger } from "../../support/logger.ts";

const asked = { containerId: "c1", ifName: "net1", podNamespace: "default", podName: "web", podUid: "hash" };
const object = { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web" };

let recorded: EventInput[];
let answer: () => Promise<Pod | undefined>;
let adds: RefusedAdds;

const podOf = (uid: string, annotations: Readonly<Record<string, string>> = {}): Pod => ({
    metadata: { namespace: "default", name: "web", uid, annotations },
    spec: { containers: [] },
});

beforeEach(() => {
    recorded = [];
    answer = () => Promise.resolve(podOf("hash"));
    adds = new RefusedAdds({
        kube: { api: { find: (() => answer()) as never } },
        events: { record: (event) => void recorded.push(event) },
        logger: silentLogger,
    });
});

describe("an ADD that is refused by its configuration", () => {
    it("is one event on the Pod with the text of the error: for addresses, and for an interface", async () => {
        await adds.report(asked, noPools("macnet"), "addresses");
        await adds.report(asked, noNetworks("red", "vlan"), "interface");
        const regarding = { ...object, uid: "hash" };
        expect(recorded).toEqual([
            {
                type: "Warning",
                reason: "IPAllocationFailed",
                action: "AllocateIP",
                regarding,
                note: noPools("macnet").message,
            },
            {
                type: "Warning",
                reason: "NetworksNotAttached",
                action: "AttachNetworks",
                regarding,
                note: noNetworks("red", "vlan").message,
            },
        ]);
        expect(recorded.map(({ note }) => note)).toEqual([
            expect.stringMatching(/^network macnet: ipam\.type: "antrea" is not served: .*; next: /),
            expect.stringMatching(/^network red: networkType: "vlan" is not served: .*; next: /),
        ]);
    });

    it("is on the mirror Pod of a static Pod, which CNI names by the hash of its manifest", async () => {
        const annotations = { "kubernetes.io/config.hash": "hash", "kubernetes.io/config.mirror": "hash" };
        answer = () => Promise.resolve(podOf("mirror", annotations));
        await adds.report(asked, noPools("macnet"), "addresses");
        expect(recorded.map(({ regarding }) => regarding)).toEqual([{ ...object, uid: "mirror" }]);
    });

    it.each<[string, Pod | undefined]>([
        ["is gone", undefined],
        ["has another UID", podOf("other")],
    ])("is no event if the Pod %s", async (_, pod) => {
        answer = () => Promise.resolve(pod);
        await adds.report(asked, noPools("macnet"), "addresses");
        expect(recorded).toEqual([]);
    });

    it.each([
        ["hash", { ...object, uid: "hash" }],
        ["", object],
    ])("is on the Pod as CNI names it, by UID %j, while it cannot be read", async (podUid, regarding) => {
        answer = () => Promise.reject(new KubeError("CONNECTION_FAILED", "no connection"));
        await adds.report({ ...asked, podUid }, noPools("macnet"), "addresses");
        expect(recorded.map((event) => event.regarding)).toEqual([regarding]);
    });
});
