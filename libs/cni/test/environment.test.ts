import { describe, expect, it } from "@jest/globals";
import { CniCallError, parseCniArgs, parseEnvironment } from "../src/index.ts";

const whole = {
    CNI_COMMAND: "ADD",
    CNI_CONTAINERID: "3f69-a_b.c",
    CNI_NETNS: "/run/netns/x",
    CNI_IFNAME: "eth0",
    CNI_ARGS: "A=b",
    CNI_PATH: "/opt/cni/bin",
};

function refusal(action: () => unknown): string {
    try {
        action();
    } catch (error) {
        if (error instanceof CniCallError) return `${error.cniCode} ${error.message}`;
        throw error;
    }
    return "accepted";
}

describe("parseEnvironment", () => {
    it("reads all variables", () => {
        expect(parseEnvironment(whole)).toEqual({
            command: "ADD",
            args: {
                containerId: "3f69-a_b.c",
                netns: "/run/netns/x",
                ifname: "eth0",
                args: "A=b",
                path: "/opt/cni/bin",
            },
        });
    });

    it.each([
        ["DEL", "CNI_NETNS"],
        ["GC", "CNI_CONTAINERID"],
        ["STATUS", "CNI_IFNAME"],
        ["VERSION", "CNI_CONTAINERID"],
    ])("%s does not need %s", (command, variable) => {
        expect(parseEnvironment({ ...whole, CNI_COMMAND: command, [variable]: "" }).command).toBe(command);
    });

    it.each([
        ["no command", { CNI_COMMAND: undefined }, "4 CNI_COMMAND is not set"],
        ["an unknown command", { CNI_COMMAND: "add" }, '4 CNI_COMMAND: "add" is none of ADD, CHECK, DEL, GC'],
        ["an inherited name as command", { CNI_COMMAND: "toString" }, "4 CNI_COMMAND"],
        ["no container id", { CNI_CONTAINERID: "" }, "4 CNI_CONTAINERID must be set for ADD"],
        [
            "nothing",
            { CNI_CONTAINERID: "", CNI_NETNS: "", CNI_IFNAME: "" },
            "CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME must",
        ],
        ["CHECK without namespace", { CNI_COMMAND: "CHECK", CNI_NETNS: "" }, "4 CNI_NETNS must be set for CHECK"],
        ["DEL without interface", { CNI_COMMAND: "DEL", CNI_IFNAME: "" }, "4 CNI_IFNAME must be set for DEL"],
        ["a wrong container id", { CNI_CONTAINERID: "../x" }, '4 CNI_CONTAINERID: "../x" must start with'],
        ["a long interface name", { CNI_IFNAME: "a".repeat(16) }, "must not exceed 15 bytes"],
        ["a name of 16 bytes", { CNI_IFNAME: "ü".repeat(8) }, "must not exceed 15 bytes"],
        ["a name with a colon", { CNI_IFNAME: "eth0:1" }, "must not contain"],
        ["a name with white space", { CNI_IFNAME: "eth\t0" }, 'CNI_IFNAME: "eth\\t0" must not contain'],
        ["the name ..", { CNI_IFNAME: ".." }, "must not be '.' or '..'"],
    ])("refuses %s", (_name, change, expected) => {
        expect(refusal(() => parseEnvironment({ ...whole, ...change }))).toContain(expected);
    });
});

describe("parseCniArgs", () => {
    it("reads the keys of Kubernetes runtimes and keeps the others", () => {
        const text =
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=kube-system;K8S_POD_NAME=web-0.a;K8S_POD_INFRA_CONTAINER_ID=3f69;" +
            "K8S_POD_UID=5a2c-7f;EMPTY=;X=a=b;";
        expect(parseCniArgs(text)).toEqual({
            all: new Map([
                ["IgnoreUnknown", "1"],
                ["K8S_POD_NAMESPACE", "kube-system"],
                ["K8S_POD_NAME", "web-0.a"],
                ["K8S_POD_INFRA_CONTAINER_ID", "3f69"],
                ["K8S_POD_UID", "5a2c-7f"],
                ["EMPTY", ""],
                ["X", "a=b"],
            ]),
            podName: "web-0.a",
            podNamespace: "kube-system",
            podUid: "5a2c-7f",
            infraContainerId: "3f69",
        });
        expect(parseCniArgs("")).toEqual({ all: new Map() });
    });

    it.each([
        ["no pair", "A", '4 CNI_ARGS: "A" must be a pair KEY=VALUE'],
        ["no key", "=A", '4 CNI_ARGS: "=A"'],
        ["a Pod name with a slash", "K8S_POD_NAME=a/b", '4 CNI_ARGS.K8S_POD_NAME: "a/b" must be a DNS subdomain'],
        ["a long Namespace", `K8S_POD_NAMESPACE=${"a".repeat(64)}`, "4 CNI_ARGS.K8S_POD_NAMESPACE"],
        ["a wrong UID", "K8S_POD_UID=a b", "4 CNI_ARGS.K8S_POD_UID"],
        ["a wrong container id", "K8S_POD_INFRA_CONTAINER_ID=-", "4 CNI_ARGS.K8S_POD_INFRA_CONTAINER_ID"],
    ])("refuses %s", (_name, text, expected) => {
        expect(refusal(() => parseCniArgs(text))).toContain(expected);
    });
});
