import { describe, expect, it } from "@jest/globals";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import {
    checkNamespace,
    checkPod,
    checkPodTemplate,
    checkScale,
    readPool,
    refusalText,
    type Annotations,
    type Pool,
    type Verdict,
    type WorkloadContext,
    type WorkloadShape,
} from "../../src/index.ts";
import { exclusions, ipPool, pool } from "../objects.ts";

const leaving = readPool({
    ...ipPool("leaving", "10.1.0.40-10.1.0.49"),
    metadata: { name: "leaving", deletionTimestamp: "2026-01-01T00:00:00Z" },
});
const pools = [leaving, pool("p", "10.1.0.8/29"), pool("q", "10.1.0.20-10.1.0.29"), pool("six", "fd00::/64")] as const;
const byName = new Map<string, Pool>(pools.map((one) => [one.name, one]));
const context: WorkloadContext = {
    pool: (name) => byName.get(name),
    exclusions: exclusions({ nodes: ["10.1.0.10"] }, ...pools),
};

function texts({ errors, warnings }: Verdict): {
    readonly errors: readonly string[];
    readonly warnings: readonly string[];
} {
    return { errors: errors.map(refusalText), warnings };
}

function annotations(list: string | undefined, ips?: string): Annotations {
    return {
        ...(list === undefined ? {} : { [poolsAnnotation]: list }),
        ...(ips === undefined ? {} : { [podIpsAnnotation]: ips }),
    };
}

const none = { errors: [], warnings: [] };
const at = "metadata.annotations[ipam.antrea.io/";

interface Row {
    readonly name: string;
    readonly own: Annotations;
    readonly namespace?: Annotations;
    /** Verdicts common to Pods and templates, by the path below the template's. */
    readonly errors?: readonly string[];
    readonly warnings?: readonly string[];
}

const rows: readonly Row[] = [
    { name: "no annotation", own: undefined },
    { name: "a pool", own: annotations("p") },
    { name: "pools of both families", own: annotations("p,six") },
    { name: "several pools of a family", own: annotations("q,p") },
    { name: "blanks around names", own: annotations(" p , six ,") },
    { name: "a fixed address", own: annotations("p", "10.1.0.9") },
    { name: "fixed addresses of both families", own: annotations("p,six", "10.1.0.9,fd00::9") },
    { name: "a fixed address of one family of two", own: annotations("p,six", "fd00::9") },
    { name: "several pools of the other family", own: annotations("p,six,q", "fd00::9") },
    { name: "blank pod-ips", own: annotations("p", " ") },
    { name: "blank pod-ips without a pool", own: annotations(undefined, " , ") },
    {
        name: "a fixed address of the Namespace's pool",
        own: annotations(undefined, "10.1.0.9"),
        namespace: annotations("p"),
    },
    {
        name: "an empty list",
        own: annotations(""),
        namespace: annotations("p"),
        errors: [`${at}ippools]: it must name at least one IPPool`],
    },
    { name: "a blank list", own: annotations(" , "), errors: [`${at}ippools]: it must name at least one IPPool`] },
    {
        name: "a repeated pool",
        own: annotations("p,six,p"),
        errors: [`${at}ippools] "p,six": IPPool "p" is named more than once`],
    },
    {
        name: "malformed pod-ips",
        own: annotations("p", "10.1.0.9/24"),
        errors: [
            `${at}pod-ips] "10.1.0.9/24": "10.1.0.9/24" is not an IP address: a prefix length is not allowed here`,
        ],
    },
    {
        name: "two of one family",
        own: annotations("p", "10.1.0.9,10.1.0.11"),
        errors: [
            `${at}pod-ips] "10.1.0.9,10.1.0.11": it must have at most one IPv4 address: "10.1.0.11" is a further one`,
        ],
    },
    {
        name: "pod-ips outside the pool",
        own: annotations("p", "10.1.0.20"),
        errors: [`${at}pod-ips] "10.1.0.20": IPPool "p" does not hand it out: it is not in its ranges`],
    },
    {
        name: "pod-ips at the edge of a CIDR",
        own: annotations("p", "10.1.0.8"),
        errors: [
            `${at}pod-ips] "10.1.0.8": IPPool "p" does not hand it out: it is the first or last address of the CIDR of spec.ipRanges[0]`,
        ],
    },
    {
        name: "pod-ips of a Node",
        own: annotations("p", "10.1.0.10"),
        errors: [`${at}pod-ips] "10.1.0.10": IPPool "p" does not hand it out: it is an address of a Node`],
    },
    {
        name: "pod-ips that is the gateway",
        own: annotations("six", "fd00::1"),
        errors: [`${at}pod-ips] "fd00::1": IPPool "six" does not hand it out: it is a gateway`],
    },
    {
        name: "pod-ips outside the pool of the Namespace",
        own: annotations(undefined, "10.1.0.9"),
        namespace: annotations("q"),
        errors: [`${at}pod-ips] "10.1.0.9": IPPool "q" does not hand it out: it is not in its ranges`],
    },
    {
        name: "the own list beats that of the Namespace",
        own: annotations("q", "10.1.0.9"),
        namespace: annotations("p"),
        errors: [`${at}pod-ips] "10.1.0.9": IPPool "q" does not hand it out: it is not in its ranges`],
    },
    {
        name: "pod-ips of a family without a pool",
        own: annotations("p", "fd00::9"),
        errors: [`${at}pod-ips] "fd00::9": no IPPool of p is of IPv6`],
    },
    {
        name: "pod-ips without any pool",
        own: annotations(undefined, "10.1.0.9"),
        errors: [
            `${at}pod-ips] "10.1.0.9": needs an IPPool: name it in annotation ipam.antrea.io/ippools here or on the Namespace`,
        ],
    },
    {
        name: "pod-ips with two pools of its family",
        own: annotations("p,q", "10.1.0.9"),
        errors: [
            `${at}pod-ips] "10.1.0.9": needs exactly one IPPool of its family, and "p" and "q" are of IPv4: name one`,
        ],
    },
    {
        name: "one address wrong, one right",
        own: annotations("p,six", "fd00::9,10.1.0.99"),
        errors: [`${at}pod-ips] "10.1.0.99": IPPool "p" does not hand it out: it is not in its ranges`],
    },
    {
        name: "a pool of the Namespace that does not exist",
        own: undefined,
        namespace: annotations("later"),
        warnings: [
            `metadata.annotations[ipam.antrea.io/ippools] of the Namespace "later": there is no IPPool of this name yet; create it first`,
        ],
    },
];

