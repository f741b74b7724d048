import { describe, expect, it } from "@jest/globals";
import { type KubeEvent } from "@antrea/kube";
import { eventsOf } from "../../src/cluster/event.ts";

describe("the events of an object", () => {
    it("are the latest first, also within a second, with defaults for what is not set", async () => {
        const stored: readonly KubeEvent[] = [
            { note: "none" },
            { note: "first", eventTime: "2026-01-01T00:00:05Z" },
            { note: "last", series: { count: 3, lastObservedTime: "2026-01-01T00:00:05.900000Z" }, type: "Warning" },
            { note: "between", deprecatedLastTimestamp: "2026-01-01T00:00:05.400000Z" },
        ] as unknown as readonly KubeEvent[];
        const found = await eventsOf(
            {
                list: (_resource, read) =>
                    Promise.resolve(stored.map((each) => read(each as never)).filter((each) => each !== undefined)),
            },
            { kind: "Pod", namespace: "ns", name: "a" },
        );
        expect(found.map(({ note }) => note)).toEqual(["last", "between", "first", "none"]);
        expect(found[0]).toMatchObject({ count: 3, type: "Warning" });
        expect(found.at(-1)).toMatchObject({ count: 1, type: "Normal", reason: "", from: "", time: undefined });
    });
});
