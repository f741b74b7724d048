import { MessageReader } from "@antrea/cni/protobuf";

/** Devices of one resource that the kubelet allocated to a container of a Pod. */
export interface AllocatedDevices {
    readonly podNamespace: string;
    readonly podName: string;
    /** The name of the resource, as intel.com/sriov_net_a. */
    readonly resource: string;
    /** As the device plugin names them. */
    readonly ids: readonly string[];
}

/** The `:path` of the call `List` of the kubelet's pod-resources API v1, whose request has no fields. */
export const listPodResourcesPath = "/v1.PodResourcesLister/List";

/**
 * Decodes a ListPodResourcesResponse (k8s.io/kubelet/pkg/apis/podresources/v1/api.proto): the devices of all Pods, in its
 * order. Unknown fields are skipped. Throws `CniMessageError` of @antrea/cni/protobuf.
 */
export function decodePodResources(bytes: Uint8Array): readonly AllocatedDevices[] {
    const reader = new MessageReader(bytes, "ListPodResourcesResponse");
    return messages(reader, 1, "pod_resources").flatMap(decodePod);
}

function decodePod(bytes: Uint8Array): readonly AllocatedDevices[] {
    const reader = new MessageReader(bytes, "PodResources");
    const containers: Uint8Array[] = [];
    let [podName, podNamespace] = ["", ""];
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        if (field === 1) podName = reader.text("name");
        else if (field === 2) podNamespace = reader.text("namespace");
        else if (field === 3) containers.push(reader.bytes("containers"));
        else reader.skip();
    }
    return containers
        .flatMap((container) => messages(new MessageReader(container, "ContainerResources"), 2, "devices"))
        .map((devices) => ({ podNamespace, podName, ...decodeDevices(devices) }));
}

function decodeDevices(bytes: Uint8Array): Pick<AllocatedDevices, "ids" | "resource"> {
    const reader = new MessageReader(bytes, "ContainerDevices");
    const ids: string[] = [];
    let resource = "";
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        if (field === 1) resource = reader.text("resource_name");
        else if (field === 2) ids.push(reader.text("device_ids"));
        else reader.skip();
    }
    return { resource, ids };
}

/** All occurrences of one message field. */
function messages(reader: MessageReader, wanted: number, label: string): readonly Uint8Array[] {
    const found: Uint8Array[] = [];
    for (let field = reader.next(); field !== undefined; field = reader.next()) {
        if (field === wanted) found.push(reader.bytes(label));
        else reader.skip();
    }
    return found;
}
