import { describe, expect, it } from "@jest/globals";
import { nodePolicies } from "../src/schema/node-policies.ts";
import { admissionPolicies } from "../src/schema/policies.ts";
import { unavailablePolicies } from "../src/schema/unavailable.ts";

const policies = admissionPolicies({ namespace: "antrea-system" });

describe("admission policies", () => {
    it("each have a binding that refuses", () => {
        const kinds = policies.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
        const names = [
            "antrea-agent-ipallocations",
            "antrea-ipallocations-in-use",
            "antrea-pod-annotations",
            "antrea-template-annotations",
        ];
        expect(kinds).toEqual(
            names.flatMap((name) => [`ValidatingAdmissionPolicy ${name}`, `ValidatingAdmissionPolicyBinding ${name}`]),
        );
        for (const { kind, metadata, spec } of policies) {
            if (kind !== "ValidatingAdmissionPolicyBinding") continue;
            expect(spec).toEqual({ policyName: metadata.name, validationActions: ["Deny"] });
        }
    });

    it("two are about an agent and its Node, whether IPPools are used or not, and hold without exception", () => {
        const ofNode = nodePolicies({ namespace: "antrea-system" });
        expect(ofNode.map(({ metadata }) => metadata.name)).toEqual([
            "antrea-agent-nodes",
            "antrea-agent-nodes",
            "antrea-agent-pods",
            "antrea-agent-pods",
        ]);
        for (const { kind, spec } of ofNode) {
            const strict =
                kind === "ValidatingAdmissionPolicy" ? { failurePolicy: "Fail" } : { validationActions: ["Deny"] };
            expect(spec).toMatchObject(strict);
        }
    });

    it("warn of what nothing serves, and never refuse it", () => {
        const unavailable = unavailablePolicies();
        expect(unavailable.map(({ metadata }) => metadata.name)).toEqual(
            ["antrea-network-policies", "antrea-unavailable-kinds", "antrea-unavailable-annotations"].flatMap(
                (name) => [name, name],
            ),
        );
        for (const { kind, spec } of unavailable) {
            if (kind === "ValidatingAdmissionPolicy") expect(spec).toMatchObject({ failurePolicy: "Ignore" });
            else expect(spec).toMatchObject({ validationActions: ["Warn"] });
        }
    });

    it("name the accounts of their Namespace", () => {
        const users = JSON.stringify(policies).match(/system:serviceaccount:[a-z:-]+/g);
        expect(new Set(users)).toEqual(
            new Set([
                "system:serviceaccount:antrea-system:antrea-agent",
                "system:serviceaccount:antrea-system:antrea-controller",
            ]),
        );
    });

    it("stand in nobody's way on the path of Pods, but guard allocations", () => {
        const failure = policies.flatMap(({ metadata, spec }) =>
            "failurePolicy" in spec ? [[metadata.name, spec.failurePolicy]] : [],
        );
        expect(failure).toEqual([
            ["antrea-agent-ipallocations", "Fail"],
            ["antrea-ipallocations-in-use", "Fail"],
            ["antrea-pod-annotations", "Ignore"],
            ["antrea-template-annotations", "Ignore"],
        ]);
    });
});
