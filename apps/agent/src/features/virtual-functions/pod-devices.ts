import { messageOf } from "@antrea/errors";
import {
    podText,
    type DeviceDemand,
    type DeviceId,
    type FoundDevice,
    type NetworkInterfaceView,
    type PodAttachment,
} from "../../platform/pod-interfaces/index.ts";
import { FunctionError } from "./errors.ts";
import { noLink, type FunctionLinks, type FunctionRecord } from "./function-links.ts";
import type { PodResources } from "./pod-resources.ts";
import type { AllocatedDevices } from "./pod-resources-messages.ts";
import { deviceOf, type DeviceLinks } from "./sysfs.ts";

/** Dependencies of PodDevices. */
export interface PodDevicesComponents {
    readonly resources: Pick<PodResources, "list">;
    readonly links: Pick<FunctionLinks, "formerOf">;
    readonly devices: Pick<DeviceLinks, "folderOf">;
    /** The interfaces on networks other than the Pod network that this agent has made. */
    readonly interfaces: Pick<NetworkInterfaceView, "list">;
}

const resourceAnnotation = "annotation k8s.v1.cni.cncf.io/resourceName";

/** Finds the devices that the kubelet allocated to Pods; changes nothing. */
export class PodDevices {
    readonly #components: PodDevicesComponents;
    readonly #socketPath: string;

    constructor(components: PodDevicesComponents, options: { readonly socketPath: string }) {
        this.#components = components;
        this.#socketPath = options.socketPath;
    }

    /**
     * A device for each demand, in its order: devices of one resource in the order of their names, without those that
     * are interfaces of the container already; a demand that was met before gets the same device. One that a container of
     * another Pod still has is taken only if no other is left: the kubelet lists the devices of an earlier Pod of the same
     * name, as of a StatefulSet, too. Rejects with FunctionError
     * `NO_KUBELET`, `TOO_FEW`, `NOT_OF_POD`, `HELD` or `NO_LINK`, with NetlinkError, or on abort with the signal's reason.
     */
    async find(
        pod: PodAttachment,
        demands: readonly DeviceDemand[],
        signal: AbortSignal,
    ): Promise<readonly FoundDevice[]> {
        const [first] = demands;
        if (first === undefined) return [];
        const allocated = await this.#allocated(pod, first.network, signal);
        const functions = this.#functions();
        const own = functions.filter((record) => record.containerId === pod.containerId);
        const isHeld = (id: string): boolean =>
            functions.some(({ device, podUid }) => device.id === id && (podUid === "" || podUid !== pod.podUid));
        const chosen: string[] = own.map(({ device }) => device.id);
        const found: FoundDevice[] = [];
        for (const demand of demands) {
            const known = own.find(({ ifName, network }) => ifName === demand.ifName && network === demand.network);
            if (known !== undefined) {
                found.push({ ...known.device, mac: known.mac });
                continue;
            }
            const id = chooseId(pod, demand, allocated, { chosen, isHeld });
            chosen.push(id);
            found.push(await this.#device(pod, demand, id));
        }
        return found;
    }

    /** The devices of the Pod, all resources. */
    async #allocated(
        { podName, podNamespace }: PodAttachment,
        network: string,
        signal: AbortSignal,
    ): Promise<readonly AllocatedDevices[]> {
        try {
            const all = await this.#components.resources.list(signal);
            return all.filter((one) => one.podNamespace === podNamespace && one.podName === podName);
        } catch (cause) {
            signal.throwIfAborted();
            throw new FunctionError(
                "NO_KUBELET",
                `network ${network}: the devices of the Pod cannot be read from the kubelet's pod-resources API at ${this.#socketPath}: ${messageOf(cause)}; next: see whether the kubelet runs and has that socket, and whether the folder of the chart's value agent.podResourcesPath is that of the kubelet`,
                { cause },
            );
        }
    }

    async #device(pod: PodAttachment, { network }: DeviceDemand, id: string): Promise<FoundDevice> {
        const device = deviceOf(id);
        if (device === undefined) {
            throw new FunctionError(
                "NO_LINK",
                `network ${network}: device "${id}" is neither a PCI address, as 0000:af:06.0, nor a name of the auxiliary bus; next: use a device plugin whose devices are network functions`,
            );
        }
        const holder = this.#functions().find((record) => isDevice(record.device, device));
        if (holder !== undefined) return foundIn(holder, pod, network);
        const link = await this.#components.links.formerOf(device);
        if (link === undefined) throw noLink(network, device, this.#components.devices.folderOf(device));
        return { ...device, linkName: link.name, linkMtu: link.mtu, mac: link.mac };
    }

    #functions(): readonly FunctionRecord[] {
        return this.#components.interfaces.list().flatMap(({ record }) => {
            const { device } = record;
            return device === undefined ? [] : [{ ...record, device }];
        });
    }
}

/** An earlier sandbox of the Pod loses it before this one gets it; that of another Pod must have ended. */
function foundIn(holder: FunctionRecord, pod: PodAttachment, network: string): FoundDevice {
    const { containerId, device, mac, podUid } = holder;
    if (podUid !== "" && podUid === pod.podUid && containerId !== pod.containerId) return { ...device, mac };
    throw new FunctionError(
        "HELD",
        `network ${network}: device ${device.id} is still interface ${holder.ifName} of Pod ${podText(holder)}, container ${containerId}; next: wait for the end of that container`,
    );
}

/** The device that a demand gets; throws FunctionError. */
function chooseId(
    pod: PodAttachment,
    { deviceId, ifName, network, resourceName }: DeviceDemand,
    allocated: readonly AllocatedDevices[],
    { chosen, isHeld }: { readonly chosen: readonly string[]; readonly isHeld: (id: string) => boolean },
): string {
    if (resourceName === undefined) {
        const has = allocated.flatMap(({ ids }) => ids);
        if (deviceId !== undefined && has.includes(deviceId)) return deviceId;
        const rule =
            deviceId === undefined
                ? "deviceID: is missing, as the meta plugin names no device"
                : `deviceID: ${JSON.stringify(deviceId)} is not a device that the kubelet allocated to Pod ${podText(pod)}`;
        throw new FunctionError(
            "NOT_OF_POD",
            `network ${network}: ${rule}; next: name the resource in the ${resourceAnnotation} of the NetworkAttachmentDefinition, by which the meta plugin finds the device, and request it in resources.limits of a container`,
        );
    }
    const ids = [...new Set(allocated.filter(({ resource }) => resource === resourceName).flatMap((one) => one.ids))];
    const left = ids.toSorted().filter((one) => !chosen.includes(one));
    const id = left.find((one) => !isHeld(one)) ?? left[0];
    if (id !== undefined) return id;
    throw new FunctionError(
        "TOO_FEW",
        `network ${network}: ${resourceAnnotation}: ${resourceName}: the Pod has ${ids.length} of these devices, and none is left for ${ifName}; next: request one for each network of this resource in resources.limits of a container`,
    );
}

function isDevice(one: DeviceId, other: DeviceId): boolean {
    return one.bus === other.bus && one.id === other.id;
}