describe("a Pod that is created", () => {
    it("may name a pool that is being deleted, which may have its ordinal's address, with a warning", () => {
        const object = { metadata: { annotations: annotations("p,leaving") } };
        const rule = "is being deleted and hands out no new address; name another IPPool";
        const pod = { old: undefined, object, namespace: undefined };
        expect(texts(checkPod(pod, context))).toEqual({ errors: [], warnings: [`${at}ippools] "leaving": ${rule}`] });
        const template = { old: undefined, object: { spec: { template: object } }, namespace: undefined };
        expect(texts(checkPodTemplate("StatefulSet", template, context))).toEqual({
            errors: [],
            warnings: [`spec.template.${at}ippools] "leaving": ${rule}`],
        });
        const inherits = { old: undefined, object: {}, namespace: annotations("leaving") };
        expect(checkPod(inherits, context).warnings).toEqual([expect.stringContaining(rule)]);
        const named = checkNamespace({ old: undefined, annotations: annotations("leaving") }, context, []);
        expect(texts(named)).toEqual({ errors: [], warnings: [`${at}ippools] "leaving": ${rule}`] });
    });

    it.each(rows)("$name", ({ own, namespace, errors = [], warnings = [] }) => {
        const verdict = checkPod({ old: undefined, object: { metadata: { annotations: own } }, namespace }, context);
        expect(texts(verdict)).toEqual({ errors, warnings });
    });

    it("is refused with an unknown pool", () => {
        const object = { metadata: { annotations: annotations("p,later") } };
        expect(texts(checkPod({ old: undefined, object, namespace: undefined }, context))).toEqual({
            errors: [`${at}ippools] "later": there is no IPPool of this name; create it first`],
            warnings: [],
        });
    });

    it.each([
        ["pol", 'there is no IPPool of this name; create it first, or choose one of "pool", "pool-a", "other-pool"'],
        ["pool;pool-a", "there is no IPPool of this name; names are separated by commas"],
        ["pool pool-a", "there is no IPPool of this name; names are separated by commas"],
    ])("is informed what to do about an unknown pool: %s", (name, rule) => {
        const object = { metadata: { annotations: annotations(name) } };
        const known = { ...context, poolNames: () => ["other-pool", "pool-a", "pool"] };
        expect(texts(checkPod({ old: undefined, object, namespace: undefined }, known)).errors).toEqual([
            `${at}ippools] "${name}": ${rule}`,
        ]);
    });

    it("is warned where a fixed address cannot be checked yet", () => {
        const object = { metadata: { annotations: annotations(undefined, "fd00::9") } };
        const { errors, warnings } = checkPod({ old: undefined, object, namespace: annotations("p,later") }, context);
        expect(errors).toEqual([]);
        expect(warnings).toContain(`${at}pod-ips]: fd00::9 cannot be checked, IPPool "later" does not exist yet`);
    });

    it("is not judged when it uses the network of its Node", () => {
        const object = { metadata: { annotations: annotations("", "nonsense") }, spec: { hostNetwork: true } };
        expect(texts(checkPod({ old: undefined, object, namespace: annotations("later") }, context))).toEqual({
            errors: [],
            warnings: [
                `${at}ippools] has no effect: the Pod uses the network of its Node`,
                `${at}pod-ips] has no effect: the Pod uses the network of its Node`,
            ],
        });
        expect(
            texts(checkPod({ old: undefined, object: { spec: { hostNetwork: true } }, namespace: undefined }, context)),
        ).toEqual(none);
    });
});

