import { expect, it } from "@jest/globals";
import { transportAnnotation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import type { NodeObject } from "../../src/node-object.ts";
import { TransportAnnouncement } from "../../src/transport/index.ts";
import { silentLogger } from "../support/logger.ts";

function make(node: NodeObject | undefined, fail = false) {
    const patches: unknown[] = [];
    const api = {
        patch: (async (_resource: unknown, ref: unknown, patch: { body: unknown }) => {
            if (fail) throw new Error("away");
            patches.push([ref, patch.body]);
        }) as never,
    };
    const announcement = new TransportAnnouncement(
        { api, node: () => node, logger: silentLogger },
        { nodeName: "worker" },
    );
    return { announcement, patches };
}

const never = new AbortController().signal;
const addresses = [parseIp("192.0.2.7"), parseIp("2001:db8::7")];
const annotated = (value: string): NodeObject => ({ metadata: { annotations: { [transportAnnotation]: value } } });
const patched = (value: string | null): unknown => [
    { name: "worker" },
    { metadata: { annotations: { [transportAnnotation]: value } } },
];

it.each<[string, NodeObject | undefined, typeof addresses | undefined, readonly unknown[]]>([
    ["announces them", {}, addresses, [patched("192.0.2.7,2001:db8::7")]],
    ["replaces others", annotated("192.0.2.6"), addresses, [patched("192.0.2.7,2001:db8::7")]],
    ["writes nothing that is there", annotated("192.0.2.7,2001:db8::7"), addresses, []],
    ["takes back what an earlier configuration announced", annotated("192.0.2.6"), undefined, [patched(null)]],
    ["announces nothing for an interface without addresses", annotated("192.0.2.6"), [], [patched(null)]],
    ["has nothing to take back", {}, undefined, []],
    ["waits for the Node object", undefined, addresses, []],
])("%s", async (_name, node, wanted, expected) => {
    const { announcement, patches } = make(node);
    await announcement.reconcile(wanted, never);
    expect(patches).toEqual(expected);
});

it("a failure is the caller's to repeat", async () => {
    const { announcement } = make({}, true);
    await expect(announcement.reconcile(addresses, never)).rejects.toThrow("away");
});
