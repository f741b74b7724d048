import { describe, expect, it } from "@jest/globals";
import { poolsAnnotation } from "@antrea/crd";
import {
    changesNamespacePools,
    checkNamespace,
    isEnded,
    refusalText,
    usesNamespacePools,
    type Annotations,
} from "../../src/index.ts";
import { pool } from "../objects.ts";

const pools = new Map(
    [pool("p", "10.1.0.8/29"), pool("q", "10.1.0.20"), pool("six", "fd00::/64")].map((one) => [one.name, one]),
);
const context = { pool: (name: string) => pools.get(name) };
const path = `metadata.annotations[${poolsAnnotation}]`;

function naming(text: string | undefined): Annotations {
    return text === undefined ? undefined : { [poolsAnnotation]: text };
}

function check(old: string | undefined, text: string | undefined, users: readonly string[]): readonly string[] {
    return checkNamespace({ old: naming(old), annotations: naming(text) }, context, users).errors.map(refusalText);
}

describe("a Namespace", () => {
    it.each([
        ["created without", undefined, undefined, []],
        ["created with a pool", undefined, "p", []],
        ["created with one of each family", undefined, " six, p ", []],
        ["given one later, with Pods there", undefined, "p", ["Pod a"]],
        ["changed while no Pod uses it", "p", "q", []],
        ["removed while no Pod uses it", "p", undefined, []],
        ["re-spelled, with Pods there", "p,six", " p , six", ["Pod a"]],
        ["unrelated edits of a bad one", "p,q,p", "p,q,p", ["Pod a"]],
        ["an empty one mended", "", "p", ["Pod a"]],
        ["a repeated one mended", "p,p", "p", ["Pod a"]],
    ])("is allowed: %s", (_name, old, text, users) => {
        expect(check(old, text, users)).toEqual([]);
    });

    it.each([
        ["empty", undefined, "", [], [`${path}: it must name at least one IPPool`]],
        ["blank", "p", " ,", [], [`${path} " ,": it must name at least one IPPool`]],
        ["repeated", undefined, "p,p", [], [`${path} "p,p": IPPool "p" is named more than once`]],
        [
            "two of one family",
            undefined,
            "p,six,q",
            [],
            [`${path} "p,six,q": a Namespace takes at most one IPPool of a family: "p" and "q" are of IPv4`],
        ],
        [
            "changed while Pods use it",
            "p",
            "q",
            ["Pod a", "Pod b"],
            [
                `${path} "q": cannot be changed (it was "p") while addresses of it are used here: Pod a, Pod b; delete these first`,
            ],
        ],
        [
            "extended while Pods use it",
            "p",
            "p,six",
            ["Pod a"],
            [
                `${path} "p,six": cannot be changed (it was "p") while addresses of it are used here: Pod a; delete these first`,
            ],
        ],
        [
            "removed while Pods use it",
            "p",
            undefined,
            ["Pod a", "Pod b", "Pod c", "Pod d"],
            [
                `${path}: cannot be removed (it was "p") while addresses of it are used here: Pod a, Pod b, Pod c and 1 more; delete these first`,
            ],
        ],
    ])("is refused: %s", (_name, old, text, users, errors) => {
        expect(check(old, text, users)).toEqual(errors);
    });

    it("may name a pool that follows, with a warning", () => {
        expect(checkNamespace({ old: undefined, annotations: naming("p,later") }, context, [])).toEqual({
            errors: [],
            warnings: [`${path} "later": there is no IPPool of this name yet; create it first`],
        });
    });
});

describe("changesNamespacePools", () => {
    it.each([
        ["p,q", "p,r", true],
        [undefined, undefined, false],
        [undefined, "p", false],
        ["", "p", false],
        ["p", "p", false],
        ["p", "p,", false],
        ["p", undefined, true],
        ["p", "", true],
        ["p", "q", true],
        ["p,six", "six,p", true],
        ["p", "p,six", true],
    ])("from %p to %p: %p", (old, text, changes) => {
        expect(changesNamespacePools(naming(old), naming(text))).toBe(changes);
    });
});

describe("a Pod uses the pools of its Namespace", () => {
    it.each([
        ["plain", {}, true],
        ["running", { status: { phase: "Running" } }, true],
        ["with other annotations", { metadata: { annotations: { other: "x" } } }, true],
        ["with its own list", { metadata: { annotations: naming("p") } }, false],
        ["with an empty list of its own", { metadata: { annotations: naming("") } }, false],
        ["on the network of its Node", { spec: { hostNetwork: true } }, false],
        ["that succeeded", { status: { phase: "Succeeded" } }, false],
        ["that failed", { status: { phase: "Failed" } }, false],
    ])("%s", (_name, pod, uses) => {
        expect(usesNamespacePools(pod)).toBe(uses);
    });

    it("and is ended when it succeeded or failed", () => {
        const phases = ["Pending", "Running", "Unknown", "Succeeded", "Failed"];
        expect(phases.map((phase) => isEnded({ status: { phase } }))).toEqual([false, false, false, true, true]);
        expect(isEnded({})).toBe(false);
    });
});