describe("a Pod that is changed", () => {
    const bad = { metadata: { annotations: annotations("", "nonsense") } };

    it.each([
        [
            "unrelated edits of a bad one",
            bad,
            { metadata: { annotations: { ...annotations("", "nonsense"), other: "x" } } },
        ],
        ["unrelated edits without annotations", {}, { metadata: { annotations: { other: "x" } } }],
    ])("may have %s", (_name, old, object) => {
        expect(checkPod({ old, object, namespace: annotations("q") }, context)).toEqual(none);
    });

    it.each([
        [
            "pools changed",
            annotations("p"),
            annotations("q"),
            [`${at}ippools] "q": cannot be changed (it was "p"): delete and create the object`],
        ],
        [
            "pools re-spelled",
            annotations("p,six"),
            annotations("p, six"),
            [`${at}ippools] "p, six": cannot be changed (it was "p,six"): delete and create the object`],
        ],
        [
            "pools added",
            undefined,
            annotations("p"),
            [`${at}ippools] "p": cannot be changed (it was not set): delete and create the object`],
        ],
        [
            "pools removed",
            annotations("p"),
            {},
            [`${at}ippools]: cannot be removed (it was "p"): delete and create the object`],
        ],
        [
            "bad pools mended",
            annotations(""),
            annotations("p"),
            [`${at}ippools] "p": cannot be changed (it was ""): delete and create the object`],
        ],
        [
            "pod-ips changed",
            annotations("p", "10.1.0.9"),
            annotations("p", "10.1.0.11"),
            [`${at}pod-ips] "10.1.0.11": cannot be changed (it was "10.1.0.9"): delete and create the object`],
        ],
        [
            "blank pod-ips added",
            annotations("p"),
            annotations("p", ""),
            [`${at}pod-ips]: cannot be changed (it was not set): delete and create the object`],
        ],
    ])("must not have %s", (_name, before, after, errors) => {
        const verdict = checkPod(
            {
                old: { metadata: { annotations: before } },
                object: { metadata: { annotations: after } },
                namespace: undefined,
            },
            context,
        );
        expect(texts(verdict)).toEqual({ errors, warnings: [] });
    });
});

function workload(own: Annotations, spec: WorkloadShape["spec"] = {}): WorkloadShape {
    return { spec: { replicas: 1, ...spec, template: { metadata: { annotations: own } } } };
}

