import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { ipAllocations } from "@antrea/crd";
import { parseIp, parsePrefix } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { ClaimsWithin } from "../../src/ip-pools/claims-within.ts";
import { newClaim, type Holder } from "../../src/ip-pools/claims.ts";
import { listLogger, silentLogger, type LogEntry } from "../support/logger.ts";
import { FakeApi } from "./support/fake-api.ts";

let api: FakeApi;
let pools: string[];
let rangesChanged: () => void;
let within: ClaimsWithin;

function holderOf(name: string): Holder {
    const pod = { namespace: "default", name, uid: `uid-${name}` };
    return { pod, nodeName: "far", containerId: `c-${name}`, ifName: "eth0" };
}

function claim(ip: string, pool: string): void {
    api.put(ipAllocations, newClaim(parseIp(ip), pool, holderOf("p")));
}

beforeEach(() => {
    api = new FakeApi();
    pools = ["wide"];
    const book = {
        poolsWithin: () => pools,
        onRanges: (listener: () => void) => {
            rangesChanged = listener;
            return { [Symbol.dispose]: () => (rangesChanged = () => undefined) };
        },
    };
    within = new ClaimsWithin({ api, logger: silentLogger, book }, { prefixes: [parsePrefix("10.10.1.0/24")] });
});
afterEach(() => within.close());

it("keeps of a claim in the prefixes whose it is, and of others nothing that takes room", async () => {
    claim("10.10.1.20", "wide");
    claim("10.10.2.20", "wide");
    await within.synced(AbortSignal.timeout(5_000));
    const version = { resourceVersion: expect.any(String), uid: expect.any(String) };
    expect(within.get(parseIp("10.10.1.20"))).toEqual({
        metadata: { name: "10.10.1.20", ...version },
        spec: { pod: { uid: "uid-p", containerID: "c-p", interface: "eth0" } },
    });
    expect(within.get(parseIp("10.10.2.20"))).toEqual({ metadata: { name: "10.10.2.20", ...version } });
});

it("knows the claims of a pool from when its range is known, once", async () => {
    claim("10.10.1.21", "later");
    await within.synced(AbortSignal.timeout(5_000));
    expect(within.has(parseIp("10.10.1.21"))).toBe(false);
    pools = ["wide", "later"];
    rangesChanged();
    rangesChanged();
    await eventually(() => within.has(parseIp("10.10.1.21")));
    expect(api.watches(ipAllocations)).toBe(2);
});

it("is not blinded by a claim whose name is no address", async () => {
    const odd = newClaim(parseIp("10.10.1.22"), "wide", holderOf("p"));
    api.put(ipAllocations, { ...odd, metadata: { name: "odd" } });
    claim("10.10.1.20", "wide");
    await within.synced(AbortSignal.timeout(5_000));
    expect(within.has(parseIp("10.10.1.20"))).toBe(true);
});

it("says of a reserved address that it is claimed, and for nobody yet", async () => {
    const { metadata, spec } = newClaim(parseIp("10.10.1.23"), "wide", holderOf("p"));
    const { pod: _, ...rest } = spec;
    api.put(ipAllocations, { metadata, spec: { ...rest, state: "Reserved" } } as never);
    await within.synced(AbortSignal.timeout(5_000));
    expect(within.get(parseIp("10.10.1.23"))?.spec).toEqual({});
});

it("reports changes of claims in the prefixes, and no others, also of what goes", async () => {
    let changes = 0;
    within.onChange(() => (changes += 1));
    await within.synced(AbortSignal.timeout(5_000));
    claim("10.10.1.20", "wide");
    claim("10.10.2.20", "wide");
    claim("10.10.1.21", "other");
    await eventually(() => within.has(parseIp("10.10.1.20")));
    expect(changes).toBe(1);
    api.remove(ipAllocations, "10.10.2.20");
    api.remove(ipAllocations, "10.10.1.20");
    await eventually(() => !within.has(parseIp("10.10.1.20")));
    expect(changes).toBe(2);
});

it("keeps what was claimed from a pool that is gone: its Pods still run", async () => {
    claim("10.10.1.20", "wide");
    await within.synced(AbortSignal.timeout(5_000));
    pools = [];
    rangesChanged();
    expect(within.has(parseIp("10.10.1.20"))).toBe(true);
    claim("10.10.1.21", "wide");
    await eventually(() => within.has(parseIp("10.10.1.21")));
});

it("knows nothing before the claims of all pools are read, and does not wait for longer than asked", async () => {
    api.before = () => new Promise(() => undefined);
    pools = ["wide", "later"];
    rangesChanged();
    await expect(within.synced(AbortSignal.timeout(20))).rejects.toBeDefined();
    expect(within.has(parseIp("10.10.1.20"))).toBe(false);
});

it("watches nothing while no pool has a range in the prefixes, and nothing any more when it is closed", async () => {
    await within.close();
    await eventually(() => api.watches(ipAllocations) === 0);
    pools = ["wide", "later"];
    rangesChanged();
    expect(api.requests.filter((line) => line.includes("later"))).toEqual([]);
    const warned: LogEntry[] = [];
    pools = [];
    const book = { poolsWithin: () => pools, onRanges: () => ({ [Symbol.dispose]: () => undefined }) };
    const none = new ClaimsWithin(
        { api, logger: listLogger(warned), book },
        { prefixes: [parsePrefix("10.10.1.0/24")] },
    );
    await none.synced(AbortSignal.timeout(20));
    expect([none.has(parseIp("10.10.1.20")), api.watches(ipAllocations), warned.length]).toEqual([false, 0, 0]);
    await none.close();
});
