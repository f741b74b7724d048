import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, parseIp } from "@antrea/ip";
import { parseIpamSection } from "@antrea/networks";
import { MemoryLog } from "@antrea/runtime/testing";
import {
    DelegatedIpam,
    type DelegatedAdd,
    type DelegatedPools,
} from "../../../src/features/delegated-ipam/delegated-ipam.ts";
import { delegatedErrorCode } from "../../../src/features/delegated-ipam/index.ts";
import type { NetworkAddresses } from "../../../src/platform/pod-interfaces/index.ts";

let requests: NetworkAddresses[];
let allocated: string[] | undefined;
let released: string[];
let hasContainer: boolean;
let hadSome: boolean;
let failures: string[];
let log: MemoryLog;
let ipam: DelegatedIpam;

const pools: DelegatedPools = {
    synced: () => Promise.resolve(),
    poolOf: (ip, _named, match) => {
        if (match === "usable" && formatIp(ip) === "10.2.0.1") return undefined;
        return formatIp(ip).startsWith("10.2.0.") ? "pool1" : undefined;
    },
    claim: (asked) => {
        requests.push(asked);
        return Promise.resolve(
            asked.demands.map(({ pool, fixed }) => ({
                ip: fixed ?? parseIp("10.2.0.99"),
                prefixLength: 24,
                gateway: parseIp("10.2.0.1"),
                vlan: 7,
                pool,
            })),
        );
    },
    release: ({ ifName }) => Promise.resolve(void released.push(ifName)),
    addressesOf: () => allocated,
    hasAny: () => hadSome,
    failed: (_asked, error) => void failures.push((error as Error).message),
    collect: () => Promise.resolve(3),
};

beforeEach(() => {
    [requests, allocated, released, hasContainer] = [[], [], [], true];
    [hadSome, failures] = [false, []];
    log = new MemoryLog();
    ipam = new DelegatedIpam({
        pools,
        hasContainer: () => hasContainer,
        isOwn: ({ ifName }) => ifName === "eth0",
        logger: log.logger,
    });
});

function add(section: object, addresses: readonly string[] = []): DelegatedAdd {
    return {
        containerId: "c1",
        ifName: "net1",
        podNamespace: "default",
        podName: "web",
        podUid: "u",
        network: "macnet",
        type: "macvlan",
        receivedAt: 0,
        section: parseIpamSection({ type: "antrea", ...section }),
        wanted: {
            source: "ipam.addresses",
            addresses: addresses.map((ip) => ({ ip: parseIp(ip), prefixLength: 24, gateway: undefined })),
        },
    };
}

const limit = new AbortController().signal;
const texts = (given: Awaited<ReturnType<DelegatedIpam["add"]>>): readonly string[] =>
    given.map(({ ip, prefixLength }) => `${formatIp(ip)}/${prefixLength}`);

