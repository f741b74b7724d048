import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { ipAllocations } from "@antrea/crd";
import { parseIp, parsePrefix } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { AllocationsWithin } from "../../../src/features/ip-pools/allocations-within.ts";
import { newAllocation, type Holder } from "../../../src/features/ip-pools/allocations.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { FakeApi } from "./support/fake-api.ts";

let api: FakeApi;
let pools: string[];
let rangesChanged: () => void;
let made: AllocationsWithin;
let log: LogEntry[];

function holderOf(name: string): Holder {
    const pod = { namespace: "default", name, uid: `uid-${name}` };
    return { pod, nodeName: "far", containerId: `c-${name}`, ifName: "eth0" };
}

function claim(ip: string, pool: string): void {
    api.put(ipAllocations, newAllocation(parseIp(ip), pool, holderOf("p")));
}

function within(...prefixes: readonly string[]): AllocationsWithin {
    const cache = {
        poolsWithin: () => pools,
        onRanges: (listener: () => void) => {
            rangesChanged = listener;
            return { [Symbol.dispose]: () => (rangesChanged = () => undefined) };
        },
    };
    made = new AllocationsWithin(
        { api, logger: listLogger(log), cache },
        { prefixes: prefixes.map((text) => parsePrefix(text)) },
    );
    return made;
}

const limit = (): AbortSignal => AbortSignal.timeout(60_000);
const reads = (): readonly string[] => api.requests.filter((line) => line.startsWith("list ipallocations"));

beforeEach(() => {
    api = new FakeApi();
    log = [];
    // What the book knows of pools must not matter.
    pools = [];
});
afterEach(() => made.close());

it("keeps of an allocation in the prefixes whose it is, and of others nothing that takes room", async () => {
    claim("10.10.1.20", "wide");
    claim("10.10.1.200", "wide");
    const allocations = within("10.10.1.0/25");
    await allocations.synced(limit());
    const version = { resourceVersion: expect.any(String), uid: expect.any(String) };
    expect(allocations.get(parseIp("10.10.1.20"))).toEqual({
        metadata: { name: "10.10.1.20", ...version },
        spec: { pod: { uid: "uid-p", containerID: "c-p", interface: "eth0" } },
    });
    expect(allocations.get(parseIp("10.10.1.200"))).toBeUndefined();
    expect(allocations.has(parseIp("10.10.1.200"))).toBe(false);
});

it("knows allocations of pools that have no range in the prefixes, or are not known at all, and later ones", async () => {
    claim("10.10.1.20", "gone");
    claim("fd10::7", "shrunk");
    const allocations = within("10.10.1.0/24", "fd10::/64");
    await allocations.synced(limit());
    const known = (): unknown[] => ["10.10.1.20", "10.10.1.21", "fd10::7"].map((ip) => allocations.has(parseIp(ip)));
    expect(known()).toEqual([true, false, true]);
    claim("10.10.1.21", "by-hand");
    await eventually(() => allocations.has(parseIp("10.10.1.21")) === true);
});

it("has one watch a prefix, whatever its size, and one for each further block with an address that is asked about", async () => {
    claim("fd10::a005", "gone");
    const allocations = within("10.10.0.0/16", "fd10::/64", "fd10::3/128", "10.99.7.3/32");
    await allocations.synced(limit());
    const blocks = ["10.10.0.0/24", "fd10::/120", "10.99.7.0/24"].map(
        (block) => `list ipallocations spec.block=${block}`,
    );
    expect(reads()).toEqual(blocks);
    expect(allocations.has(parseIp("fd10::a005"))).toBeUndefined();
    await allocations.synced(limit());
    expect([allocations.has(parseIp("fd10::a005")), allocations.has(parseIp("fd10::a006"))]).toEqual([true, false]);
    expect(reads()).toEqual([...blocks, "list ipallocations spec.block=fd10::a000/120"]);
    await eventually(() => api.watches(ipAllocations) === 4);
});

