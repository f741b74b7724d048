import { describe, expect, it } from "@jest/globals";
import { NetlinkError } from "@antrea/netlink";
import { functionErrorCode } from "../../../src/features/virtual-functions/index.ts";
import { PodDevices } from "../../../src/features/virtual-functions/pod-devices.ts";
import type { AllocatedDevices } from "../../../src/features/virtual-functions/pod-resources-messages.ts";
import type {
    DeviceDemand,
    FoundDevice,
    NetworkRecord,
    PodAttachment,
} from "../../../src/platform/pod-interfaces/index.ts";
import { networkRecord } from "../../support/records.ts";

const pod: PodAttachment = {
    containerId: "c1",
    ifName: "eth0",
    podNamespace: "default",
    podName: "web-0",
    podUid: "u1",
};
const demand: DeviceDemand = {
    network: "default/net-a",
    ifName: "eth1",
    resourceName: "intel.com/a",
    deviceId: undefined,
};
const allocated = (resource: string, ...ids: readonly string[]): AllocatedDevices => ({
    podNamespace: "default",
    podName: "web-0",
    resource,
    ids,
});

function recordOf(id: string, change: Partial<NetworkRecord> = {}): NetworkRecord {
    return networkRecord({
        ...pod,
        ifName: "eth1",
        network: demand.network,
        hostIfName: "",
        mac: "02:00:00:00:00:99",
        device: { bus: "pci", id, linkName: "was", linkMtu: 1400 },
        ...change,
    });
}

interface Setup {
    readonly has?: readonly AllocatedDevices[];
    readonly records?: readonly NetworkRecord[];
    /** What the link of each device was before a Pod got it, or is: its name. */
    readonly links?: Readonly<Record<string, string>>;
    readonly failure?: Error;
}

function find(demands: readonly DeviceDemand[], setup: Setup): Promise<readonly FoundDevice[]> {
    const { has = [], records = [], links, failure } = setup;
    const devices = new PodDevices(
        {
            resources: { list: () => (failure === undefined ? Promise.resolve(has) : Promise.reject(failure)) },
            links: {
                formerOf: ({ id }) => {
                    const name = links === undefined ? `vf-${id.slice(-1)}` : links[id];
                    const mac = "02:00:00:00:00:01";
                    const rest = { alias: "", altNames: [], group: 0, promiscuous: false, up: false };
                    return Promise.resolve(name === undefined ? undefined : { name, mtu: 9000, mac, ...rest });
                },
            },
            devices: { folderOf: ({ bus, id }) => `/sys/bus/${bus}/devices/${id}/net` },
            interfaces: { list: () => records.map((record) => ({ record, leaving: undefined, addedAt: 0 })) },
        },
        { socketPath: "/kubelet.sock" },
    );
    return devices.find(pod, demands, new AbortController().signal);
}

const ids = (found: readonly FoundDevice[]): readonly string[] => found.map(({ id }) => id);

describe("the devices of a Pod", () => {
    it("are those of its resource, in the order of their names, with what their links are", async () => {
        const has = [
            allocated("intel.com/b", "0000:af:07.0"),
            allocated("intel.com/a", "0000:af:06.2", "0000:af:06.0"),
            allocated("intel.com/a", "0000:af:06.1"),
            { ...allocated("intel.com/a", "0000:af:05.0"), podName: "other" },
            { ...allocated("intel.com/a", "0000:af:05.0"), podNamespace: "other" },
        ];
        const found = await find([demand, { ...demand, ifName: "eth2" }, { ...demand, ifName: "eth3" }], { has });
        expect(ids(found)).toEqual(["0000:af:06.0", "0000:af:06.1", "0000:af:06.2"]);
        const link = { linkName: "vf-0", linkMtu: 9000, mac: "02:00:00:00:00:01" };
        expect(found[0]).toEqual({ bus: "pci", id: "0000:af:06.0", ...link });
    });

    it("are not asked for without a demand", async () => {
        expect(await find([], { failure: new Error("not asked") })).toEqual([]);
    });

    it("that are interfaces of the container already are left out, and found again for the same interface", async () => {
        const has = [allocated("intel.com/a", "0000:af:06.0", "0000:af:06.1")];
        const records = [recordOf("0000:af:06.0", { ifName: "eth2" })];
        expect(ids(await find([demand], { has, records }))).toEqual(["0000:af:06.1"]);
        const again = await find([{ ...demand, ifName: "eth2" }, demand], { has, records });
        expect(ids(again)).toEqual(["0000:af:06.0", "0000:af:06.1"]);
        expect(again[0]).toMatchObject({ linkName: "was", linkMtu: 1400, mac: "02:00:00:00:00:99" });
    });

    it("may be in an earlier sandbox of the Pod, which loses them first", async () => {
        const has = [allocated("intel.com/a", "0000:af:06.0")];
        const records = [recordOf("0000:af:06.0", { containerId: "c0" })];
        expect(await find([demand], { has, records, links: {} })).toMatchObject([{ linkName: "was", linkMtu: 1400 }]);
    });

    it("are not those of an earlier Pod of the name, which the kubelet lists too, while others are left", async () => {
        const has = [
            allocated("intel.com/a", "0000:af:06.0"),
            allocated("intel.com/a", "0000:af:06.1", "0000:af:06.2"),
        ];
        const records = [recordOf("0000:af:06.0", { containerId: "c0", podUid: "u0" })];
        const second = { ...demand, ifName: "eth2" };
        expect(ids(await find([demand], { has, records }))).toEqual(["0000:af:06.1"]);
        expect(ids(await find([demand, second], { has, records }))).toEqual(["0000:af:06.1", "0000:af:06.2"]);
        await expect(find([demand, second, { ...demand, ifName: "eth3" }], { has, records })).rejects.toMatchObject({
            code: "HELD",
        });
        // Those of an earlier sandbox of the Pod itself are its own.
        const same = [recordOf("0000:af:06.0", { containerId: "c0" })];
        expect(ids(await find([demand], { has, records: same }))).toEqual(["0000:af:06.0"]);
    });

    it("are those that a meta plugin names", async () => {
        const has = [allocated("intel.com/a", "0000:af:06.0"), allocated("intel.com/b", "mlx5_core.sf.4")];
        const named = { ...demand, resourceName: undefined, deviceId: "mlx5_core.sf.4" };
        expect(await find([named], { has })).toMatchObject([{ bus: "auxiliary", id: "mlx5_core.sf.4" }]);
    });
});

