import { connectionZone } from "@antrea/flows";
import type { NodePlatform } from "../../../platform/node-platform.ts";
import { vlanOf } from "./first-of-vlan.ts";
import type { ConnectionZones } from "./stale-connections.ts";
import type { UdpCleanUpComponents } from "./udp-clean-up.ts";

/** How to read and remove connections of Pods of the bridge's datapath. */
export function udpComponents({
    bridgedMac,
    datapath: { type },
    node,
    openflow,
    podInterfaces,
    vswitchd,
}: Pick<NodePlatform, "bridgedMac" | "datapath" | "node" | "openflow" | "podInterfaces" | "vswitchd">): Pick<
    UdpCleanUpComponents,
    "dump" | "flush" | "zones"
> {
    // in a VLAN without Pods nobody is left who would send: see `onFirstOfVlan`
    const vlans = (): readonly number[] => [...new Set([0, ...podInterfaces.list().map(vlanOf)])];
    const zones: ConnectionZones = (family) =>
        bridgedMac === undefined ? [connectionZone(family)] : vlans().map((vlan) => connectionZone(family, vlan));
    return {
        dump: async (signal) => {
            const texts = [];
            for (const zone of node.podPrefixes.flatMap(({ family }) => zones(family))) {
                const args = [`${type}@ovs-${type}`, `zone=${zone}`];
                texts.push(await vswitchd.request("dpctl/dump-conntrack", args, signal));
            }
            return texts;
        },
        flush: (flushes, signal) => openflow.flushConnections(flushes, { signal }),
        zones,
    };
}
