import { describe, expect, it } from "@jest/globals";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import {
    checkPodTemplate,
    refusalText,
    templateAnnotations,
    type Annotations,
    type TemplateKind,
    type WorkloadContext,
    type WorkloadShape,
} from "../../src/index.ts";
import { exclusions, pool } from "../objects.ts";

const p = pool("p", "10.1.0.8/29");
const context: WorkloadContext = {
    pool: (name) => (name === "p" ? p : undefined),
    exclusions: exclusions({}, p),
};

function annotations(list: string, ips?: string): Annotations {
    return { [poolsAnnotation]: list, ...(ips !== undefined && { [podIpsAnnotation]: ips }) };
}

function objectOf(kind: TemplateKind, own: Annotations, fields: object = {}): WorkloadShape {
    const spec = { ...fields, template: { metadata: { annotations: own } } };
    return { spec: kind === "CronJob" ? { jobTemplate: { spec } } : spec };
}

function judged(
    kind: TemplateKind,
    object: WorkloadShape,
    old?: WorkloadShape,
): { readonly errors: readonly string[]; readonly warnings: readonly string[] } {
    const { errors, warnings } = checkPodTemplate(kind, { old, object, namespace: undefined }, context);
    return { errors: errors.map(refusalText), warnings };
}

const kinds = [
    ["DaemonSet", "spec"],
    ["ReplicaSet", "spec"],
    ["Job", "spec"],
    ["CronJob", "spec.jobTemplate.spec"],
] as const;

describe.each(kinds)("the template of a %s", (kind, path) => {
    const at = `${path}.template.metadata.annotations`;

    it("is refused what a Pod of it would be refused, and warned of a pool that does not exist yet", () => {
        expect(judged(kind, objectOf(kind, annotations("p")))).toEqual({ errors: [], warnings: [] });
        expect(judged(kind, objectOf(kind, annotations("")))).toEqual({
            errors: [`${at}[${poolsAnnotation}]: it must name at least one IPPool`],
            warnings: [],
        });
        expect(judged(kind, objectOf(kind, annotations("p", "10.1.0.99"))).errors).toEqual([
            `${at}[${podIpsAnnotation}] "10.1.0.99": IPPool "p" does not hand it out: it is not in its ranges`,
        ]);
        const { errors, warnings } = judged(kind, objectOf(kind, annotations("later")));
        expect(errors).toEqual([]);
        expect(warnings).toEqual([expect.stringContaining(`${at}[${poolsAnnotation}] "later": there is no IPPool`)]);
        expect(templateAnnotations(objectOf(kind, annotations("p")))).toEqual(annotations("p"));
    });

    it("may be edited though it was admitted with bad values", () => {
        const bad = objectOf(kind, annotations("p,p", "10.1.0.99"));
        expect(judged(kind, bad, bad)).toEqual({ errors: [], warnings: [] });
        expect(judged(kind, {}, {})).toEqual({ errors: [], warnings: [] });
    });
});

describe("changed annotations", () => {
    it.each(["DaemonSet", "ReplicaSet"] as const)("are refused of a %s", (kind) => {
        expect(judged(kind, objectOf(kind, annotations("q")), objectOf(kind, annotations("p"))).errors).toEqual([
            expect.stringMatching(/cannot be changed \(it was "p"\)/),
        ]);
    });

    it.each(["Job", "CronJob"] as const)("are judged anew of a %s, whose next Pods they mean", (kind) => {
        const change = (list: string): readonly string[] =>
            judged(kind, objectOf(kind, annotations(list)), objectOf(kind, annotations("later"))).errors;
        expect(change("p")).toEqual([]);
        expect(change("p,p")).toEqual([expect.stringMatching(/named more than once/)]);
    });
});

describe("addresses of one Pod", () => {
    const fixed = annotations("p", "10.1.0.9");
    const many = (path: string): string =>
        `${path} "3": must not be above 1: annotation ${podIpsAnnotation} of the template names one Pod's addresses`;

    it.each([
        ["ReplicaSet", { replicas: 3 }, "spec.replicas"],
        ["Job", { parallelism: 3 }, "spec.parallelism"],
        ["CronJob", { parallelism: 3 }, "spec.jobTemplate.spec.parallelism"],
    ] as const)("are refused of a %s that runs several at once", (kind, fields, path) => {
        expect(judged(kind, objectOf(kind, fixed, fields)).errors).toEqual([many(path)]);
        expect(judged(kind, objectOf(kind, fixed)).errors).toEqual([]);
        expect(judged(kind, objectOf(kind, fixed, fields), objectOf(kind, fixed)).errors).toEqual([many(path)]);
    });

    it("are no more of a Job than it completes", () => {
        const fields = { parallelism: 3, completions: 1 };
        expect(judged("Job", objectOf("Job", fixed, fields)).errors).toEqual([]);
    });

    it("get a warning on a DaemonSet", () => {
        expect(judged("DaemonSet", objectOf("DaemonSet", fixed))).toEqual({
            errors: [],
            warnings: [expect.stringMatching(/names one Pod's addresses: of a DaemonSet that runs on several Nodes/)],
        });
        expect(judged("DaemonSet", objectOf("DaemonSet", fixed), objectOf("DaemonSet", fixed)).warnings).toEqual([]);
    });
});
