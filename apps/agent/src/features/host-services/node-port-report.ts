import { formatPrefix, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import { nodes, type EventInput } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";

/** Dependencies of NodePortReport. */
export interface NodePortReportComponents {
    readonly logger: Pick<Logger, "warn">;
    readonly record: (event: EventInput) => void;
}

/** What NodePortReport needs to know of the Node. */
export interface NodePortReportOptions {
    readonly nodeName: string;
    readonly families: readonly Family[];
    /** `antreaProxy.nodePortAddresses`. */
    readonly cidrs: readonly Prefix[];
}

/**
 * Reports, in the log and by an event on the Node, that NodePorts of a family are served at no address, as
 * `antreaProxy.nodePortAddresses` has none of the Node's. kube-proxy 1.36 serves a family without CIDRs at all addresses.
 */
export class NodePortReport {
    readonly #components: NodePortReportComponents;
    readonly #options: NodePortReportOptions;
    #last = "";

    constructor(components: NodePortReportComponents, options: NodePortReportOptions) {
        this.#components = components;
        this.#options = options;
    }

    /** To be called with the addresses at which NodePorts are served; the same state is reported once. */
    update(served: readonly IpAddress[]): void {
        const { cidrs, families, nodeName } = this.#options;
        const closed = cidrs.length === 0 ? [] : families.filter((one) => !served.some(({ family }) => family === one));
        const names = closed.map((family) => `IPv${family}`).join(" and ");
        if (names === this.#last) return;
        this.#last = names;
        if (names === "") return;
        const note =
            `antreaProxy.nodePortAddresses: ${cidrs.map(formatPrefix).join(", ")}: contains no ${names} address of Node ` +
            `${nodeName}, where NodePorts of ${names} are not served; next: add a CIDR of its addresses`;
        this.#components.logger.warn("NodePorts are not served", { reason: note });
        // The UID is the name, as kubelet sets it, so that "kubectl describe node" shows the event.
        const regarding = { apiVersion: "v1", kind: nodes.kind, name: nodeName, uid: nodeName };
        const event = { type: "Warning", reason: "NodePortsNotServed", action: "ServeNodePorts", note } as const;
        this.#components.record({ regarding, ...event });
    }
}
