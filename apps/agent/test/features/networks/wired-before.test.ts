import { expect, it } from "@jest/globals";
import { wiredBefore } from "../../../src/features/networks/wired-before.ts";
import { NetworkInterfaces, PodInterfaces, type NetworkRecord } from "../../../src/platform/pod-interfaces/index.ts";
import { networkRecord, podRecord } from "../../support/records.ts";

const own = podRecord({ network: "antrea" });
const record = networkRecord();

function found(records: readonly NetworkRecord[], { changes = {}, addedAt = 0, isLeaving = false } = {}): unknown {
    const [podInterfaces, interfaces] = [new PodInterfaces(), new NetworkInterfaces()];
    podInterfaces.put({ record: { ...own, ...changes }, ofPort: 1, addedAt: 0 });
    podInterfaces.put({ record: podRecord({ containerId: "cd34".repeat(16) }), ofPort: 2, addedAt: 0 });
    for (const one of records) interfaces.put(one, addedAt);
    if (isLeaving) interfaces.leave(record, "release");
    return wiredBefore(podInterfaces, interfaces, 1400);
}

it("finds the interfaces of each container that an earlier start has made", () => {
    const second = networkRecord({ ifName: "eth2" });
    const networks = [record, second].map((one) => ({ record: one, dns: undefined }));
    expect(found([record, second])).toEqual([{ own, mtu: 1400, networks }]);
});

it.each<[string, Parameters<typeof found>]>([
    ["of an ADD to this agent", [[record], { addedAt: 7 }]],
    ["that are being removed", [[record], { isLeaving: true }]],
    ["of a meta plugin", [[{ ...record, attachedBy: "meta-plugin" }]]],
    ["of containers that have no eth0", [[{ ...record, containerId: "ef56".repeat(16) }]]],
    ["of which one was rebuilt from its link", [[record, networkRecord({ ifName: "eth2", netns: "" })]]],
    ["beside an eth0 that was rebuilt from its link", [[record], { changes: { netns: "" } }]],
    ["beside an eth0 of an agent that did not record its network", [[record], { changes: { network: undefined } }]],
])("finds none %s", (_, [records, state]) => {
    expect(found(records, state)).toEqual([]);
});
