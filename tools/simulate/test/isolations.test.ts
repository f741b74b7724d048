import { beforeEach, describe, expect, it } from "@jest/globals";
import { allocationName } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { type EventInput, type KubeObject } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { Store } from "../api/store.ts";
import { Isolations } from "../check/isolations.ts";
import { type Container } from "../check/truth.ts";

const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const nodeKind = kindOf("v1", "nodes");
const ip = parseIp("10.20.0.26");
const name = allocationName(ip);
const pod = { podNamespace: "default", podName: "web", podUid: "uid" };

let store: Store;
let isolations: Isolations;

const allocate = (uid: string | undefined): void =>
    void store.put(allocationKind, { metadata: { name }, spec: { pod: uid && { uid } } } as KubeObject);
const free = (): void => void store.delete(allocationKind, name);
const putNode = (node: string, podCIDRs: readonly string[]): void =>
    void store.put(nodeKind, { metadata: { name: node }, spec: { podCIDRs } } as KubeObject);
const made = (): Container => ({ id: "a", node: "node", ...pod, since: store.version });
const report = (address: string, podName = "web"): void => {
    const regarding = { kind: "Pod", namespace: "default", name: podName };
    const note = `the Pod has no traffic: it was isolated because its address ${address} was or may have been assigned`;
    isolations.recorded({ reason: "PodIsolated", regarding, note } as EventInput);
};

beforeEach(() => {
    store = new Store();
    isolations = new Isolations();
    store.onChange((change) => isolations.changed(change));
});

describe("an interface whose address nobody has may stay isolated", () => {
    it.each([
        ["another Pod had it", () => allocate("other")],
        ["it was reserved", () => allocate(undefined)],
        ["another Node's subnet contained it", () => putNode("other", ["10.20.0.0/24"])],
    ])("if %s since the container was made, and an event reports that it stays so", (_, had) => {
        const container = made();
        had();
        free();
        store.delete(nodeKind, "other");
        expect(isolations.mayStay(container, ip)).toBe(false);
        report("10.20.0.27");
        report("10.20.0.26", "other");
        expect(isolations.mayStay(container, ip)).toBe(false);
        report("10.20.0.26");
        expect(isolations.mayStay(container, ip)).toBe(true);
    });

    it("if its Node was deleted meanwhile", () => {
        putNode("node", ["10.20.0.0/24"]);
        const container = made();
        report("10.20.0.26");
        expect(isolations.mayStay(container, ip)).toBe(false);
        store.delete(nodeKind, "node");
        expect(isolations.mayStay(container, ip)).toBe(true);
    });

    it("not if the event is of an earlier container", () => {
        putNode("node", []);
        const earlier = made();
        report("10.20.0.26");
        allocate("other");
        free();
        const container = made();
        allocate("other");
        free();
        expect([earlier, container].map((one) => isolations.mayStay(one, ip))).toEqual([true, false]);
        report("10.20.0.26");
        expect(isolations.mayStay(container, ip)).toBe(true);
    });

    it("not for what was before the container, or of its own Pod, or elsewhere", () => {
        allocate("other");
        free();
        putNode("other", ["10.20.1.0/24"]);
        const container = made();
        allocate("uid");
        free();
        store.delete(nodeKind, "other");
        report("10.20.0.26");
        expect(isolations.mayStay(container, ip)).toBe(false);
    });
});
