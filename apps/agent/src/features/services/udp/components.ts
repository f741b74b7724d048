import type { NodePlatform } from "../../../platform/node-platform.ts";
import { connectionZones } from "@antrea/flows";
import type { UdpCleanUpComponents } from "./udp-clean-up.ts";

/** How to read and remove connections of the bridge's datapath. */
export function udpComponents({
    datapath: { type },
    node,
    openflow,
    vswitchd,
}: Pick<NodePlatform, "datapath" | "node" | "openflow" | "vswitchd">): Pick<UdpCleanUpComponents, "dump" | "flush"> {
    return {
        dump: async (signal) => {
            const texts = [];
            for (const { family } of node.podPrefixes) {
                const args = [`${type}@ovs-${type}`, `zone=${connectionZones[family]}`];
                texts.push(await vswitchd.request("dpctl/dump-conntrack", args, signal));
            }
            return texts;
        },
        flush: (flushes, signal) => openflow.flushConnections(flushes, { signal }),
    };
}