it("asks about nothing outside the prefixes", async () => {
    claim("10.99.7.4", "wide");
    const allocations = within("10.10.1.0/24", "10.99.7.3/32");
    await allocations.synced(limit());
    expect(
        ["10.99.7.4", "10.10.2.4"].map((ip) => [allocations.has(parseIp(ip)), allocations.get(parseIp(ip))]),
    ).toEqual([
        [false, undefined],
        [false, undefined],
    ]);
    expect(reads()).toHaveLength(2);
});

it("checks also the block of an address in use, and reports a change there", async () => {
    let changes = 0;
    const allocations = within("fd10::/64");
    allocations.onChange(() => (changes += 1));
    expect(allocations.get(parseIp("fd10::a005"))).toBeUndefined();
    claim("fd10::a005", "gone");
    await eventually(() => changes === 1);
    expect(allocations.get(parseIp("fd10::a005"))?.spec?.pod?.uid).toBe("uid-p");
});

it("is not blinded by an allocation whose name is no address", async () => {
    const odd = newAllocation(parseIp("10.10.1.22"), "wide", holderOf("p"));
    api.put(ipAllocations, { ...odd, metadata: { name: "odd" } });
    claim("10.10.1.20", "wide");
    const allocations = within("10.10.1.0/24");
    await allocations.synced(limit());
    expect(allocations.has(parseIp("10.10.1.20"))).toBe(true);
});

it("reports a reserved address as claimed, and for nobody yet", async () => {
    const { metadata, spec } = newAllocation(parseIp("10.10.1.23"), "wide", holderOf("p"));
    const { pod: _, ...rest } = spec;
    api.put(ipAllocations, { metadata, spec: { ...rest, state: "Reserved" } } as never);
    const allocations = within("10.10.1.0/24");
    await allocations.synced(limit());
    expect(allocations.get(parseIp("10.10.1.23"))?.spec).toEqual({});
});

it("reports changes of allocations in the prefixes, and no others, also of what goes", async () => {
    let changes = 0;
    const allocations = within("10.10.1.0/25");
    allocations.onChange(() => (changes += 1));
    await allocations.synced(limit());
    claim("10.10.1.200", "wide");
    claim("10.10.1.20", "wide");
    claim("10.10.2.20", "other");
    await eventually(() => allocations.has(parseIp("10.10.1.20")) === true);
    expect(changes).toBe(1);
    api.remove(ipAllocations, "10.10.1.200");
    api.remove(ipAllocations, "10.10.1.20");
    await eventually(() => allocations.has(parseIp("10.10.1.20")) === false);
    expect(changes).toBe(2);
});

it("while nothing can be read calls the first blocks free, other blocks unknown, and does not wait for longer than asked", async () => {
    api.before = () => new Promise(() => undefined);
    const allocations = within("10.10.0.0/16");
    await expect(allocations.synced(AbortSignal.timeout(20))).rejects.toBeDefined();
    expect([allocations.has(parseIp("10.10.0.20")), allocations.has(parseIp("10.10.1.20"))]).toEqual([
        false,
        undefined,
    ]);
});

it("logs each pool with a range in the prefixes once, and opens no watch for it", async () => {
    pools = ["wide"];
    const allocations = within("10.10.1.0/24");
    pools = ["wide", "later"];
    rangesChanged();
    rangesChanged();
    await allocations.synced(limit());
    expect(log).toMatchObject([
        { level: "warn", fields: { pool: "wide" } },
        { level: "warn", fields: { pool: "later" } },
    ]);
    expect(reads()).toHaveLength(1);
});

it("watches and logs nothing any more when it is closed", async () => {
    const allocations = within("10.10.0.0/16");
    await allocations.synced(limit());
    await allocations.close();
    await eventually(() => api.watches(ipAllocations) === 0);
    pools = ["later"];
    rangesChanged();
    expect(allocations.has(parseIp("10.10.9.9"))).toBeUndefined();
    await new Promise((resolve) => setImmediate(resolve));
    expect([log.length, reads().length, api.watches(ipAllocations)]).toEqual([0, 1, 0]);
});
