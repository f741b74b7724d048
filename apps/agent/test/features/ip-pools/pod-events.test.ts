import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { type EventInput, type NamedPodUid } from "@antrea/kube";
import { PodEvents } from "../../../src/features/ip-pools/pod-events.ts";
import { type ClaimedAddress } from "../../../src/features/ip-pools/index.ts";

const pod: NamedPodUid = { namespace: "default", name: "web", uid: "uid-web" };
const sandbox = { containerId: "ab12" };
const claimed = (ip: string): ClaimedAddress => {
    return { ip: parseIp(ip), pool: "pool1", gateway: parseIp("10.2.0.1"), prefixLength: 24, vlan: 0 };
};

let recorded: EventInput[];
let events: PodEvents;

beforeEach(() => {
    recorded = [];
    events = new PodEvents({ record: (event) => void recorded.push(event), objectUid: ({ uid }) => uid });
});

describe("events of pool allocation", () => {
    it("are of the Pod's object, whose UID is left out while nobody knows it", () => {
        events.allocationFailed(pod, new Error("no"), sandbox);
        events.allocationFailed({ ...pod, uid: "" }, new Error("no"), sandbox);
        const regarding = { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web" };
        expect(recorded.map((event) => event.regarding)).toEqual([{ ...regarding, uid: "uid-web" }, regarding]);
    });

    it("are of no Pod without a name: nothing is recorded, and whoever asked knows it", () => {
        const unnamed = { namespace: "", name: "", uid: "hash" };
        const report = (one: NamedPodUid): readonly boolean[] => [
            events.heldElsewhere(one, "10.2.0.9", "Pod a/b"),
            events.claimedFromSubnet(one, "10.2.0.9", "pool1", "Pod a/b"),
            events.reservedFromSubnet(one, "10.2.0.9", "pool1", "ordinal 0"),
            events.anothersSubnet(one, "10.2.0.9", "b"),
            events.inAnothersSubnet(one, "10.2.0.9", "b", undefined),
            events.staysIsolated(one, "10.2.0.9"),
            events.poolChanged(one, "10.2.0.9", "why"),
        ];
        expect(report(unnamed)).toEqual([false, false, false, false, false, false, false]);
        events.allocationFailed(unnamed, new Error("no"), sandbox);
        expect(recorded).toEqual([]);
        expect(report(pod)).toEqual([true, true, true, true, true, true, true]);
        expect(recorded).toHaveLength(7);
    });

    it("that no address was allocated are equal for all sandboxes of a Pod", () => {
        for (const containerId of ["ab12", "cd34"]) {
            const error = new Error(`network red: container ${containerId} of Pod default/web has no interface`);
            events.allocationFailed(pod, error, { containerId });
        }
        expect(recorded[0]?.note).toBe("network red: the container of Pod default/web has no interface");
        expect(recorded[1]).toEqual(recorded[0]);
    });

    it("report by reason and action what the agent did, and as warnings what needs a user's attention", () => {
        events.allocationFailed(pod, new Error("why"), sandbox);
        events.waiting(pod, "not reserved yet");
        events.notRouted(pod, [claimed("10.2.0.9"), claimed("fd02::9")]);
        events.heldElsewhere(pod, "10.2.0.9", "Pod a/b");
        events.claimedFromSubnet(pod, "10.2.0.9", "pool1", "Pod a/b");
        events.reservedFromSubnet(pod, "10.2.0.9", "pool1", "ordinal 0");
        events.poolChanged(pod, "10.2.0.9", "IPPool pool1 now specifies VLAN 3");
        expect(recorded.map(({ type, reason, action }) => [type, reason, action].join(" "))).toEqual([
            "Warning IPAllocationFailed AllocateIP",
            "Normal WaitingForAddress AllocateIP",
            "Normal PoolAddressNotRouted AllocateIP",
            "Warning AddressHeldElsewhere Isolate",
            "Warning AddressHeldElsewhere Isolate",
            "Warning AddressHeldElsewhere CompareAllocations",
            "Warning PoolChanged ComparePool",
        ]);
        const notes = recorded.map(({ note }) => note);
        expect(notes.slice(0, 3)).toEqual([
            "why",
            "the Pod waits for its address: not reserved yet",
            "10.2.0.9 (IPPool pool1) and fd02::9 (IPPool pool1): addresses of IPPools are reachable on their own Node only",
        ]);
        expect(notes[3]).toMatch(/^address 10\.2\.0\.9 .* allocated to Pod a\/b; /);
        expect(notes[4]).toMatch(/^address 10\.2\.0\.9 .* allocated from IPPool pool1 to Pod a\/b; /);
        expect(notes[5]).toMatch(/^address 10\.2\.0\.9 .* held in IPPool pool1 by ordinal 0; /);
        expect(notes[6]).toMatch(/^address 10\.2\.0\.9 .*: IPPool pool1 now specifies VLAN 3\. /);
    });

    it.each([
        [
            "the hash that kubelet makes of its manifest, whose mirror Pod is not known yet",
            "d41d8cd98f00",
            "d41d8cd98f00",
        ],
        ["a UID of its manifest, which is not that of its mirror Pod", "own-uid", "uid-mirror"],
    ])("name what to do on the Node of a static Pod: %s", (_, uid, objectUid) => {
        events = new PodEvents({ record: (event) => void recorded.push(event), objectUid: () => objectUid });
        const one = { ...pod, uid };
        events.heldElsewhere(one, "10.2.0.9", "Pod a/b");
        events.claimedFromSubnet(one, "10.2.0.9", "pool1", "Pod a/b");
        events.reservedFromSubnet(one, "10.2.0.9", "pool1", "ordinal 0");
        events.anothersSubnet(one, "10.2.0.9", "b");
        events.inAnothersSubnet(one, "10.2.0.9", "b", undefined);
        events.staysIsolated(one, "10.2.0.9");
        const step = "ove the manifest of this static Pod out of its directory and back to give it an";
        const notes = recorded.map(({ note }) => note);
        expect(notes).toEqual(Array.from({ length: 6 }, () => expect.stringContaining(`. M${step}other address`)));
        events.poolChanged(one, "10.2.0.9", "why");
        expect(recorded[6]?.note).toContain(`; m${step} address of the current definition`);
        expect(recorded.map(({ note }) => note).join()).not.toMatch(/delete/i);
    });

    it("ask to delete another Pod, also while its UID is not known", () => {
        for (const one of [pod, { ...pod, uid: "" }]) {
            events.heldElsewhere(one, "10.2.0.9", "Pod a/b");
            events.staysIsolated(one, "10.2.0.9");
            events.poolChanged(one, "10.2.0.9", "why");
        }
        const notes = recorded.map(({ note }) => note);
        expect(notes.slice(0, 3)).toEqual([
            expect.stringMatching(/\. Delete the Pod to give it another address$/),
            expect.stringMatching(/\. Delete the Pod to give it another address$/),
            expect.stringMatching(/; delete it to give it an address of the current definition$/),
        ]);
        expect(notes.slice(3)).toEqual(notes.slice(0, 3));
    });

    it("report once a Pod how far its addresses reach, also for Pods whose UID is not known", () => {
        const eventCount = (one: NamedPodUid): number => {
            recorded = [];
            events.notRouted(one, [claimed("10.2.0.9")]);
            return recorded.length;
        };
        expect([eventCount(pod), eventCount(pod), eventCount({ ...pod, uid: "next" }), eventCount(pod)]).toEqual([
            1, 0, 1, 0,
        ]);
        const unknown = { ...pod, uid: "" };
        expect([eventCount(unknown), eventCount({ ...unknown, name: "db" }), eventCount(unknown)]).toEqual([1, 1, 0]);
        // What is remembered of long ago makes room; what is new is known.
        for (let at = 0; at < 1_024; at += 1) eventCount({ ...pod, uid: `u${at}` });
        expect([eventCount({ ...pod, uid: "u1023" }), eventCount({ ...pod, uid: "u0" }), eventCount(pod)]).toEqual([
            0, 0, 1,
        ]);
    });
});
