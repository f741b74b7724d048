import { beforeEach, describe, expect, it } from "@jest/globals";
import { allocationName } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { type KubeObject } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { Store } from "../api/store.ts";
import { ForcedAllocations } from "../check/forced-allocations.ts";
import { ForeignSubnets } from "../check/foreign-subnets.ts";
import { Truth, type Container } from "../check/truth.ts";
import { VirtualTime } from "../time/virtual-time.ts";

const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
const nodeKind = kindOf("v1", "nodes");
const twoOwners = "no address has two owners";
const isFree = "a running container's address is not free";
const ofOthers = "no Pod keeps an address of another Node's subnet";

const x = containerOf("x", "a");
const y = containerOf("y", "b");

let time: VirtualTime;
let store: Store;
let truth: Truth;
let forced: ForcedAllocations;
/** The agent of every Node, as long as it can hear. */
let agent: object | undefined;
/** The records name the pool of an address. */
let namesPool: boolean;

function containerOf(id: string, node: string): Container {
    return { id, node, podNamespace: "default", podName: id, podUid: `uid-${id}`, since: 0 };
}

async function pass(seconds: number): Promise<void> {
    const until = time.now + seconds * 1_000;
    time.at(until, () => undefined);
    await time.run(() => time.now >= until);
}

describe.each([
    ["IPv4", "10.9.0.77", "10.9.0.0/24"],
    ["IPv6", "fd00:9::77", "fd00:9::/64"],
])("a container whose allocation a person deleted, %s", (_, text, cidr) => {
    const ip = parseIp(text);
    const name = allocationName(ip);

    const put = (kind: typeof allocationKind, metadata: KubeObject["metadata"], spec: unknown): void =>
        void store.put(kind, { metadata, spec } as KubeObject);
    const allocate = ({ podUid }: Container): void =>
        put(allocationKind, { name }, { pod: { uid: podUid, interface: "eth0" } });
    const free = (): void => store.delete(allocationKind, name);
    const makePool = (): void => {
        const gateway = ip.family === 4 ? "10.9.0.1" : "fd00:9::1";
        const range = { start: text, end: text, gateway, prefixLength: ip.family === 4 ? 24 : 64 };
        put(poolKind, { name: "pool" }, { ipVersion: ip.family, ipRanges: [range] });
    };
    const deletePool = (): void => store.delete(poolKind, "pool");
    const force = (container: Container): void => {
        forced.deleted(name, [container]);
        free();
    };
    const found = (): readonly string[] => truth.violations.map(({ invariant }) => invariant);

    beforeEach(() => {
        time = new VirtualTime();
        store = new Store();
        agent = {};
        truth = new Truth({
            isClaimed: () => true,
            isUnheard: () => false,
            isForeign: () => false,
            mayReturn: (one, container) => forced.mayReturn(one, container),
        });
        namesPool = false;
        const components = { truth, store, time, hearing: () => agent, namesPool: () => namesPool };
        const foreign = new ForeignSubnets({ ...components, isClaimed: () => true });
        forced = new ForcedAllocations({ ...components, subnetHolder: (one, node) => foreign.holderOf(one, node) });
        store.onChange((change) => {
            if (change.kind === allocationKind) truth.changed(change);
        });
        makePool();
        allocate(x);
        truth.connected(x, ip);
    });

    /** Its pool is gone too, and its agent has had the time to hear of that. */
    const loseAll = async (): Promise<void> => {
        deletePool();
        force(x);
        await pass(120);
        expect(found()).toEqual([]);
    };

    it("may go on beside a new owner until its agent was able to hear for 65 s, and no longer", async () => {
        force(x);
        allocate(y);
        truth.connected(y, ip);
        await pass(60);
        agent = undefined;
        await pass(300);
        agent = {};
        await pass(60);
        expect(found()).toEqual([]);
        await pass(10);
        expect(found()).toEqual([twoOwners, isFree]);
    });

    it("must have its allocation again by then also if nobody else has it", async () => {
        force(x);
        await pass(70);
        expect(found()).toEqual([isFree]);
    });

    it("is as any other once the allocation is its Pod's again, or when it is isolated", async () => {
        force(x);
        allocate(x);
        free();
        expect(found()).toEqual([isFree]);
        force(x);
        truth.isolated("x", ip);
        truth.disconnected("x", ip);
        await pass(120);
        expect(found()).toEqual([isFree]);
    });

    it("must have its allocation again after two passes although no pool has the address, if its record names one", async () => {
        namesPool = true;
        deletePool();
        force(x);
        await pass(125);
        expect(found()).toEqual([]);
        await pass(10);
        expect(found()).toEqual([isFree]);
    });

    it.each([
        ["may return without an allocation when no pool has the address, until one has it again", false, false],
        ["may not return without an allocation when its record names the pool", false, true],
        ["may not return without an allocation when a pool has the address", true, false],
    ])("that was isolated %s", async (_, hasPool, isNamed) => {
        if (!hasPool) deletePool();
        force(x);
        truth.disconnected(x.id, ip);
        truth.isolated(x.id, ip);
        await pass(10);
        namesPool = isNamed;
        truth.connected(x, ip);
        if (!hasPool && !isNamed) {
            await pass(200);
            expect(found()).toEqual([]);
            makePool();
            await pass(60);
            expect(found()).toEqual([]);
            await pass(10);
        }
        expect(found()).toEqual([isFree]);
    });

    it("needs no allocation as long as no pool has the address, if its record names none", async () => {
        await loseAll();
        forced.heard();
        truth.endUnheard();
        await pass(3_600);
        expect(found()).toEqual([]);
    });

    it("has two users too many when another is there that nobody can have given the address", async () => {
        await loseAll();
        truth.connected(y, ip);
        expect(found()).toContain(twoOwners);
    });

    it.each([
        ["a pool has the address again", makePool],
        ["another has an allocation of it", () => allocate(y)],
    ])("is excused for 65 s more, once %s", async (_what, change) => {
        await loseAll();
        change();
        await pass(60);
        expect(found()).toEqual([]);
        await pass(10);
        expect(found()).toEqual([isFree]);
    });

    it("is one of two users when another has got the address from a new pool, also if that one ends soon", async () => {
        await loseAll();
        makePool();
        allocate(y);
        truth.connected(y, ip);
        await pass(70);
        truth.disconnected("y", ip);
        free();
        expect(found()).toContain(twoOwners);
    });

    it("does not go on in the subnet of another Node", async () => {
        await loseAll();
        put(nodeKind, { name: "b" }, { podCIDRs: [cidr] });
        await pass(60);
        expect(found()).toEqual([]);
        await pass(10);
        expect(found()).toContain(ofOthers);
        expect(found()).toContain(isFree);
    });

    it("goes on for a pass beside another interface of its own that got the address, and no longer", async () => {
        force(x);
        put(allocationKind, { name }, { pod: { uid: x.podUid, interface: "eth1" } });
        truth.connected(x, ip, "eth1");
        expect(found()).toEqual([]);
        await pass(140);
        expect(found()).toContain(twoOwners);
    });

    it("is not excused any more when all is at rest, whoever excused it", () => {
        force(x);
        forced.heard();
        expect(found()).toEqual([isFree]);
        truth.excuse(name, "x", "unheard");
        truth.endUnheard();
        expect(found()).toEqual([isFree, isFree]);
    });
});
