import { expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import type { EventInput } from "@antrea/kube";
import { NodePortReport } from "../../../src/features/host-services/node-port-report.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";

const reportOf = (cidrs: readonly string[]) => {
    const [events, logs]: [EventInput[], LogEntry[]] = [[], []];
    const report = new NodePortReport(
        { logger: listLogger(logs), record: (event) => void events.push(event) },
        { nodeName: "here", families: [4, 6], cidrs: cidrs.map((cidr) => parsePrefix(cidr)) },
    );
    return { events, logs, update: (...ips: readonly string[]) => report.update(ips.map((ip) => parseIp(ip))) };
};

it("reports the families whose NodePorts are served at no address, once for each state", () => {
    const { events, logs, update } = reportOf(["192.0.2.0/24"]);
    update("192.0.2.1");
    update("192.0.2.1", "192.0.2.2");
    const note =
        "antreaProxy.nodePortAddresses: 192.0.2.0/24: contains no IPv6 address of Node here, where NodePorts of IPv6 are " +
        "not served; next: add a CIDR of its addresses";
    expect(events).toEqual([
        {
            regarding: { apiVersion: "v1", kind: "Node", name: "here", uid: "here" },
            type: "Warning",
            reason: "NodePortsNotServed",
            action: "ServeNodePorts",
            note,
        },
    ]);
    expect(logs).toEqual([{ level: "warn", message: "NodePorts are not served", fields: { reason: note } }]);
    update();
    expect(events.map((event) => event.note)).toEqual([note, expect.stringContaining("no IPv4 and IPv6 address")]);
    update("192.0.2.1", "2001:db8::1");
    expect(events).toHaveLength(2);
    update("192.0.2.1");
    expect(events).toHaveLength(3);
});

it("reports nothing without nodePortAddresses", () => {
    const { events, update } = reportOf([]);
    update();
    expect(events).toEqual([]);
});
