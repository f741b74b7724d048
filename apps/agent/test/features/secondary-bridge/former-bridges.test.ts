import { beforeEach, describe, expect, it } from "@jest/globals";
import { FormerBridges, type FormerBridgesComponents } from "../../../src/features/secondary-bridge/former-bridges.ts";
import type { AccessPort } from "../../../src/platform/ovs/bridge/index.ts";
import { silentLogger } from "../../support/logger.ts";

const signal = new AbortController().signal;
const external = new Map([["container-id", "c1"]]);

/** What is refused once. */
let refused: "delete" | "release" | undefined;
let bridges: Set<string>;
let released: string[];
let former: FormerBridges;

function once(step: typeof refused): void {
    if (refused !== step) return;
    refused = undefined;
    throw new Error(`${step} is refused`);
}

beforeEach(() => {
    bridges = new Set(["br1", "br2"]);
    [refused, released] = [undefined, []];
    const components = {
        bridges: {
            names: () => [...bridges],
            of: ({ bridge }: { bridge: string }) => ({
                ports: () => [{ name: "pod0", vlan: 100, externalIds: external }],
                nics: () => [{ name: "nic0" }, { name: "nic1" }],
                delete: async () => {
                    once("delete");
                    bridges.delete(bridge);
                },
            }),
        },
        netlink: { link: async () => undefined },
        settings: {
            release: async (name: string) => {
                once("release");
                released.push(name);
            },
            releaseAllBut: async () => undefined,
        },
        logger: silentLogger,
    };
    former = new FormerBridges(components as unknown as FormerBridgesComponents);
});

describe("a bridge whose place another one takes", () => {
    it.each([[undefined], ["delete"], ["release"]] as const)(
        "leaves each port of a Pod once, and its NICs, when %s fails at first",
        async (step) => {
            const moved: AccessPort[] = [];
            const kept = { bridge: "br2", nics: ["nic1"] };
            refused = step;
            if (step !== undefined) await expect(former.deleteAllBut(kept, moved, signal)).rejects.toThrow(step);
            await former.deleteAllBut(kept, moved, signal);
            expect(moved).toEqual([{ name: "pod0", vlan: 100, externalIds: { "container-id": "c1" } }]);
            expect([[...bridges], new Set(released)]).toEqual([["br2"], new Set(["nic0"])]);
        },
    );
});
