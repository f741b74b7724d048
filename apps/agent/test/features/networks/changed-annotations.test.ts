import { beforeEach, describe, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import type { ChangeListener, ChangeType, EventInput, Pod } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";
import { annotationHash } from "../../../src/features/networks/annotation-hash.ts";
import { reportChangedAnnotations } from "../../../src/features/networks/changed-annotations.ts";

let listeners: Set<ChangeListener<Pod>>;
let recorded: EventInput[];
let subscription: Disposable;
/** The fingerprints of the Pod's containers. */
let made: readonly string[];
/** The Pod as the watch has delivered it before the start. */
let delivered: Pod | undefined;

beforeEach(() => {
    [listeners, recorded, made, delivered] = [new Set(), [], [], undefined];
    subscription = begin();
});

function begin(): Disposable {
    const watch = {
        onChange: (listener: ChangeListener<Pod>): Disposable => {
            listeners.add(listener);
            return { [Symbol.dispose]: () => void listeners.delete(listener) };
        },
        get: (key: string) => (key === "default/web" ? delivered : undefined),
    };
    return reportChangedAnnotations(
        watch,
        {
            isOurs: (pod) => Promise.resolve(pod.metadata?.name !== "unwired"),
            madeFrom: () => made,
            before: ["default/web", "default/web", "default/gone"],
        },
        (event) => recorded.push(event),
    );
}

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

it("a static Pod's reports what to do with its manifest", async () => {
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

describe("a change while the agent was down", () => {
    it.each<[string, string | undefined, string | undefined, number]>([
        ["is reported", "net1", "net2", 1],
        ["is reported where networks were added", undefined, "net1", 1],
        ["is reported where they were removed", "net1", undefined, 1],
        ["that there was none, is not", "net1", "net1\n", 0],
        ["that there was none, is not, without networks either", undefined, " ", 0],
    ])(
        "%s, whether the watch has delivered the Pod before the start or does so later",
        async (_, before, now, events) => {
            made = [annotationHash(podWith("earlier")), annotationHash(podWith(before))];
            await change("added", podWith(now), undefined);
            expect(recorded.map(({ reason }) => reason)).toEqual(Array(events).fill("NetworksChangeIgnored"));
            recorded = [];
            delivered = podWith(now);
            begin();
            await settle();
            expect(recorded).toHaveLength(events);
        },
    );

    it("is not known of containers whose record does not have it, and not reported of others' Pods", async () => {
        await change("added", podWith("net2"), undefined);
        made = [annotationHash(podWith("net1"))];
        await change("added", podWith("net2", "unwired"), undefined);
        expect(recorded).toEqual([]);
    });
});

it("nothing is recorded after the end", async () => {
    subscription[Symbol.dispose]();
    await change("updated", podWith("net2"), podWith("net1"));
    expect(recorded).toEqual([]);
});
