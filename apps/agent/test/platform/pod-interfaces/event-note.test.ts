import { describe, expect, it } from "@jest/globals";
import { AntreaError } from "@antrea/errors";
import { EventRecorder } from "@antrea/kube";
import { eventNote } from "../../../src/platform/pod-interfaces/index.ts";
import { silentLogger } from "../../support/logger.ts";

interface NamedSandbox {
    readonly containerId: string;
    readonly netns: string;
}

const sandboxes = ["ab12", "cd34"].map((part): NamedSandbox => ({
    containerId: part.repeat(16),
    netns: `/var/run/netns/cni-${part}`,
}));

describe("the note of an event", () => {
    it.each<[string, (sandbox: NamedSandbox) => string, string]>([
        [
            "the container",
            ({ containerId }) => `network red: container ${containerId} of Pod a/b has no interface`,
            "network red: the container of Pod a/b has no interface",
        ],
        [
            "the path of its namespace",
            ({ netns }) => `interface eth1 vanished from ${netns} while it was set up`,
            "interface eth1 vanished from the network namespace of the Pod while it was set up",
        ],
        [
            "the namespace by its path",
            ({ containerId, netns }) => `network namespace ${netns} has eth1 already, of container ${containerId}`,
            "the network namespace of the Pod has eth1 already, of the container",
        ],
        ["nothing of it", () => "network red: mtu: 9000 is above 1500", "network red: mtu: 9000 is above 1500"],
    ])("makes one event of all sandboxes of a Pod where a message names %s", async (_, text, note) => {
        let created = 0;
        const create = (): Promise<unknown> => {
            created += 1;
            return Promise.resolve({});
        };
        const api = { create: create as never, patch: (() => Promise.resolve()) as never };
        const reporter = { reportingController: "antrea-agent", reportingInstance: "agent" };
        const recorder = new EventRecorder({ api, logger: silentLogger }, reporter);
        const notes = sandboxes.map((sandbox) => eventNote(new AntreaError("ANY", "caller", text(sandbox)), sandbox));
        for (const one of notes) {
            const regarding = { apiVersion: "v1", kind: "Pod", namespace: "a", name: "b", uid: "u" };
            recorder.record({ regarding, type: "Warning", reason: "NetworksNotAttached", action: "Attach", note: one });
        }
        await recorder.close();
        expect([notes, created]).toEqual([[note, note], 1]);
    });

    it("has the causes of the error, without the sandbox too, and needs no path", () => {
        const containerId = "ab12".repeat(16);
        const cause = new AntreaError("WHY", "environment", `container ${containerId} is gone`);
        expect(eventNote(new AntreaError("ANY", "caller", "not made", { cause }), { containerId })).toBe(
            "not made: the container is gone",
        );
    });
});
