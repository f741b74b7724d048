import { expect, it } from "@jest/globals";
import { AntreaError } from "@antrea/errors";
import { Metrics } from "@antrea/runtime";
import { networkMetrics } from "../../../src/features/networks/metrics.ts";
import { NetworkInterfaces } from "../../../src/platform/pod-interfaces/index.ts";
import { networkRecord } from "../../support/records.ts";

it("interfaces are counted by kind at each scrape, failed ADDs by reason", async () => {
    const [metrics, table] = [new Metrics({ processMetrics: false }), new NetworkInterfaces()];
    const { failed } = networkMetrics(metrics, table);
    const values = async (): Promise<readonly string[]> =>
        (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(await values()).toEqual([
        'antrea_agent_network_interfaces{kind="vlan"} 0',
        'antrea_agent_network_interfaces{kind="sriov"} 0',
    ]);
    const device = { bus: "pci", id: "0000:af:06.0", linkName: "vf0", linkMtu: 1500 } as const;
    table.put(networkRecord({ ifName: "eth1" }));
    table.put(networkRecord({ ifName: "eth2" }));
    table.put(networkRecord({ ifName: "eth3", device }));
    failed(new AntreaError("NO_BRIDGE", "environment", "there is none"));
    failed(new AntreaError("NO_BRIDGE", "environment", "there is none"));
    failed(new TypeError("a defect"));
    expect(await values()).toEqual([
        'antrea_agent_network_interfaces{kind="vlan"} 2',
        'antrea_agent_network_interfaces{kind="sriov"} 1',
        'antrea_agent_network_failures_total{reason="NO_BRIDGE"} 2',
        'antrea_agent_network_failures_total{reason="INTERNAL"} 1',
    ]);
});