describe("a refusal names network, field, rule and next step, and its code", () => {
    const one = [allocated("intel.com/a", "0000:af:06.0")];
    const call = { ...demand, resourceName: undefined };
    it.each<[string, readonly DeviceDemand[], Setup, string, string, RegExp]>([
        [
            "no kubelet",
            [demand],
            { failure: new NetlinkError("ENOENT", "environment", "connect ENOENT") },
            "NO_KUBELET",
            "TRY_AGAIN_LATER",
            /pod-resources API at \/kubelet\.sock: connect ENOENT; next: .*agent\.podResourcesPath/,
        ],
        [
            "no device",
            [demand],
            { has: [allocated("intel.com/b", "0000:af:06.0")] },
            "TOO_FEW",
            "INVALID_NETWORK_CONFIG",
            /resourceName: intel\.com\/a: the Pod has 0 of these devices, .* for eth1; next: .*resources\.limits/,
        ],
        [
            "too few devices",
            [demand, { ...demand, ifName: "eth2" }],
            { has: one },
            "TOO_FEW",
            "INVALID_NETWORK_CONFIG",
            /the Pod has 1 of these devices, and none is left for eth2; next: /,
        ],
        [
            "a device without link",
            [demand],
            { has: one, links: {} },
            "NO_LINK",
            "TRY_AGAIN_LATER",
            /device 0000:af:06\.0 has no link .*: \/sys\/bus\/pci\/devices\/0000:af:06\.0\/net .*; next: .*vfio-pci/,
        ],
        [
            "a device that is none of a network",
            [demand],
            { has: [allocated("intel.com/a", "../eth0")] },
            "NO_LINK",
            "TRY_AGAIN_LATER",
            /device "\.\.\/eth0" is neither .*; next: /,
        ],
        [
            "a device of another Pod that ends",
            [demand],
            { has: one, records: [recordOf("0000:af:06.0", { containerId: "c0", podUid: "u0", podName: "old" })] },
            "HELD",
            "TRY_AGAIN_LATER",
            /device 0000:af:06\.0 is still interface eth1 of Pod default\/old, container c0; next: wait/,
        ],
        [
            "a meta plugin that names no device",
            [call],
            { has: one },
            "NOT_OF_POD",
            "INVALID_NETWORK_CONFIG",
            /deviceID: is missing, .*; next: .*resourceName/,
        ],
        [
            "a meta plugin that names a device of somebody else",
            [{ ...call, deviceId: "0000:00:03.0" }],
            { has: [...one, { ...allocated("intel.com/a", "0000:00:03.0"), podName: "other" }] },
            "NOT_OF_POD",
            "INVALID_NETWORK_CONFIG",
            /deviceID: "0000:00:03\.0" is not a device .* Pod default\/web-0; next: /,
        ],
    ])("%s", async (_, demands, setup, code, cniCode, text) => {
        const error: unknown = await find(demands, setup).catch((cause: unknown) => cause);
        expect(error).toMatchObject({ code, message: expect.stringMatching(text) });
        expect(error).toMatchObject({ message: expect.stringMatching(/^network default\/net-a: /) });
        expect(functionErrorCode(error)).toBe(cniCode);
        expect(functionErrorCode(new Error("other"))).toBeUndefined();
    });
});
