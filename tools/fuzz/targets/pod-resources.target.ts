import { join } from "node:path";
import { DeviceLinks, deviceOf } from "@antrea/agent/features/virtual-functions/sysfs";
import {
    decodePodResources,
    type AllocatedDevices,
} from "@antrea/agent/features/virtual-functions/pod-resources-messages";
import { CniMessageError, MessageWriter } from "@antrea/cni/protobuf";
import { BrokenProperty, isTypedRefusal, mustEqual, type Target } from "../target.ts";

const root = "/sys";
const links = new DeviceLinks({ root });

/** Answers of the kubelet's pod-resources API: which devices Pods have. */
export const target: Target = {
    seeds: () => [
        encode([]),
        encode([
            { podNamespace: "default", podName: "web-0", resource: "intel.com/net_a", ids: ["0000:af:06.0"] },
            { podNamespace: "default", podName: "web-0", resource: "intel.com/net_b", ids: ["mlx5_core.sf.4", "x"] },
            { podNamespace: "n", podName: "idle", resource: "nvidia.com/gpu", ids: [] },
        ]),
    ],
    tokens: ["default", "web-0", "intel.com/net_a", "0000:af:06.1", "mlx5_core.sf.4", "../", "/"],
    run: (input) => {
        const devices = decodePodResources(input);
        mustEqual("devices written and read", decodePodResources(encode(devices)), devices);
        for (const id of devices.flatMap(({ ids }) => ids)) checkPath(id);
    },
    isRefusal: (error) => error instanceof CniMessageError && isTypedRefusal(error),
};

/** A device plugin cannot make the agent read another folder. */
function checkPath(id: string): void {
    const device = deviceOf(id);
    if (device === undefined) return;
    const folder = links.folderOf(device);
    if (folder !== join(root, "bus", device.bus, "devices") + `/${id}/net`)
        throw new BrokenProperty(`device ${id} leads to ${folder}`);
}

function encode(devices: readonly AllocatedDevices[]): Uint8Array {
    const response = new MessageWriter();
    for (const { podName, podNamespace, resource, ids } of devices) {
        const [pod, container, allocated] = [new MessageWriter(), new MessageWriter(), new MessageWriter()];
        pod.text(1, podName);
        pod.text(2, podNamespace);
        allocated.text(1, resource);
        for (const id of ids) allocated.message(2, new TextEncoder().encode(id));
        container.message(2, allocated.finish());
        pod.message(3, container.finish());
        response.message(1, pod.finish());
    }
    return response.finish();
}
