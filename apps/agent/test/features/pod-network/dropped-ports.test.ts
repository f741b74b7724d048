import { beforeEach, describe, expect, it } from "@jest/globals";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { podRecord } from "../../support/records.ts";
import { FakeNode } from "./fake-node.ts";
import { type PodRecord, toAlias, toExternalIds } from "../../../src/platform/pod-interfaces/index.ts";

const { signal } = new AbortController();
const record = podRecord();
const rival = podRecord({ containerId: "cd34".repeat(16), podName: "web-1", hostIfName: "web-1-fedcba" });

let log: LogEntry[];
let node: FakeNode;

beforeEach(() => {
    log = [];
    node = new FakeNode({ logger: listLogger(log) });
});

function putPort(one: PodRecord): void {
    const externalIds = new Map(Object.entries(toExternalIds(one)));
    node.stored.set(one.hostIfName, { name: one.hostIfName, ofPort: 32784, externalIds });
}

const dropped = (): readonly LogEntry[] => log.filter(({ message }) => message.includes("is dropped"));
const warnings = (): readonly LogEntry[] => log.filter(({ level }) => level === "warn" || level === "error");

describe("a Pod port that is dropped", () => {
    it("is information after a reboot, and names the Pod", async () => {
        putPort({ ...record, bootId: "another" });
        await node.reconciler.rebuild(signal);
        await node.reconciler.reconcile(signal);
        expect(dropped()).toMatchObject([{ level: "info", fields: { pod: "default/web-0", port: record.hostIfName } }]);
        expect(warnings()).toEqual([]);
    });

    it("is not reported as one without a record when its namespace ended with the Node's restart", async () => {
        putPort(record);
        await node.reconciler.rebuild(signal);
        log.length = 0;
        await node.reconciler.reconcile(signal);
        expect([...node.stored.keys()]).toEqual([]);
        expect(dropped()).toEqual([]);
        expect(warnings()).toEqual([]);
    });

    it("is a warning that names the Pod when another has its address", async () => {
        for (const one of [record, rival]) {
            putPort(one);
            node.putLink(one.hostIfName, toAlias(one));
        }
        await node.reconciler.rebuild(signal);
        expect(dropped()).toMatchObject([{ level: "warn", fields: { pod: "default/web-1" } }]);
    });

    it.each([
        ["a warning while its link is there", true, "warn"],
        ["information when its link is gone", false, "info"],
    ])("without a record is %s, and names the Pod", async (_, hasLink, level) => {
        await node.reconciler.rebuild(signal);
        putPort(record);
        if (hasLink) node.putLink(record.hostIfName, toAlias(record));
        await node.reconciler.reconcile(signal);
        const fields = { pod: "default/web-0", container: record.containerId };
        expect(dropped()).toMatchObject([{ level, fields }]);
    });
});
