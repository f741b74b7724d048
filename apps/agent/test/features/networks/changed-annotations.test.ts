import { beforeEach, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import type { ChangeListener, ChangeType, EventInput, Pod } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";
import { reportChangedAnnotations } from "../../../src/features/networks/changed-annotations.ts";

let listeners: Set<ChangeListener<Pod>>;
let recorded: EventInput[];
let subscription: Disposable;

beforeEach(() => {
    [listeners, recorded] = [new Set(), []];
    const watch = {
        onChange: (listener: ChangeListener<Pod>): Disposable => {
            listeners.add(listener);
            return { [Symbol.dispose]: () => void listeners.delete(listener) };
        },
        get: () => undefined,
    };
    subscription = reportChangedAnnotations(
        watch,
        (pod) => Promise.resolve(pod.metadata?.name !== "unwired"),
        (event) => recorded.push(event),
    );
});

function podWith(text: string | undefined, name = "web", others: Readonly<Record<string, string>> = {}): Pod {
    const annotations = { ...others, ...(text === undefined ? {} : { [networksAnnotation]: text }) };
    return { metadata: { namespace: "default", name, uid: `uid-${name}`, annotations } } as Pod;
}

async function change(type: ChangeType, pod: Pod, old: Pod | undefined): Promise<void> {
    for (const listener of listeners) listener(type, "default/web", pod, old, { by: "watch", after: 0 });
    await settle();
}

it.each<[string, string | undefined, string | undefined]>([
    ["is changed", "net1", "net2"],
    ["is added", undefined, "net1"],
    ["is removed", "net1", undefined],
])("an annotation that %s too late is one event on the Pod, with the next step", async (_, before, after) => {
    await change("updated", podWith(after), podWith(before));
    expect(recorded).toEqual([
        {
            type: "Warning",
            reason: "NetworksChangeIgnored",
            action: "AttachNetworks",
            regarding: { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web", uid: "uid-web" },
            note: expect.stringMatching(
                /k8s\.v1\.cni\.cncf\.io\/networks has no effect on the running Pod; next: delete the Pod/,
            ),
        },
    ]);
});

it("a static Pod's says what to do with its manifest", async () => {
    const mirror = { "kubernetes.io/config.hash": "hash", "kubernetes.io/config.mirror": "hash" };
    await change("updated", podWith("net2", "web", mirror), podWith("net1", "web", mirror));
    expect(recorded.map(({ note }) => note)).toEqual([
        expect.stringMatching(/next: move the manifest of this static Pod/),
    ]);
});

it.each<[string, ChangeType, Pod, Pod | undefined]>([
    [
        "other annotations change",
        "updated",
        podWith("net1", "web", { note: "2" }),
        podWith("net1", "web", { note: "1" }),
    ],
    ["only white space changes", "updated", podWith(" net1\n"), podWith("net1")],
    ["an empty one is removed", "updated", podWith(undefined), podWith(" ")],
    ["this agent has made no interface of the Pod", "updated", podWith("net2", "unwired"), podWith("net1", "unwired")],
    ["the Pod is new", "added", podWith("net1"), undefined],
    ["the Pod goes", "deleted", podWith("net2"), podWith("net1")],
])("nothing is recorded when %s", async (_, type, pod, old) => {
    await change(type, pod, old);
    expect(recorded).toEqual([]);
});

it("nothing is recorded after the end", async () => {
    subscription[Symbol.dispose]();
    await change("updated", podWith("net2"), podWith("net1"));
    expect(recorded).toEqual([]);
});
