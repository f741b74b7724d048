import { beforeEach, expect, it } from "@jest/globals";
import { FormerBridges, type FormerBridgesComponents } from "../../../src/features/secondary-bridge/former-bridges.ts";
import { silentLogger } from "../../support/logger.ts";

const signal = new AbortController().signal;

let podPorts: readonly { readonly name: string }[];
let links: Set<string>;
let steps: string[];
let former: FormerBridges;

beforeEach(() => {
    [podPorts, links, steps] = [[], new Set(), []];
    const components = {
        bridges: {
            names: () => ["br1"],
            of: () => ({
                ports: () => podPorts,
                nics: () => [{ name: "nic0" }, { name: "nic1" }],
                deletePorts: async (names: readonly string[]) => void steps.push(`ports ${names.join()} deleted`),
                delete: async () => void steps.push("bridge deleted"),
            }),
        },
        netlink: { link: async (name: string) => (links.has(name) ? { name } : undefined) },
        settings: {
            prepared: () => ["nic0", "nic5"],
            release: async (names: readonly string[]) => void steps.push(`NICs ${names.join()} given back`),
        },
        logger: silentLogger,
    };
    former = new FormerBridges(components as unknown as FormerBridgesComponents);
});

it("gives NICs back while they are ports, which shows a later start that they were, if this one is killed", async () => {
    await former.deleteUnused(signal);
    expect(steps.slice(0, 3)).toEqual(["ports  deleted", "NICs nic0,nic1 given back", "bridge deleted"]);
});

it("keeps a bridge in which a Pod has a port, with its NICs, and gives back those of none", async () => {
    podPorts = [{ name: "pod0" }, { name: "pod1" }];
    links.add("pod0");
    await former.deleteUnused(signal);
    expect(steps).toEqual(["ports pod1 deleted", "NICs nic5 given back"]);
});