describe("ADD of an interface that another plugin makes", () => {
    it("gets one address of each pool and the static ones, claimed for its network", async () => {
        const given = await ipam.add(add({ ippools: ["pool1"] }, ["192.0.2.9"]), limit);
        expect(texts(given)).toEqual(["10.2.0.99/24", "192.0.2.9/24"]);
        expect(requests).toEqual([
            {
                containerId: "c1",
                ifName: "net1",
                podNamespace: "default",
                podName: "web",
                podUid: "u",
                network: "macnet",
                demands: [{ pool: "pool1", fixed: undefined }],
            },
        ]);
    });

    it("claims nothing for static addresses alone", async () => {
        expect(texts(await ipam.add(add({}, ["192.0.2.9"]), limit))).toEqual(["192.0.2.9/24"]);
        expect(requests).toEqual([]);
    });

    it("gives the gateway of a pool, which nobody else gets, as a static address, and does not miss its allocation", async () => {
        const call = add({ addresses: [{ address: "10.2.0.1/24" }] }, ["10.2.0.1"]);
        expect(texts(await ipam.add(call, limit))).toEqual(["10.2.0.1/24"]);
        expect(requests).toEqual([]);
        const attachment = { containerId: "c1", ifName: "net1", network: "macnet" };
        await ipam.check(attachment, [{ ip: parseIp("10.2.0.1") }]);
    });

    it("is refused in a container whose eth0 is another plugin's, with the network and the next step", async () => {
        hasContainer = false;
        const refused = ipam.add(add({ ippools: ["pool1"] }), limit);
        await expect(refused).rejects.toMatchObject({ code: "OTHERS_SANDBOX", fault: "caller" });
        await expect(refused).rejects.toThrow(
            /^network macnet, interface net1: container c1 of Pod default\/web has no interface on the Pod network of antrea.*next: /,
        );
        expect(delegatedErrorCode(await refused.catch((error: unknown) => error))).toBe("IPAM_FAILURE");
        expect(delegatedErrorCode(new Error("other"))).toBeUndefined();
        expect(requests).toEqual([]);
    });

    it("is refused for an interface that the container has already, and makes an event as all refusals do", async () => {
        for (const ifName of ["eth0", "lo"]) {
            await expect(ipam.add({ ...add({ ippools: ["pool1"] }), ifName }, limit)).rejects.toMatchObject({
                code: "OWN_INTERFACE",
            });
        }
        await expect(ipam.add(add({}), limit)).rejects.toMatchObject({ code: "INVALID_NETWORK_CONFIG" });
        expect(failures).toEqual([
            expect.stringMatching(
                /^network macnet, interface eth0: CNI_IFNAME: eth0 is an interface that the container has/,
            ),
            expect.stringMatching(/interface lo/),
            expect.stringMatching(/^network macnet, interface net1: ipam: has neither IPPools nor addresses/),
        ]);
        expect(requests).toEqual([]);
    });

    it("frees what an earlier sandbox had when it needs static addresses only", async () => {
        hadSome = true;
        await ipam.add(add({}, ["192.0.2.9"]), limit);
        expect(requests).toMatchObject([{ demands: [] }]);
    });

    it("reports that the gateway of an address is the pool's", async () => {
        const asked = add({ ippools: ["pool1"] });
        const addresses = [{ ip: parseIp("10.2.0.7"), prefixLength: 16, gateway: parseIp("10.2.0.254") }];
        const given = await ipam.add({ ...asked, wanted: { ...asked.wanted, addresses } }, limit);
        expect(given).toMatchObject([{ gateway: parseIp("10.2.0.1") }]);
        expect(log.records).toContainEqual(expect.objectContaining({ network: "macnet", address: "10.2.0.7" }));
    });

    it("logs once of a network what has no effect: unknown keys, and the VLAN of a pool", async () => {
        for (let times = 0; times < 2; times += 1) await ipam.add(add({ ippools: ["pool1"], range: "x" }), limit);
        expect(log.records.filter(({ level }) => level === "warn")).toMatchObject([
            { network: "macnet", keys: ["range"] },
            { network: "macnet", plugin: "macvlan", pool: "pool1", vlan: 7 },
        ]);
    });

    it("logs of a network what appears later too, and the same of another network", async () => {
        const warnings = (): readonly unknown[] => log.records.filter(({ level }) => level === "warn");
        const inVlan = { network: "macnet", vlan: 7 };
        const keys = { network: "macnet", keys: ["range"] };
        await ipam.add(add({ ippools: ["pool1"] }), limit);
        expect(warnings()).toMatchObject([inVlan]);
        await ipam.add(add({ ippools: ["pool1"], range: "x" }), limit);
        expect(warnings()).toMatchObject([inVlan, keys]);
        await ipam.add({ ...add({ ippools: ["pool1"], range: "x" }), network: "other" }, limit);
        expect(warnings().slice(2)).toMatchObject([
            { network: "other", keys: ["range"] },
            { network: "other", vlan: 7 },
        ]);
    });
});

describe("CHECK", () => {
    const attachment = { containerId: "c1", ifName: "net1", network: "macnet" };
    const check = (...previous: readonly string[]): Promise<void> =>
        ipam.check(
            attachment,
            previous.map((ip) => ({ ip: parseIp(ip) })),
        );

    it("passes if the previous result has what is allocated, and static addresses", async () => {
        allocated = ["10.2.0.9"];
        await check("192.0.2.9", "10.2.0.9");
        await ipam.check(attachment, undefined);
    });

    it("compares nothing while the allocations are not known", async () => {
        allocated = undefined;
        await check("10.2.0.9");
    });

    it("fails if an address of a pool is no longer allocated, or an allocated one is missing", async () => {
        await expect(check("10.2.0.9")).rejects.toMatchObject({
            code: "ALLOCATION",
            message: expect.stringMatching(
                /^network macnet, container c1, interface net1: address 10\.2\.0\.9 of prevResult is not allocated to it/,
            ),
        });
        allocated = ["10.2.0.9", "10.2.0.10"];
        await expect(check("10.2.0.9")).rejects.toThrow("prevResult lacks 10.2.0.10, which is allocated to it");
    });
});

it("what is refused before is recorded on the Pod", () => {
    ipam.refused(add({}), new Error("ipam.ippools: names a twice"));
    expect(failures).toEqual(["ipam.ippools: names a twice"]);
});

it("DEL and GC are handed on", async () => {
    await ipam.delete({ containerId: "c1", ifName: "net1" });
    expect(released).toEqual(["net1"]);
    expect(await ipam.collect("macnet", [], 5)).toBe(3);
});
