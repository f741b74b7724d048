import { beforeEach, expect, it } from "@jest/globals";
import { messageOf } from "@antrea/errors";
import { KubeError } from "@antrea/kube";
import { Definitions } from "../../../src/features/networks/definitions.ts";
import { FakeKube, vlanConfig } from "./fake-kube.ts";

let kube: FakeKube;
let definitions: Definitions;

beforeEach(() => {
    kube = new FakeKube();
    kube.addNetwork("default/net1", vlanConfig({ vlan: 100 }));
    kube.addNetwork("other/net1", vlanConfig({ vlan: 200 }));
    definitions = new Definitions({ api: kube });
});

async function configOf(namespace: string, name: string): Promise<unknown> {
    return JSON.parse((await definitions.find(namespace, name)).spec?.config ?? "");
}

it("finds the network of a Namespace and name, as it is now", async () => {
    expect(await configOf("default", "net1")).toMatchObject({ vlan: 100 });
    expect(await configOf("other", "net1")).toMatchObject({ vlan: 200 });
    kube.addNetwork("default/net1", vlanConfig({ vlan: 101 }));
    expect(await configOf("default", "net1")).toMatchObject({ vlan: 101 });
    expect(kube.requests).toEqual([
        "network-attachment-definitions default/net1",
        "network-attachment-definitions other/net1",
        "network-attachment-definitions default/net1",
    ]);
});

it("shares requests, but never one that began before the call: the network may have changed since", async () => {
    const answer = Promise.withResolvers<void>();
    kube.before = () => answer.promise;
    const first = configOf("default", "net1");
    const other = definitions.find("other", "net1");
    expect(kube.requests).toHaveLength(2);
    kube.addNetwork("default/net1", vlanConfig({ vlan: 101 }));
    const later = [configOf("default", "net1"), configOf("default", "net1")];
    answer.resolve();
    await Promise.all([first, other]);
    expect(await Promise.all(later)).toMatchObject([{ vlan: 101 }, { vlan: 101 }]);
    expect(kube.requests).toHaveLength(3);
});

it("asks again after a failure", async () => {
    kube.before = () => Promise.reject(new KubeError("CONNECTION_FAILED", "no connection"));
    const failed = await Promise.allSettled([configOf("default", "net1"), configOf("default", "net1")]);
    expect(failed).toMatchObject([{ reason: { code: "API_AWAY" } }, { reason: { code: "API_AWAY" } }]);
    kube.before = () => Promise.resolve();
    await configOf("default", "net1");
    expect(kube.requests).toHaveLength(3);
});

it("reports how a network that is not there comes to be, whether the network or its definition is missing", async () => {
    // The server answers 404 in both cases.
    await expect(definitions.find("default", "net2")).rejects.toMatchObject({
        name: "NetworksError",
        code: "NO_NETWORK",
        fault: "caller",
        message: expect.stringMatching(
            /^network default\/net2: there is no NetworkAttachmentDefinition .*CustomResourceDefinition .* is not installed; next: create it/,
        ),
    });
});

it("reports which network could not be read and why, to try again", async () => {
    kube.before = () => Promise.reject(new KubeError("CONNECTION_FAILED", "no connection"));
    const error: unknown = await definitions.find("default", "net1").catch((cause: unknown) => cause);
    expect(error).toMatchObject({ name: "NetworksError", code: "API_AWAY", fault: "timeout" });
    expect(messageOf(error)).toBe(
        "network default/net1 cannot be read (no connection); next: wait, as the kubelet tries again; if it stays so, see whether the API server is up",
    );
});

it("hides no defect behind an error of the API server", async () => {
    kube.before = () => Promise.reject(new TypeError("a defect"));
    await expect(definitions.find("default", "net1")).rejects.toThrow(new TypeError("a defect"));
});
