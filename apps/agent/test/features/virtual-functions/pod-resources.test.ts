import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { status } from "@grpc/grpc-js";
import { systemClock } from "@antrea/async";
import { CniMessageError, MessageWriter } from "@antrea/cni/protobuf";
import { PodResources } from "../../../src/features/virtual-functions/pod-resources.ts";
import { decodePodResources } from "../../../src/features/virtual-functions/pod-resources-messages.ts";
import { encodePods, FakeKubelet } from "../../support/fake-kubelet.ts";

const devices = [
    { podNamespace: "default", podName: "web-0", resource: "intel.com/a", ids: ["0000:af:06.1", "0000:af:06.0"] },
    { podNamespace: "default", podName: "web-0", resource: "intel.com/b", ids: ["sf.4"] },
];
const pods = [
    { name: "web-0", devices: { "intel.com/a": ["0000:af:06.1", "0000:af:06.0"], "intel.com/b": ["sf.4"] } },
    { name: "idle", devices: {} },
];

describe("an answer of the kubelet", () => {
    it("has the devices of all Pods, in its order", () => {
        expect(decodePodResources(encodePods(pods))).toEqual(devices);
        expect(decodePodResources(new Uint8Array())).toEqual([]);
    });

    it("may have fields that are not known: processors, memory, topology", () => {
        const allocated = new MessageWriter();
        allocated.text(1, "intel.com/a");
        allocated.text(2, "x");
        allocated.message(3, Uint8Array.of(0x0a, 0x00));
        const container = new MessageWriter();
        container.int32(3, 7);
        container.message(2, allocated.finish());
        container.message(4, new Uint8Array());
        const pod = new MessageWriter();
        pod.message(3, container.finish());
        pod.int32(9, 1);
        const response = new MessageWriter();
        response.int32(2, 5);
        response.message(1, pod.finish());
        expect(decodePodResources(response.finish())).toEqual([
            { podNamespace: "", podName: "", resource: "intel.com/a", ids: ["x"] },
        ]);
    });

    it("that ends too early is no other one", () => {
        const whole = encodePods(pods);
        for (let length = 1; length < whole.length; length += 1) {
            try {
                const found = decodePodResources(whole.subarray(0, length));
                // It ended behind one of the Pods.
                expect([[], devices]).toContainEqual(found);
            } catch (error) {
                expect(error).toBeInstanceOf(CniMessageError);
            }
        }
    });
});

describe("the kubelet", () => {
    let kubelet: FakeKubelet;
    let resources: PodResources;
    const { signal } = new AbortController();

    beforeEach(async () => {
        kubelet = new FakeKubelet();
        await kubelet.start();
        kubelet.pods = pods;
        resources = new PodResources({ clock: systemClock }, { socketPath: kubelet.places.podResourcesSocket });
    });
    afterEach(() => kubelet[Symbol.asyncDispose]());

    it("is asked for the devices of all Pods", async () => {
        expect(await resources.list(signal)).toEqual(devices);
    });

    it("is asked once by all who ask while it is asked, after that", async () => {
        const first = resources.list(signal);
        kubelet.pods = [];
        const later = Promise.all(Array.from({ length: 50 }, () => resources.list(signal)));
        await first;
        expect(await later).toEqual(Array.from({ length: 50 }, () => []));
        expect(kubelet.calls).toBe(2);
        expect(await resources.list(signal)).toEqual([]);
        expect(kubelet.calls).toBe(3);
    });

    it("is asked again when it limits the rate of calls", async () => {
        kubelet.refusals = [status.RESOURCE_EXHAUSTED, status.RESOURCE_EXHAUSTED];
        expect(await resources.list(signal)).toEqual(devices);
        expect(kubelet.calls).toBe(3);
    });

    it("that refuses is not asked again, and the next call is", async () => {
        kubelet.refusals = [status.UNIMPLEMENTED];
        await expect(resources.list(signal)).rejects.toThrow(/UNIMPLEMENTED/);
        expect(await resources.list(signal)).toEqual(devices);
    });

    it("is found again at once after it was away", async () => {
        kubelet.stop();
        for (let times = 0; times < 5; times += 1)
            await expect(resources.list(signal)).rejects.toThrow(/UNAVAILABLE.*ENOENT/s);
        await kubelet.start();
        expect(await resources.list(signal)).toEqual(devices);
    });

    it("is left by a caller whose signal aborts", async () => {
        const reason = new DOMException("the caller left", "AbortError");
        await expect(resources.list(AbortSignal.abort(reason))).rejects.toBe(reason);
    });
});
