import { settleAll } from "@antrea/async";
import type { Feature } from "../../platform/feature.ts";
import type { Platform } from "../../platform/platform.ts";
import type { InterfaceControl, NetworkInterfaceView } from "../../platform/pod-interfaces/index.ts";
import { fromFunctionAlias } from "./alias.ts";
import { FunctionLinks } from "./function-links.ts";
import { PodDevices } from "./pod-devices.ts";
import { PodResources } from "./pod-resources.ts";
import { DeviceLinks } from "./sysfs.ts";

/** What virtual functions need of other features. */
export interface VirtualFunctionsNeeds {
    /** What this agent has made. */
    readonly interfaces: NetworkInterfaceView;
    /** Pod wiring; called after `start` only. */
    readonly control: () => Pick<InterfaceControl, "exclusively" | "isAdding">;
}

/** Where the Node is looked at; a test has a folder and a kubelet of its own. */
export interface VirtualFunctionsPlaces {
    /** Default /sys. */
    readonly sysfs?: string;
    /** The socket of the kubelet's pod-resources API. Default /var/lib/kubelet/pod-resources/kubelet.sock. */
    readonly podResourcesSocket?: string;
}

/** The feature, and what wiring uses. */
export interface VirtualFunctionsFeature extends Feature {
    /** Finds the devices that the kubelet allocated to Pods. */
    readonly devices: PodDevices;
    /** Moves the links of devices. */
    readonly links: FunctionLinks;
    /**
     * Makes the links as they were that the kernel brought back, and those that a killed agent marked only. Rejects with the
     * first failure.
     */
    restoreReturned(signal: AbortSignal): Promise<void>;
}

const resyncMs = 60_000;
const lockLimitMs = 5_000;

/**
 * Virtual functions of NICs as interfaces of Pods. Adds the job `virtual-functions/returned`: each minute, and when a link
 * comes back from a Pod.
 */
export function virtualFunctions(
    { clock, jobs, logger: parent, netlink }: Pick<Platform, "clock" | "jobs" | "logger" | "netlink">,
    { control, interfaces }: VirtualFunctionsNeeds,
    { sysfs = "/sys", podResourcesSocket = "/var/lib/kubelet/pod-resources/kubelet.sock" }: VirtualFunctionsPlaces = {},
): VirtualFunctionsFeature {
    const logger = parent.child("virtual-functions");
    const devices = new DeviceLinks({ root: sysfs });
    const links = new FunctionLinks({ netlink, devices, logger });
    const resources = new PodResources({ clock }, { socketPath: podResourcesSocket });
    const restoreReturned = async (signal: AbortSignal): Promise<void> => {
        // Its ADD moves the others, or takes them back.
        const returned = (await links.returned()).filter(({ containerId }) => !control().isAdding(containerId));
        await settleAll(
            returned.map(({ containerId, ifName }) => {
                const limit = AbortSignal.any([signal, AbortSignal.timeout(lockLimitMs)]);
                const { device, mac } = interfaces.get({ containerId, ifName })?.record ?? {};
                // Only what the Node has: meanwhile an ADD may have moved it into the Pod.
                const restore = (): Promise<void> => links.bringHome({ containerId, ifName, netns: "", device, mac });
                return control().exclusively(containerId, restore, limit);
            }),
        );
    };
    let events: Disposable | undefined;
    return {
        name: "virtual-functions",
        devices: new PodDevices({ resources, links, devices, interfaces }, { socketPath: podResourcesSocket }),
        links,
        restoreReturned,
        start: () => {
            const job = jobs.every("virtual-functions/returned", resyncMs, restoreReturned);
            events = netlink.subscribe(["link"], (event) => {
                const isReturned = event.type === "link" && !event.deleted;
                if (isReturned && fromFunctionAlias(event.link.alias) !== undefined) job.trigger();
            });
        },
        stop: () => events?.[Symbol.dispose](),
    };
}
