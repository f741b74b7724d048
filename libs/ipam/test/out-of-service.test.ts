import { expect, it } from "@jest/globals";
import { isOutOfService } from "../src/index.ts";

it.each([
    [true, { spec: { taints: [{ key: "a" }, { key: "node.kubernetes.io/out-of-service" }] } }],
    [false, { spec: { taints: [{ key: "node.kubernetes.io/unreachable" }] } }],
    [false, { spec: {} }],
    [false, {}],
])("that a Node is out of service is %j when it has the taint: %j", (expected, node) => {
    expect(isOutOfService(node)).toBe(expected);
});
