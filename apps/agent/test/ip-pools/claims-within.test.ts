import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { ipAllocations } from "@antrea/crd";
import { parseIp, parsePrefix } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { ClaimsWithin } from "../../src/ip-pools/claims-within.ts";
import { newClaim } from "../../src/ip-pools/claims.ts";
import { silentLogger } from "../support/logger.ts";
import { FakeApi } from "./support/fake-api.ts";

let api: FakeApi;
let pools: string[];
let rangesChanged: () => void;
let within: ClaimsWithin;

function claim(ip: string, pool: string): void {
    const pod = { namespace: "default", name: "p", uid: "uid-p" };
    const holder = { pod, nodeName: "far", containerId: "c-p", ifName: "eth0" };
    api.put(ipAllocations, newClaim(parseIp(ip), pool, holder));
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
    const pod = { namespace: "default", name: "p", uid: "uid-p" };
    const holder = { pod, nodeName: "far", containerId: "c-p", ifName: "eth0" };
    const odd = newClaim(parseIp("10.10.1.22"), "wide", holder);
    api.put(ipAllocations, { ...odd, metadata: { name: "odd" } });
    claim("10.10.1.20", "wide");
    await within.synced(AbortSignal.timeout(5_000));
    expect(within.has(parseIp("10.10.1.20"))).toBe(true);
});
