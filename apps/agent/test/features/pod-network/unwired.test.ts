import { expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import type { KnownPod } from "../../../src/features/pod-network/index.ts";
import { UnwiredPods } from "../../../src/features/pod-network/unwired.ts";
import { podRecord } from "../../support/records.ts";

const ip = parseIp("10.10.1.77");
const pod: KnownPod = {
    uid: "uid-77",
    namespace: "default",
    name: "web-0",
    hostNetwork: false,
    ended: false,
    hasSandbox: true,
    podIps: [ip],
};
const staticPod: KnownPod = { ...pod, uid: "uid-of-the-mirror", staticUid: "hash" };

it.each([
    ["by its name and UID", pod, { podNamespace: "default", podName: "web-0", podUid: "uid-77" }, false],
    ["by its UID, without its name", pod, { podNamespace: "", podName: "", podUid: "uid-77" }, false],
    ["by its name, without its UID", pod, { podNamespace: "default", podName: "web-0", podUid: "" }, false],
    ["by the hash of its file alone", staticPod, { podNamespace: "", podName: "", podUid: "hash" }, false],
    ["by neither", pod, { podNamespace: "", podName: "", podUid: "" }, true],
    ["by neither, as a static Pod", staticPod, { podNamespace: "", podName: "", podUid: "" }, true],
    ["as one of another Namespace", pod, { podNamespace: "other", podName: "web-0", podUid: "uid-1" }, true],
])("a Pod that an interface is known to be of %s runs without one or not", (_, known, names, isUnwired) => {
    const unwired = new UnwiredPods();
    const records = [podRecord(names)];
    const check = (): number => unwired.check([{ ip, podUid: known.uid }], [known], records).length;
    check();
    expect(check()).toBe(isUnwired ? 1 : 0);
});
