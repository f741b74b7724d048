import { type Platform } from "@antrea/agent/platform/platform";
import { AntreaError } from "@antrea/errors";

type SwitchBridge = ReturnType<Platform["switchBridges"]["of"]>;

/** A Node with Open vSwitch, and one of its bridges for networks, which does not exist before each case. */
export interface SwitchNode {
    readonly bridge: SwitchBridge;
    /** A link that is up. */
    addLink(name: string): void;
    removeLink(name: string): void;
}

/** The responses of a bridge without what differs between two: port numbers and texts of errors. */
export interface SwitchCase {
    readonly name: string;
    readonly run: (node: SwitchNode) => Promise<unknown>;
    readonly expected: unknown;
}

const soonMs = 20_000;

export const switchCases: readonly SwitchCase[] = [
    {
        name: "that does not exist has nothing, takes no port, and can be deleted",
        run: async ({ bridge }) => [
            bridge.exists,
            bridge.ports(),
            bridge.nics(),
            await codeOf(bridge.ensurePorts([port("pod0", 1)])),
            await codeOf(bridge.deletePorts(["pod0"])),
            await codeOf(bridge.delete()),
        ],
        expected: [false, [], [], "BRIDGE_MISSING", "OK", "OK"],
    },
    {
        name: "has exactly the NICs that it was made with last, and these are no ports of Pods",
        run: async ({ bridge, addLink }) => {
            for (const name of ["nic0", "nic1"]) addLink(name);
            const nics = async (...names: readonly string[]): Promise<readonly string[]> => {
                await bridge.ensure(names);
                return bridge
                    .nics()
                    .map(({ name }) => name)
                    .sort();
            };
            return [
                await nics("nic0"),
                await nics("nic0"),
                await nics("nic0", "nic1"),
                await nics("nic1"),
                bridge.exists,
                bridge.ports(),
            ];
        },
        expected: [["nic0"], ["nic0"], ["nic0", "nic1"], ["nic1"], true, []],
    },
    {
        name: "adds ports and replaces VLAN and record of those that it has",
        run: async ({ bridge, addLink }) => {
            for (const name of ["pod0", "pod1"]) addLink(name);
            await bridge.ensure([]);
            await bridge.ensurePorts([port("pod0", 1, { a: "b" }), port("pod1", 0)]);
            await bridge.opened(["pod0", "pod1"], soonMs);
            const first = shownPorts(bridge);
            await bridge.ensurePorts([port("pod0", 2)]);
            await bridge.opened(["pod0"], soonMs);
            return [first, shownPorts(bridge)];
        },
        expected: [
            [
                { name: "pod0", vlan: 1, ids: { "container-id": "c", a: "b" }, isOpen: true, hasError: false },
                { name: "pod1", vlan: 0, ids: { "container-id": "c" }, isOpen: true, hasError: false },
            ],
            [
                { name: "pod0", vlan: 2, ids: { "container-id": "c" }, isOpen: true, hasError: false },
                { name: "pod1", vlan: 0, ids: { "container-id": "c" }, isOpen: true, hasError: false },
            ],
        ],
    },
    {
        // Whether it is still open differs: the kernel datapath closes it at once, the one in userspace does not.
        name: "keeps the port of a link that is gone, with its record, until it is deleted",
        run: async ({ bridge, addLink, removeLink }) => {
            addLink("pod0");
            await bridge.ensure([]);
            await bridge.ensurePorts([port("pod0", 1)]);
            await bridge.opened(["pod0"], soonMs);
            removeLink("pod0");
            const left = bridge.ports().map(({ name, vlan, externalIds }) => [name, vlan, externalIds.size]);
            await bridge.deletePorts(["pod0"]);
            return [left, bridge.ports()];
        },
        expected: [[["pod0", 1, 1]], []],
    },
    {
        name: "refuses to wait for a port without a link",
        run: async ({ bridge }) => {
            await bridge.ensure([]);
            await bridge.ensurePorts([port("none0", 1)]);
            return codeOf(bridge.opened(["none0"], soonMs));
        },
        expected: "PORT_REFUSED",
    },
    {
        name: "deletes ports, also again, and all with itself",
        run: async ({ bridge, addLink }) => {
            for (const name of ["pod0", "pod1"]) addLink(name);
            await bridge.ensure([]);
            await bridge.ensurePorts([port("pod0", 1), port("pod1", 1)]);
            await bridge.deletePorts(["pod0", "other"]);
            await bridge.deletePorts(["pod0"]);
            const left = bridge.ports().map(({ name }) => name);
            await bridge.delete();
            return [left, bridge.exists, bridge.ports()];
        },
        expected: [["pod1"], false, []],
    },
];

function port(
    name: string,
    vlan: number,
    ids: Readonly<Record<string, string>> = {},
): Parameters<SwitchBridge["ensurePorts"]>[0][number] {
    return { name, vlan, externalIds: { "container-id": "c", ...ids } };
}

function shownPorts(bridge: SwitchBridge): readonly object[] {
    return [...bridge.ports()]
        .sort((one, other) => (one.name < other.name ? -1 : 1))
        .map(({ name, vlan, externalIds, ofPort = 0, error }) => ({
            name,
            vlan,
            ids: Object.fromEntries(externalIds),
            isOpen: ofPort > 0,
            hasError: error !== undefined,
        }));
}

async function codeOf(work: Promise<unknown>): Promise<string> {
    try {
        await work;
        return "OK";
    } catch (error) {
        if (error instanceof AntreaError) return error.code;
        throw error;
    }
}
