import { beforeEach, expect, it } from "@jest/globals";
import { type Pod } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { AllocationOwners } from "../../../src/features/ip-pools/allocation-owners.ts";
import { away } from "./support/fake-api.ts";

const web = { namespace: "default", name: "web-0", uid: "uid-web-0" };
const nameless = { namespace: "", name: "", uid: "uid-web-0" };
const set = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "uid-set", controller: true };
const ordinal = { kind: "StatefulSet", namespace: "default", name: "web", uid: "uid-set", index: 0 };
const ofSet: Pod = { metadata: { ...web, ownerReferences: [set] } };
const { signal } = new AbortController();

let log: MemoryLog;
let asked: number;

beforeEach(() => {
    log = new MemoryLog();
    asked = 0;
});

/** By what the watch has delivered of the Pod, and what the API server answers. */
function owners(known: Pod | undefined, answer: () => Promise<Pod | undefined>): AllocationOwners {
    const live = (): Promise<Pod | undefined> => {
        asked += 1;
        return answer();
    };
    return new AllocationOwners({ pods: { known: () => known, live }, logger: log.logger });
}

it("is found by what the watch has of the Pod, and nobody is asked then", async () => {
    const found = await owners(ofSet, () => Promise.reject(away())).find(nameless, signal);
    expect([found, asked]).toEqual([{ pod: web, owner: ordinal }, 0]);
});

it("is the Pod as it is known when the API server has no such Pod, or one without owners", async () => {
    const alone = { pod: web, owner: undefined };
    expect(await owners(undefined, () => Promise.resolve(undefined)).find(web, signal)).toEqual(alone);
    expect(await owners(undefined, () => Promise.resolve({ metadata: web })).find(nameless, signal)).toEqual(alone);
    expect([asked, log.messages("warn")]).toEqual([2, []]);
});

it.each([
    ["name", web, { pod: "default/web-0" }],
    ["UID, when the name is not known,", nameless, { podUid: "uid-web-0" }],
])("is logged by the Pod's %s when the API server does not answer", async (_, pod, fields) => {
    expect(await owners(undefined, () => Promise.reject(away())).find(pod, signal)).toEqual({ pod, owner: undefined });
    expect(log.records).toEqual([expect.objectContaining({ ...fields, reason: expect.any(String) })]);
    expect(Object.keys(log.records[0] ?? {}).filter((key) => key.startsWith("pod"))).toEqual(Object.keys(fields));
});
