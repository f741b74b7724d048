import { expect, it } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { nodes } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { isLeaving } from "../../../src/platform/node/leaving.ts";
import { nodesOf } from "../../../src/platform/platform.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/logger.ts";

it("the reduced Nodes of the agent show which of them are going", async () => {
    await using server = await TestApiServer.start();
    const { api } = server.clients();
    const informer = nodesOf({ api, clock: systemClock, logger: silentLogger });
    informer.start(new AbortController().signal);
    const becomes = async (name: string, wanted: boolean): Promise<boolean | undefined> =>
        eventually(
            () => (informer.get(name) === undefined ? undefined : isLeaving(informer.get(name))),
            (is) => is === wanted,
            20_000,
        );
    try {
        for (const name of ["tainted", "deleted"]) await server.addNode(name);
        expect([await becomes("tainted", false), await becomes("deleted", false)]).toEqual([false, false]);
        const taints = [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }];
        await api.patch(nodes, { name: "tainted" }, { type: "merge", body: { spec: { taints } } });
        // it stays until the finalizer is gone
        const finalizers = ["example.org/wait"];
        await api.patch(nodes, { name: "deleted" }, { type: "merge", body: { metadata: { finalizers } } });
        await api.delete(nodes, { name: "deleted" });
        expect([await becomes("tainted", true), await becomes("deleted", true)]).toEqual([true, true]);
        await api.patch(nodes, { name: "tainted" }, { type: "merge", body: { spec: { taints: [] } } });
        expect(await becomes("tainted", false)).toBe(false);
    } finally {
        await informer.close();
    }
});
