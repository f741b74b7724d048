import { describe, expect, it } from "@jest/globals";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { checkNamespace, checkPod, checkPodTemplate, type Annotations, type WorkloadContext } from "../../src/index.ts";
import { exclusions, pool } from "../objects.ts";

const p = pool("p", "10.1.0.8/29");
const context: WorkloadContext = {
    pool: (name) => (name === "p" ? p : undefined),
    exclusions: exclusions({}, p),
};
const podWarnings = (annotations: Annotations): readonly string[] =>
    checkPod({ old: undefined, object: { metadata: { annotations } }, namespace: undefined }, context).warnings;

describe("an annotation of a Pod that nobody reads", () => {
    it.each([
        ["ipam.antrea.io/ippool", poolsAnnotation],
        ["ipam.antrea.io/IPPools", poolsAnnotation],
        ["ipam.antrea.io/ip-pools", poolsAnnotation],
        ["antrea.io/ippools", poolsAnnotation],
        ["ipam.antra.io/ippools", poolsAnnotation],
        ["ippools", poolsAnnotation],
        ["ipam.antrea.io/pod-ip", podIpsAnnotation],
        ["ipam.antrea.io/podips", podIpsAnnotation],
        ["Ipam.antrea.io/pod-ips", podIpsAnnotation],
        ["antrea.io/pod-ips", podIpsAnnotation],
    ])("%s: did you mean %s?", (key, meant) => {
        expect(podWarnings({ [key]: "p" })).toEqual([
            `metadata.annotations: unknown annotation "${key}" has no effect; did you mean ${meant}?`,
        ]);
    });

    it("of our domain is unknown, whatever it resembles", () => {
        expect(podWarnings({ "ipam.antrea.io/something-else": "x" })).toEqual([
            `metadata.annotations: unknown annotation "ipam.antrea.io/something-else" has no effect; known are ${poolsAnnotation} and ${podIpsAnnotation}`,
        ]);
    });

    it("of others is theirs", () => {
        const theirs = [
            "kubectl.kubernetes.io/last-applied-configuration",
            "cni.projectcalico.org/ipv4pools",
            "ipam.example.com/ippools",
            "service.antrea.io/external-ip-pool",
            "node.antrea.io/mac-address",
            "pools",
            "x".repeat(300),
        ];
        for (const key of theirs) expect([key, podWarnings({ [key]: "p" })]).toEqual([key, []]);
        expect(podWarnings({ [poolsAnnotation]: "p", [podIpsAnnotation]: "10.1.0.9" })).toEqual([]);
    });

    it("is named a few times at most, and quickly", () => {
        const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`ipam.antrea.io/x${at}`, ""]));
        expect(podWarnings(many)).toHaveLength(5);
    });
});

describe("a known annotation where it has no effect", () => {
    const created = (kind: "Deployment" | "CronJob", own: Annotations, template?: Annotations): readonly string[] => {
        const spec = { template: { metadata: { annotations: template } } };
        const object = {
            metadata: { annotations: own },
            spec: kind === "CronJob" ? { jobTemplate: { spec } } : spec,
        };
        return checkPodTemplate(kind, { old: undefined, object, namespace: undefined }, context).warnings;
    };

    it("is on the object in place of the template", () => {
        expect(created("Deployment", { [poolsAnnotation]: "p" })).toEqual([
            `metadata.annotations[${poolsAnnotation}] has no effect here: set it in spec.template.metadata.annotations`,
        ]);
        expect(created("CronJob", { [podIpsAnnotation]: "10.1.0.9" })).toEqual([
            `metadata.annotations[${podIpsAnnotation}] has no effect here: set it in spec.jobTemplate.spec.template.metadata.annotations`,
        ]);
        expect(created("Deployment", { [poolsAnnotation]: "p" }, { [poolsAnnotation]: "p" })).toEqual([]);
    });

    it("is pod-ips on a Namespace; a misspelt one is named too", () => {
        const warnings = (old: Annotations, annotations: Annotations): readonly string[] =>
            checkNamespace({ old, annotations }, context, []).warnings;
        const fixed = { [podIpsAnnotation]: "10.1.0.9" };
        const noEffect = `metadata.annotations[${podIpsAnnotation}] has no effect here: set it on the Pod, or in the template of Pods`;
        expect(warnings(undefined, fixed)).toEqual([noEffect]);
        expect(warnings(undefined, { ...fixed, [poolsAnnotation]: "p" })).toEqual([noEffect]);
        expect(warnings({ a: "b" }, { "ipam.antrea.io/ippool": "p" })).toEqual([
            `metadata.annotations: unknown annotation "ipam.antrea.io/ippool" has no effect; did you mean ${poolsAnnotation}?`,
        ]);
    });

    it("is named when it comes or changes, and not with each edit", () => {
        const own = { [poolsAnnotation]: "p", "ipam.antrea.io/ippool": "p" };
        const object = { metadata: { annotations: own }, spec: {} };
        const change = (old: Annotations): readonly string[] =>
            checkPodTemplate(
                "Deployment",
                { old: { metadata: { annotations: old }, spec: {} }, object, namespace: undefined },
                context,
            ).warnings;
        expect(change(own)).toEqual([]);
        expect(change({})).toHaveLength(2);
    });
});
