import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Point } from "../../platform/host/uplink/support/input.ts";
import type { NicAction } from "./support/input.ts";
import { NicNode } from "./support/nic-node.ts";

const moments = ["before", "written", "made"] as const;
const way = ["save", "rename", "host-port", "uplink-port", "switch", "confirm", "bridged"] as const;
const rollback = ["switch-back", "remove-ports", "rename-back"] as const;

let node: NicNode;
let before: ReturnType<NicNode["truth"]>;

beforeAll(async () => {
    node = await NicNode.start();
    before = node.truth();
});

afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
});

const points = (steps: readonly Point["step"][]): readonly Point[] =>
    steps.flatMap((step) => moments.map((moment) => ({ step, moment })));

const cases: readonly (readonly [string, Point, readonly NicAction[]])[] = [
    ...points(way).map((kill) => [kill, ["recover", "connect"]] as const),
    ...points(rollback).map((kill) => [kill, ["recover", "connect", "restore"]] as const),
].map(([kill, actions]) => [`${kill.step}, ${kill.moment}`, kill, actions]);

// The first NIC is the one by which the Node reaches everything; the second is moved at the same time.
describe("killed while the Node's NIC is at", () => {
    it.each(cases)("%s: the next start has the Node on its networks, with all it had", async (name, point, actions) => {
        expect(await node.run({ actions, kill: { nic: "eth0", ...point } })).toMatchObject({ signal: "SIGKILL" });
        const next = await node.pause({ actions: ["recover", "wait", "restore", "check"] });
        // Complete is what the journal records as complete.
        const isComplete = ["bridged, written", "bridged, made", "switch-back, before"].includes(name);
        expect(next.reported.nics).toMatchObject({ eth0: isComplete ? "found" : "idle" });
        expect(node.unreached()).toEqual([]);
        expect((await next.go()).reported.at(-1)).toMatchObject({ action: "check" });
        expect(node.truth()).toEqual(before);
    });
});
