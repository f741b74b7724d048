import { expect, it } from "@jest/globals";
import { macAnnotation, transportAnnotation } from "@antrea/crd";
import type { NodeObject } from "../../../../src/platform/node/node-object.ts";
import { TransportAnnouncement } from "../../../../src/platform/host/transport/index.ts";
import { silentLogger } from "../../../support/logger.ts";

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
const addresses = "192.0.2.7,2001:db8::7";
const mac = "02:00:00:00:00:07";
const annotated = (annotations: Readonly<Record<string, string>>): NodeObject => ({ metadata: { annotations } });
const patched = (annotations: Readonly<Record<string, string | null>>): unknown => [
    { name: "worker" },
    { metadata: { annotations } },
];

it.each<[string, NodeObject | undefined, Readonly<Record<string, string | undefined>>, readonly unknown[]]>([
    ["announces", {}, { [transportAnnotation]: addresses }, [patched({ [transportAnnotation]: addresses })]],
    [
        "announces what is not there alone",
        annotated({ [transportAnnotation]: addresses }),
        { [transportAnnotation]: addresses, [macAnnotation]: mac },
        [patched({ [macAnnotation]: mac })],
    ],
    [
        "replaces others",
        annotated({ [transportAnnotation]: "192.0.2.6" }),
        { [transportAnnotation]: addresses },
        [patched({ [transportAnnotation]: addresses })],
    ],
    [
        "writes nothing that is there",
        annotated({ [transportAnnotation]: addresses }),
        { [transportAnnotation]: addresses, [macAnnotation]: undefined },
        [],
    ],
    [
        "takes back what an earlier configuration announced",
        annotated({ [transportAnnotation]: addresses, [macAnnotation]: mac, other: "x" }),
        { [transportAnnotation]: undefined, [macAnnotation]: undefined },
        [patched({ [transportAnnotation]: null, [macAnnotation]: null })],
    ],
    ["has nothing to take back", {}, { [transportAnnotation]: undefined }, []],
    ["waits for the Node object", undefined, { [transportAnnotation]: addresses }, []],
])("%s", async (_name, node, wanted, expected) => {
    const { announcement, patches } = make(node);
    await announcement.reconcile(wanted, never);
    expect(patches).toEqual(expected);
});

it("a failure is the caller's to repeat", async () => {
    const { announcement } = make({}, true);
    await expect(announcement.reconcile({ [macAnnotation]: mac }, never)).rejects.toThrow("away");
});
