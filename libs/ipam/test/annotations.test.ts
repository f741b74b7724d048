import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { poolsOf, readPodIps, readPoolNames, statefulSetOf } from "../src/index.ts";

const sixteen = Array.from({ length: 16 }, (_, at) => `pool${at}`);

describe("readPoolNames", () => {
    it.each([
        ["one", "pool1", ["pool1"], []],
        ["two, in their order", "pool2,pool1", ["pool2", "pool1"], []],
        ["trimmed", "  pool1 ,\tpool2\n", ["pool1", "pool2"], []],
        ["empty items skipped", ",pool1,,pool2,", ["pool1", "pool2"], []],
        ["empty", "", [], ["it must name at least one IPPool"]],
        ["blank", " , ", [], ["it must name at least one IPPool"]],
        ["repeated", "a,b,a,a", ["a", "b"], ['IPPool "a" is named more than once']],
        ["as many as are allowed", sixteen.join(), sixteen, []],
        [
            "one too many",
            [...sixteen, "more"].join(),
            [...sixteen, "more"],
            ["it names 17 IPPools; at most 16 are allowed"],
        ],
    ])("%s", (_name, text, names, problems) => {
        expect(readPoolNames(text)).toEqual({ names, problems });
    });

    it("very many, each twice", () => {
        const names = Array.from({ length: 2_000 }, (_, at) => at.toString(36));
        const read = readPoolNames([...names, ...names].join());
        expect(read.names).toHaveLength(2_000);
        expect(read.problems).toContain("it names 2000 IPPools; at most 16 are allowed");
        expect(read.problems.length).toBeLessThan(20);
    });

    // Comparing each with each would take minutes. A process of its own can be ended meanwhile: in this one, no limit of
    // time is checked before it is done.
    it("more than an annotation has room for", async () => {
        const program = `import { readPoolNames } from ${JSON.stringify(import.meta.resolve("../src/index.ts"))};
            const names = Array.from({ length: 150_000 }, (_, at) => at.toString(36));
            console.log(readPoolNames([...names, ...names].join()).names.length);`;
        const args = ["--no-warnings", "--input-type=module", "--eval", program];
        const env = { ...process.env, NODE_OPTIONS: "" };
        const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
        expect(stdout).toBe("150000\n");
    });
});

describe("readPodIps", () => {
    it.each([
        ["one", "10.2.0.12", ["10.2.0.12"]],
        ["one of each family", "10.2.0.12,fd00::12", ["10.2.0.12", "fd00::12"]],
        ["IPv6 first, spelled long", " fd00:0::0012 , 10.2.0.12 ,", ["fd00::12", "10.2.0.12"]],
        ["blank means none", " ", []],
        ["empty items only", ",, ,", []],
    ])("%s", (_name, text, ips) => {
        const read = readPodIps(text);
        expect(read.ips.map(formatIp)).toEqual(ips);
        expect(read.problems).toEqual([]);
    });

    it.each([
        ["no address", "pool1", "an IPv4 or IPv6 address"],
        ["a prefix", "10.2.0.12/24", "a prefix length is not allowed here"],
        ["a leading zero", "10.2.0.012", "must not start with 0"],
        ["a range", "10.2.0.12-10.2.0.13", "an IPv4 or IPv6 address"],
        ["IPv4-mapped", "::ffff:10.2.0.12", "write 10.2.0.12"],
        ["two of IPv4", "10.2.0.12,10.2.0.13", 'at most one IPv4 address: "10.2.0.13" is a further one'],
        ["two of IPv6", "fd00::1,10.2.0.1,fd00::2", 'at most one IPv6 address: "fd00::2" is a further one'],
        ["one twice", "fd00::1,fd00::1", "at most one IPv6 address"],
        ["a space inside", "10.2. 0.12", "an IPv4 or IPv6 address"],
    ])("reports %s", (_name, text, problem) => {
        const { problems } = readPodIps(text);
        expect(problems).toHaveLength(1);
        expect(problems[0]).toContain(problem);
    });

    it("reports ten problems of many", () => {
        const { problems } = readPodIps("x,".repeat(100_000));
        expect(problems).toHaveLength(11);
        expect(problems.at(-1)).toBe("what follows was not checked");
    });
});

describe("poolsOf", () => {
    it.each([
        ["none", undefined, undefined, undefined],
        ["neither sets it", {}, { other: "x" }, undefined],
        ["the Namespace's", undefined, { [poolsAnnotation]: "n" }, { names: ["n"], problems: [], from: "Namespace" }],
        [
            "the Pod's beats it",
            { [poolsAnnotation]: "p" },
            { [poolsAnnotation]: "n" },
            { names: ["p"], problems: [], from: "Pod" },
        ],
        [
            "an empty one of the Pod is no way out",
            { [poolsAnnotation]: "" },
            { [poolsAnnotation]: "n" },
            { names: [], problems: ["it must name at least one IPPool"], from: "Pod" },
        ],
        ["pod-ips names no pool", { [podIpsAnnotation]: "10.0.0.1" }, undefined, undefined],
    ])("%s", (_name, pod, namespace, expected) => {
        expect(poolsOf(pod, namespace)).toEqual(expected);
    });
});

describe("statefulSetOf", () => {
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "u1", controller: true };

    it.each([
        ["ordinal 0", "web-0", 0],
        ["a high ordinal", "web-2147483647", 2_147_483_647],
    ])("%s", (_name, name, ordinal) => {
        expect(statefulSetOf({ name, ownerReferences: [owner] })).toEqual({ name: "web", uid: "u1", ordinal });
    });

    it("finds the controller among several owners, and sets whose name ends in a number", () => {
        const other = { ...owner, apiVersion: "v1", kind: "Node", controller: false };
        const numbered = { ...owner, name: "web-1" };
        expect(statefulSetOf({ name: "web-1-3", ownerReferences: [other, numbered] })).toEqual({
            name: "web-1",
            uid: "u1",
            ordinal: 3,
        });
    });

    it.each([
        ["no owner", "web-0", []],
        ["an owner that does not control", "web-0", [{ ...owner, controller: false }]],
        ["a set of another group", "web-0", [{ ...owner, apiVersion: "apps.kruise.io/v1" }]],
        ["another kind", "web-0", [{ ...owner, kind: "ReplicaSet" }]],
        ["a name of another set", "db-0", [owner]],
        ["a name of another set that is as long", "wob-0", [owner]],
        ["a name that only begins like the set's", "web00", [owner]],
        ["no ordinal", "web-", [owner]],
        ["no dash", "web0", [owner]],
        ["a leading zero", "web-00", [owner]],
        ["a word", "web-a", [owner]],
        ["a number that is none", "web-1e3", [owner]],
        ["an ordinal that no set has", "web-2147483648", [owner]],
    ])("gives nothing for %s", (_name, name, ownerReferences) => {
        expect(statefulSetOf({ name, ownerReferences })).toBeUndefined();
    });

    it("gives nothing for a Pod without owners", () => {
        expect(statefulSetOf({ name: "web-0" })).toBeUndefined();
    });
});