describe.each(["Deployment", "StatefulSet"] as const)("a %s", (kind) => {
    const strategy = { type: "Recreate" };
    const check = (old: WorkloadShape | undefined, object: WorkloadShape, namespace?: Annotations): Verdict =>
        checkPodTemplate(kind, { old, object, namespace }, context);

    it.each(rows)("that is created: $name", ({ own, namespace, errors = [], warnings = [] }) => {
        expect(texts(check(undefined, workload(own, { strategy }), namespace))).toEqual({
            errors: errors.map((error) => (error.startsWith(at) ? `spec.template.${error}` : error)),
            warnings,
        });
    });

    it("is warned of an unknown pool, and that a fixed address cannot be checked", () => {
        expect(texts(check(undefined, workload(annotations("later", "10.1.0.9"), { strategy })))).toEqual({
            errors: [],
            warnings: [
                `spec.template.${at}ippools] "later": there is no IPPool of this name yet; create it first`,
                `spec.template.${at}pod-ips]: 10.1.0.9 cannot be checked, IPPool "later" does not exist yet`,
            ],
        });
    });

    it("without a template is not judged", () => {
        expect(check(undefined, {})).toEqual(none);
        expect(check({}, {})).toEqual(none);
    });

    const many = "must not be above 1: annotation ipam.antrea.io/pod-ips of the template names one Pod's addresses";

    it.each([
        ["created with 2", undefined, 2, [`spec.replicas "2": ${many}`]],
        ["created with 1", undefined, 1, []],
        ["created with 0", undefined, 0, []],
        ["created without a number", undefined, undefined, []],
        ["scaled from 1 to 3", 1, 3, [`spec.replicas "3": ${many}`]],
        ["scaled from 0 to 1", 0, 1, []],
        ["scaled from 3, admitted earlier, to 4", 3, 4, [`spec.replicas "4": ${many}`]],
        ["scaled from 3, admitted earlier, to 2", 3, 2, []],
        ["admitted earlier with 3, other things edited", 3, 3, []],
    ])("with pod-ips, %s", (_name, before, after, errors) => {
        const own = annotations("p", "10.1.0.9");
        const count = (replicas: number | undefined): WorkloadShape => ({
            spec: {
                ...(replicas === undefined ? {} : { replicas }),
                strategy,
                template: { metadata: { annotations: own } },
            },
        });
        const old = before === undefined ? undefined : count(before);
        expect(texts(check(old, count(after)))).toEqual({ errors, warnings: [] });
        if (old !== undefined && after !== undefined)
            expect(texts(checkScale(old, after))).toEqual({ errors, warnings: [] });
    });

    it("may have more replicas than there are addresses, and scale without pod-ips", () => {
        expect(check(undefined, workload(annotations("p"), { replicas: 5000 }))).toEqual(none);
        expect(check(workload(annotations("p", " ")), workload(annotations("p", " "), { replicas: 9 }))).toEqual(none);
        expect(checkScale(workload(annotations("p")), 9)).toEqual(none);
    });

    it("may be edited though it was admitted with bad values", () => {
        const bad = workload(annotations("p,p,later", "10.1.0.99,10.1.0.98"), { strategy });
        expect(check(bad, { spec: { ...bad.spec, replicas: 0 } })).toEqual(none);
    });

    it("must not have its annotations changed", () => {
        const before = workload(annotations("p", "10.1.0.9"), { strategy });
        expect(texts(check(before, workload(annotations("q"), { strategy }))).errors).toEqual([
            `spec.template.${at}ippools] "q": cannot be changed (it was "p"): delete and create the object`,
            `spec.template.${at}pod-ips]: cannot be removed (it was "10.1.0.9"): delete and create the object`,
        ]);
    });
});

describe("a Deployment with a fixed address", () => {
    const fixed = annotations("p", "10.1.0.9");
    const create = (strategy?: { readonly type: string }): Verdict =>
        checkPodTemplate(
            "Deployment",
            { old: undefined, object: workload(fixed, strategy && { strategy }), namespace: undefined },
            context,
        );

    it("is warned of a rolling update, which is the default", () => {
        for (const verdict of [create(), create({ type: "RollingUpdate" })]) {
            expect(verdict.errors).toEqual([]);
            expect(verdict.warnings).toEqual([
                expect.stringMatching(/^spec\.strategy\.type "RollingUpdate": .* use "Recreate"$/),
            ]);
        }
        expect(create({ type: "Recreate" })).toEqual(none);
    });

    it("is warned again only when it becomes one", () => {
        const [recreate, rolling] = [workload(fixed, { strategy: { type: "Recreate" } }), workload(fixed)];
        const change = (old: WorkloadShape, object: WorkloadShape): Verdict =>
            checkPodTemplate("Deployment", { old, object, namespace: undefined }, context);
        expect(change(rolling, rolling)).toEqual(none);
        expect(change(rolling, recreate)).toEqual(none);
        expect(change(recreate, rolling).warnings).toHaveLength(1);
    });

    it("is not warned without one, nor is a StatefulSet", () => {
        const request = { old: undefined, object: workload(annotations("p")), namespace: undefined };
        expect(checkPodTemplate("Deployment", request, context)).toEqual(none);
        expect(checkPodTemplate("StatefulSet", { ...request, object: workload(fixed) }, context)).toEqual(none);
    });
});
