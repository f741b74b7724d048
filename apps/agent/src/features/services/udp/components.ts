import type { NodePlatform } from "../../../platform/node-platform.ts";
import { Unixctl } from "../../../platform/ovs/datapath/index.ts";
import { connectionZones } from "@antrea/flows";
import type { UdpCleanUpComponents } from "./udp-clean-up.ts";

/** About 400,000 connections. */
const maxDumpBytes = 64 << 20;

/** How to read and remove connections of the bridge's datapath. */
export function udpComponents({
    config,
    datapath: { type },
    node,
    openflow,
}: Pick<NodePlatform, "config" | "datapath" | "node" | "openflow">): Pick<UdpCleanUpComponents, "dump" | "flush"> {
    const control = new Unixctl({ runDir: config.ovsRunDir, maxAnswerBytes: maxDumpBytes });
    return {
        dump: async (signal) => {
            const texts = [];
            for (const { family } of node.podPrefixes) {
                const args = [`${type}@ovs-${type}`, `zone=${connectionZones[family]}`];
                texts.push(await control.request("dpctl/dump-conntrack", args, signal));
            }
            return texts;
        },
        flush: (flushes, signal) => openflow.flushConnections(flushes, { signal }),
    };
}
