import { expect, it } from "@jest/globals";
import type { Node } from "@antrea/kube";
import { NodeCondition, type ConditionText } from "../../../src/platform/node/node-condition.ts";

const bridged: ConditionText = { type: "antrea.io/UplinkBridged", status: "True", reason: "Yes", message: "eth0" };

function make(node: Node | undefined, fail = false) {
    const patches: { readonly body: Node; readonly subresource: unknown }[] = [];
    const api = {
        find: (async () => node) as never,
        patch: (async (
            _resource: unknown,
            _ref: unknown,
            { body }: { body: Node },
            options: { subresource: unknown },
        ) => {
            if (fail) throw new TypeError("away");
            patches.push({ body, subresource: options.subresource });
        }) as never,
    };
    return { condition: new NodeCondition({ api }, { nodeName: "worker" }), patches };
}

const withCondition = (status: string, reason = "Yes"): Node => ({
    status: {
        conditions: [
            { type: "Ready", status: "True" },
            {
                type: bridged.type,
                status,
                reason,
                message: "eth0",
                lastTransitionTime: "2026-01-01T00:00:00Z" as never,
            },
        ],
    },
});

it("writes the condition once, into the status, and again when somebody else changed or removed it", async () => {
    const node: { status?: Node["status"] } = {};
    const { condition, patches } = make(node as Node);
    await condition.set(bridged);
    expect(patches).toHaveLength(1);
    expect(patches[0]).toMatchObject({ body: { status: { conditions: [bridged] } }, subresource: "status" });
    for (const [now, count] of [
        [withCondition("True").status, 1],
        [withCondition("False").status, 2],
        [{}, 3],
        [withCondition("True").status, 3],
    ] as const) {
        node.status = now;
        await condition.set(bridged);
        expect(patches).toHaveLength(count);
    }
});

it("writes nothing that is so already, and nothing without a Node", async () => {
    for (const node of [withCondition("True"), undefined]) {
        const { condition, patches } = make(node);
        await condition.set(bridged);
        expect(patches).toEqual([]);
    }
});

it.each([
    ["the time of the change stays while the status does", "True", true],
    ["another status is a change of now", "False", false],
] as const)("%s", async (_name, status, stays) => {
    const { condition, patches } = make(withCondition(status, "Other"));
    await condition.set(bridged);
    const time = patches[0]?.body.status?.conditions?.[0]?.lastTransitionTime;
    expect(String(time) === "2026-01-01T00:00:00Z").toBe(stays);
});

it("is taken away where it is, and only there", async () => {
    for (const [node, count] of [
        [withCondition("True"), 1],
        [{}, 0],
    ] as const) {
        const { condition, patches } = make(node);
        await condition.remove(bridged.type);
        expect(patches).toHaveLength(count);
        if (count === 1)
            expect(patches[0]?.body.status?.conditions).toEqual([{ type: bridged.type, $patch: "delete" }]);
    }
});

it("a failure is repeated by the caller, but not at the end", async () => {
    const { condition } = make({}, true);
    await expect(condition.set(bridged)).rejects.toThrow("away");
    await expect(condition.setAtEnd(bridged, 50)).resolves.toBeUndefined();
});
