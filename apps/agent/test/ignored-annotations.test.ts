import { expect, it } from "@jest/globals";
import { KubeError, namespaces, pods, type ApiClient, type EventInput, type Pod } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { IgnoredAnnotations } from "../src/ignored-annotations.ts";

const signal = new AbortController().signal;

function podIn(namespace: string, name: string, annotations: Record<string, string> = {}, hostNetwork = false): Pod {
    return { metadata: { namespace, name, annotations }, spec: { containers: [], hostNetwork } };
}

/** A cluster with one annotated Namespace, "team". */
function setUp(podsOfNode: Pod[]) {
    const log = new MemoryLog();
    const recorded: EventInput[] = [];
    let lists = 0;
    let adds = 0;
    const failing = { list: false, find: false };
    const api = {
        list: (resource: unknown) => {
            expect(resource).toBe(pods);
            lists += 1;
            if (failing.list) return Promise.reject(new KubeError("TIMEOUT", "no answer"));
            return Promise.resolve({ items: podsOfNode, resourceVersion: "1" });
        },
        find: (resource: unknown, { name }: { name: string }) => {
            expect(resource).toBe(namespaces);
            if (failing.find) return Promise.reject(new KubeError("TIMEOUT", "no answer"));
            const annotations = name === "team" ? { "ipam.antrea.io/ippools": "pool1" } : {};
            return Promise.resolve({ metadata: { name, annotations } });
        },
    } as unknown as Pick<ApiClient, "list" | "find">;
    const ignored = new IgnoredAnnotations(
        { api, events: { record: (event) => void recorded.push(event) }, lastAdd: () => adds, logger: log.logger },
        { nodeName: "worker" },
    );
    return { ignored, recorded, failing, lists: () => lists, addPod: () => (adds += 1) };
}

it.each([
    ["a Pod with pools", [podIn("default", "a"), podIn("default", "b", { "ipam.antrea.io/ippools": "pool1" })], "b"],
    ["a Pod with a fixed address", [podIn("default", "b", { "ipam.antrea.io/pod-ips": "10.2.0.12" })], "b"],
    ["a Pod of a Namespace with pools", [podIn("default", "a"), podIn("team", "b")], "b"],
])("one warning for %s, however often it looks", async (_, podsOfNode, name) => {
    const { ignored, recorded, lists, addPod } = setUp(podsOfNode);
    for (let look = 0; look < 3; look += 1) {
        addPod();
        await ignored.look(signal);
    }
    expect(recorded).toEqual([
        expect.objectContaining({
            type: "Warning",
            reason: "IPPoolsIgnored",
            note: expect.stringContaining("AntreaIPAM is off"),
            regarding: expect.objectContaining({ kind: "Pod", name }),
        }),
    ]);
    expect(lists()).toBe(1);
});

it("no warning for others, and no request while no Pod was added", async () => {
    const { ignored, recorded, lists, addPod } = setUp([podIn("default", "a"), podIn("team", "host", {}, true)]);
    await ignored.look(signal);
    await ignored.look(signal);
    expect([recorded, lists()]).toEqual([[], 1]);
    addPod();
    await ignored.look(signal);
    expect(lists()).toBe(2);
});

it.each(["list", "find"] as const)("looks again when its %s failed", async (request) => {
    const { ignored, recorded, failing, addPod } = setUp([podIn("team", "b")]);
    addPod();
    failing[request] = true;
    await expect(ignored.look(signal)).rejects.toThrow("no answer");
    failing[request] = false;
    await ignored.look(signal);
    expect(recorded).toMatchObject([{ reason: "IPPoolsIgnored" }]);
});
