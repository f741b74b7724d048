import type { Link } from "@antrea/netlink";
import type { Feature } from "../../platform/feature.ts";
import type { Platform } from "../../platform/platform.ts";
import type { NetworkInterfaceView } from "../../platform/pod-interfaces/index.ts";
import { fromFunctionAlias } from "./alias.ts";
import { FunctionLinks } from "./function-links.ts";
import { KeptLinks, type KeptLinksOptions } from "./kept-links.ts";
import { PodDevices } from "./pod-devices.ts";
import { PodResources } from "./pod-resources.ts";
import { DeviceLinks } from "./sysfs.ts";

/** Paths of the Node that are read; a test has a folder and a kubelet of its own. */
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
    /** Moves the links of devices, and makes them as they were. */
    readonly links: FunctionLinks;
}

const resyncMs = 60_000;

/**
 * Virtual functions of NICs as interfaces of Pods. Adds the job `virtual-functions/returned`: each minute, and when a link
 * comes back from a Pod that changed neither its alias nor its name.
 *
 * @param interfaces what this agent has made
 */
export function virtualFunctions(
    platform: Pick<Platform, "clock" | "jobs" | "logger" | "netlink"> & { readonly environment: KeptLinksOptions },
    interfaces: NetworkInterfaceView,
    { sysfs = "/sys", podResourcesSocket = "/var/lib/kubelet/pod-resources/kubelet.sock" }: VirtualFunctionsPlaces = {},
): VirtualFunctionsFeature {
    const { clock, environment, jobs, netlink } = platform;
    const logger = platform.logger.child("virtual-functions");
    const devices = new DeviceLinks({ root: sysfs });
    const kept = new KeptLinks({ logger }, environment);
    const links = new FunctionLinks({ netlink, devices, kept, logger });
    const resources = new PodResources({ clock }, { socketPath: podResourcesSocket });
    const isReturned = ({ alias, name }: Link): boolean =>
        fromFunctionAlias(alias) !== undefined ||
        interfaces.list().some(({ record }) => record.device !== undefined && record.ifName === name);
    let events: Disposable | undefined;
    return {
        name: "virtual-functions",
        devices: new PodDevices({ resources, links, devices, interfaces }, { socketPath: podResourcesSocket }),
        links,
        start: async () => {
            await kept.removeEarlierBoots();
            const job = jobs.every("virtual-functions/returned", resyncMs, (signal) => links.restoreReturned(signal));
            events = netlink.subscribe(["link"], (event) => {
                if (event.type === "link" && !event.deleted && isReturned(event.link)) job.trigger();
            });
        },
        stop: () => events?.[Symbol.dispose](),
    };
}
