import type { ServiceSettings } from "@antrea/services";
import { configuredServices } from "@antrea/settings";
import type { NodePlatform } from "../../platform/node-platform.ts";

/** What the configuration and the Node decide about Services. */
export function settingsOf({
    config,
    datapath,
    environment,
    gates,
    node,
    servesNode,
}: Pick<NodePlatform, "config" | "datapath" | "environment" | "gates" | "node" | "servesNode">): ServiceSettings {
    return {
        ...configuredServices({ config, gates }),
        nodeName: environment.nodeName,
        families: node.podPrefixes.map(({ family }) => family),
        proxyAll: servesNode,
        sctp: datapath.type === "system",
    };
}
