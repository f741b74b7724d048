import { age, fields, list, type Style } from "../output/index.ts";
import { ownerText } from "../cluster/index.ts";
import { type ClusterUse, type WhoReport } from "./report.ts";

/** The report of `ipam who` as text, without a final line end. `nowMs`, in milliseconds since 1970, is for ages. */
export function renderWho(report: WhoReport, style: Style, nowMs: number): string {
    const { claim: allocation, pods, pools, cluster } = report;
    const sections = [report.summary];
    if (allocation !== undefined) {
        sections.push(
            fields(
                [
                    ["Allocation", allocation.name],
                    [
                        "State",
                        allocation.state === "Allocated" ? style.good(allocation.state) : style.warn(allocation.state),
                    ],
                    ["Pool", allocation.pool],
                    ["Owner", ownerText(allocation.owner)],
                    ...(allocation.pod === undefined
                        ? []
                        : ([
                              ["Pod", `${allocation.pod.namespace}/${allocation.pod.name}`],
                              ["Pod UID", allocation.pod.uid],
                              ["Node", allocation.pod.nodeName],
                              ["Interface", allocation.pod.interface],
                              ["Network", allocation.pod.network ?? "the Pod network"],
                              ["Container", allocation.pod.containerID],
                          ] as const)),
                    [
                        "Since",
                        allocation.since === undefined
                            ? "-"
                            : `${allocation.since} (${age(allocation.since, nowMs)} ago)`,
                    ],
                ],
                style,
            ),
        );
    }
    const seen = [
        ...pods.map(({ namespace, name, node, phase }) => {
            return `Pod ${namespace}/${name}${node === undefined ? "" : ` on Node ${node}`} reports it (${phase})`;
        }),
        ...pools.map(({ name, handsOut, reason }) =>
            handsOut
                ? `IPPool ${name} hands it out`
                : `IPPool ${name} has it in a range and never hands it out: it ${reason}`,
        ),
        ...cluster.map(useText),
    ];
    if (seen.length > 0) sections.push(`${style.bold("Also seen")}\n${list(seen, style)}`);
    return sections.join("\n\n");
}

function useText({ kind, text, of }: ClusterUse): string {
    switch (kind) {
        case "NodeAddress":
            return `Node ${of} has it as an address of its own`;
        case "PodCIDR":
            return `podCIDR ${text} of Node ${of} has it`;
        case "NodeGateway":
            return `it is the gateway of the Pods of Node ${of}`;
        case "ServiceCIDR":
            return `Service CIDR ${text} has it${of === undefined ? "" : ` (${of})`}`;
        case "Gateway":
            return `it is a gateway of IPPool ${of}`;
    }
}
