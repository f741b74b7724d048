import type { Clock } from "@antrea/async";
import type { IpAddress, Prefix } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { StoredPort } from "./found-records.ts";
import type { FunctionWiring } from "./function-wiring.ts";
import type { PodLinkOptions } from "./link.ts";
import type { NetworkAllocations, NetworkInterfaces, PodInterfaceView } from "../../platform/pod-interfaces/index.ts";

/** A port of the bridge for networks other than the Pod network. */
export interface NetworkPort extends StoredPort {
    /** Why OVS could not open the link; undefined if it could, or has not tried yet. */
    readonly error: string | undefined;
    /** Undefined if the port is a trunk. */
    readonly vlan: number | undefined;
}

/** The ports of the bridge for networks other than the Pod network; the contract of each method is that of SwitchBridge. */
export interface NetworkPorts {
    ports(): readonly NetworkPort[];
    ensurePorts(
        ports: readonly {
            readonly name: string;
            readonly vlan: number;
            readonly externalIds: Readonly<Record<string, string>>;
        }[],
        signal?: AbortSignal,
    ): Promise<void>;
    deletePorts(names: readonly string[], signal?: AbortSignal): Promise<void>;
    opened(names: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<readonly NetworkPort[]>;
}

/** Those of an agent without such a bridge: nothing is there, and what asks for a port is refused before. */
export const noPorts: NetworkPorts = {
    ports: () => [],
    ensurePorts: () => Promise.resolve(),
    deletePorts: () => Promise.resolve(),
    opened: () => Promise.resolve([]),
};

/** Dependencies of FurtherInterfaces. */
export interface FurtherInterfacesComponents {
    /** Written only here. */
    readonly table: NetworkInterfaces;
    /** The interfaces on the Pod network. */
    readonly podInterfaces: Pick<PodInterfaceView, "list">;
    /** Undefined if no bridge is configured: Pods get virtual functions only. */
    readonly ports: NetworkPorts | undefined;
    readonly functions: FunctionWiring;
    readonly netlink: Netlink;
    /** Undefined if AntreaIPAM is disabled. */
    readonly pools: NetworkAllocations | undefined;
    /** Announces the addresses of a port in its VLAN; never throws. */
    readonly announce: (port: {
        readonly ofPort: number;
        readonly mac: string;
        readonly ips: readonly IpAddress[];
    }) => void;
    /** The current Service CIDRs: those of the API server, else of the configuration. */
    readonly serviceCidrs: () => readonly Prefix[];
    /** Whether the API server has answered with them. */
    readonly areServiceCidrsKnown: () => boolean;
    readonly clock: Clock;
    readonly logger: Logger;
}

/** Settings of FurtherInterfaces. */
export interface FurtherInterfacesOptions extends Omit<PodLinkOptions, "mtu"> {
    /** /proc/sys/kernel/random/boot_id. */
    readonly bootId: string;
}
