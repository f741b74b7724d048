import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools, poolsAnnotation, type IpAllocation } from "@antrea/crd";
import { KubeError, namespaces, statefulSets } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { PoolCluster, podOn, type Term } from "../../pool-cluster.ts";
import { replacing } from "../../replacing.ts";

/** Reports nothing of allocations that came after the list. */
const lateWatch = replacing("watch", (target) => (resource, options) => {
    if (resource.plural !== ipAllocations.plural) return target.watch(resource, options);
    return new Promise((_, reject) =>
        options.signal.addEventListener("abort", () => reject(new KubeError("ABORTED", "ended"))),
    );
});

describe("reservations of StatefulSets", () => {
    let cluster: PoolCluster;
    let term: Term;
    beforeAll(async () => {
        cluster = await PoolCluster.start();
    });
    afterAll(async () => cluster[Symbol.asyncDispose]());
    afterEach(async () => {
        await term.stop();
        await cluster.clear();
    });

    it("are made for each ordinal, whichever is first: set, pool or controller; more on scale-up, freed on scale-down", async () => {
        await cluster.set("early", { replicas: 2, pools: "a" });
        term = cluster.term();
        await eventually(() => term.notes("ReservationFailed").some((note) => note.includes("there is no IPPool a")));
        await cluster.pool("a", "10.2.0.10-10.2.0.29");
        await cluster.eventuallyOfSet("early", ["0 10.2.0.10 Reserved", "1 10.2.0.11 Reserved"]);
        await cluster.set("late", { replicas: 1, start: 5, pools: " a ," });
        await cluster.eventuallyOfSet("late", ["5 10.2.0.12 Reserved"]);
        await cluster.scale("early", 3);
        await cluster.eventuallyOfSet("early", [
            "0 10.2.0.10 Reserved",
            "1 10.2.0.11 Reserved",
            "2 10.2.0.13 Reserved",
        ]);
        // Ordinal 1 runs when the set is scaled to nothing: its address goes with the Pod.
        const allocation = await cluster.api.get(ipAllocations, { name: "10.2.0.11" });
        await cluster.use(allocation, podOn("n1", "early-1"));
        await cluster.scale("early", 0);
        await cluster.eventuallyOfSet("early", ["1 10.2.0.11 Allocated"]);
        await cluster.free("10.2.0.11");
        await cluster.eventuallyOfSet("early", []);
        expect(await cluster.ofSet("late")).toEqual(["5 10.2.0.12 Reserved"]);
        const { spec } = await cluster.api.get(ipAllocations, { name: "10.2.0.12" });
        expect(spec).toMatchObject({ block: "10.2.0.0/24", pool: "a", owner: { kind: "StatefulSet", index: 5 } });
    });

    it("end with the set, each when no Pod uses it; the same with orphaned Pods", async () => {
        await cluster.pool("a", "10.2.1.10-10.2.1.29");
        term = cluster.term();
        for (const name of ["gone", "orphaned"]) {
            await cluster.set(name, { replicas: 3, pools: "a" });
            await eventually(async () => (await cluster.ofSet(name)).length === 3);
            const running = (await cluster.all()).find(
                ({ spec: { owner } }) => owner.name === name && owner.index === 1,
            );
            await cluster.use(running!, podOn("n1", `${name}-1`));
            await cluster.deleteSet(name, name === "gone" ? "Background" : "Orphan");
            const address = running!.spec.address;
            await cluster.eventuallyOfSet(name, [`1 ${address} Allocated`]);
            await new Promise((resolve) => setTimeout(resolve, 500));
            expect(await cluster.ofSet(name)).toEqual([`1 ${address} Allocated`]);
            await cluster.free(address);
            await cluster.eventuallyOfSet(name, []);
        }
        await term.eventuallyMetric('antrea_controller_ippool_reclaims_total{reason="reservation-unwanted"}', "6");
        await term.eventuallyMetric('antrea_controller_ippool_leaks{reason="reservation-unwanted"}', "0");
    });

    it("are taken over by a set of the same name, also those in use; not if it names another pool", async () => {
        await cluster.pool("a", "10.2.2.10-10.2.2.29");
        await cluster.pool("b", "10.2.3.10-10.2.3.29");
        await cluster.set("same", { replicas: 2, pools: "a" });
        term = cluster.term();
        await cluster.eventuallyOfSet("same", ["0 10.2.2.10 Reserved", "1 10.2.2.11 Reserved"]);
        const allocation = await cluster.api.get(ipAllocations, { name: "10.2.2.10" });
        await cluster.use(allocation, podOn("n1", "same-0"));
        await term.stop();
        await cluster.deleteSet("same");
        const { metadata } = await cluster.set("same", { replicas: 2, pools: "a" });
        term = cluster.term();
        await eventually(async () => (await cluster.all()).every(({ spec: { owner } }) => owner.uid === metadata?.uid));
        expect(await cluster.ofSet("same")).toEqual(["0 10.2.2.10 Allocated", "1 10.2.2.11 Reserved"]);
        await term.stop();
        await cluster.deleteSet("same");
        await cluster.set("same", { replicas: 2, pools: "b" });
        term = cluster.term();
        await cluster.eventuallyOfSet("same", [
            "0 10.2.2.10 Allocated",
            "0 10.2.3.10 Reserved",
            "1 10.2.3.11 Reserved",
        ]);
        await cluster.free("10.2.2.10");
        await cluster.eventuallyOfSet("same", ["0 10.2.3.10 Reserved", "1 10.2.3.11 Reserved"]);
    });

    it("keep of two allocations for one ordinal the one that a Pod uses, else the older", async () => {
        await cluster.pool("a", "10.2.4.10-10.2.4.29");
        const { metadata } = await cluster.set("twice", { replicas: 2, pools: "a" });
        const owner = { kind: "StatefulSet", namespace: "default", name: "twice", uid: metadata?.uid ?? "" } as const;
        await cluster.claim("10.2.4.20", "a", podOn("n1", "twice-0"), { ...owner, index: 0 });
        await cluster.claim("10.2.4.21", "a", podOn("n1", "twice-1"), { ...owner, index: 1 });
        await cluster.free("10.2.4.21");
        await new Promise((resolve) => setTimeout(resolve, 1_100));
        await cluster.claim("10.2.4.10", "a", podOn("n1", "twice-0"), { ...owner, index: 0 });
        await cluster.claim("10.2.4.11", "a", podOn("n1", "twice-1"), { ...owner, index: 1 });
        await cluster.free("10.2.4.11");
        await cluster.free("10.2.4.20");
        term = cluster.term();
        await cluster.eventuallyOfSet("twice", ["0 10.2.4.10 Allocated", "1 10.2.4.21 Reserved"]);
    });

    it("are made of both families or neither, spread over the pools in order, and completed when addresses come free", async () => {
        await cluster.pool("four", "10.2.5.10-10.2.5.29");
        await cluster.pool("six", "fd00:2::10-fd00:2::11");
        await cluster.pool("more-six", "fd00:2::20-fd00:2::20");
        await cluster.claim("fd00:2::10", "six", podOn("n1", "other"));
        await cluster.set("dual", { replicas: 3, pools: "four,six,more-six" });
        term = cluster.term();
        const two = ["0 10.2.5.10 Reserved", "0 fd00:2::11 Reserved", "1 10.2.5.11 Reserved", "1 fd00:2::20 Reserved"];
        await cluster.eventuallyOfSet("dual", two);
        await eventually(() => term.notes("ReservationFailed").length > 0);
        expect(term.notes("ReservationFailed")[0]).toContain(
            "ordinal 2: no IPv6 address is free in IPPool six, more-six",
        );
        expect(term.events.find(({ reason }) => reason === "ReservationFailed")?.regarding).toMatchObject({
            kind: "StatefulSet",
            name: "dual",
            namespace: "default",
        });
        await new Promise((resolve) => setTimeout(resolve, 500));
        expect(await cluster.ofSet("dual")).toEqual(two);
        await cluster.free("fd00-2-0-0-0-0-0-10");
        await cluster.eventuallyOfSet("dual", [...two, "2 10.2.5.12 Reserved", "2 fd00:2::10 Reserved"]);
    });

    it("are given up outside the ranges of their pool, once no Pod uses them, and made anew; the StatefulSet has an event", async () => {
        await cluster.pool("moved", "10.2.20.10-10.2.20.19");
        await cluster.set("mover", { replicas: 2, pools: "moved" });
        term = cluster.term();
        await cluster.eventuallyOfSet("mover", ["0 10.2.20.10 Reserved", "1 10.2.20.11 Reserved"]);
        await cluster.use(await cluster.api.get(ipAllocations, { name: "10.2.20.11" }), podOn("n1", "mover-1"));
        await cluster.changePool("moved", "10.2.20.30-10.2.20.39");
        await cluster.eventuallyOfSet("mover", ["0 10.2.20.30 Reserved", "1 10.2.20.11 Allocated"]);
        expect(term.notes("ReservationGivenUp")).toEqual([
            "Address 10.2.20.10 is no longer reserved for ordinal 0: it is no longer in the ranges of IPPool moved. " +
                "The ordinal gets another address.",
        ]);
        await new Promise((resolve) => setTimeout(resolve, 500));
        expect(await cluster.ofSet("mover")).toEqual(["0 10.2.20.30 Reserved", "1 10.2.20.11 Allocated"]);
        await cluster.free("10.2.20.11");
        await cluster.eventuallyOfSet("mover", ["0 10.2.20.30 Reserved", "1 10.2.20.31 Reserved"]);
    });

    it("are not given up by what a watch reports too late: the pool is read first", async () => {
        await cluster.pool("late", "10.2.21.10-10.2.21.19");
        await cluster.set("sticky", { replicas: 1, pools: "late" });
        term = cluster.term();
        await cluster.eventuallyOfSet("sticky", ["0 10.2.21.10 Reserved"]);
        await term.stop();
        const pool = await cluster.api.get(ipPools, { name: "late" });
        const { ipRanges } = pool.spec;
        // As it was before it grew: its list is that late.
        const stale = { ...pool, spec: { ...pool.spec, ipRanges: [{ ...ipRanges[0], start: "10.2.21.15" }] } };
        const wrap = replacing("list", (api) => async (resource, o) => {
            const listed = await api.list(resource, o);
            return resource.plural === ipPools.plural ? { ...listed, items: [stale] } : listed;
        });
        term = cluster.term({ wrap });
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        expect(await cluster.ofSet("sticky")).toEqual(["0 10.2.21.10 Reserved"]);
        expect(term.notes("ReservationGivenUp")).toEqual([]);
    });

    it("go on as soon as a pool is exhausted no more: by a Pod that ends, or by a larger range; the pool reports so", async () => {
        await cluster.pool("small", "10.2.6.10-10.2.6.12");
        await cluster.claim("10.2.6.10", "small", podOn("n1", "other"));
        term = cluster.term();
        await cluster.set("wide", { replicas: 4, pools: "small" });
        await cluster.eventuallyOfSet("wide", ["0 10.2.6.11 Reserved", "1 10.2.6.12 Reserved"]);
        await eventually(() => term.notes("ReservationFailed").some((note) => note.includes("ordinals 2, 3")));
        const exhausted = async (): Promise<string | undefined> =>
            (await cluster.api.get(ipPools, { name: "small" })).status?.conditions?.find(
                ({ type }) => type === "Exhausted",
            )?.status;
        await eventually(async () => (await exhausted()) === "True");
        await cluster.free("10.2.6.10");
        await cluster.eventuallyOfSet("wide", ["0 10.2.6.11 Reserved", "1 10.2.6.12 Reserved", "2 10.2.6.10 Reserved"]);
        await cluster.changePool("small", "10.2.6.10-10.2.6.20");
        await eventually(async () => (await cluster.ofSet("wide")).includes("3 10.2.6.13 Reserved"));
        await eventually(async () => (await exhausted()) === "False");
    });

    it("are made for 256 ordinals of a StatefulSet without Pods, in turns that keep no other waiting", async () => {
        await cluster.pool("vast", "fd00:2:7::/64");
        const huge = Array.from({ length: 9 }, (_, index) => `huge${index}`);
        for (const name of huge) await cluster.set(name, { replicas: 1_000_000, start: 5, pools: "vast" });
        await cluster.set("small", { pools: "vast" });
        const [tried, made] = [new Map<string, number>(), new Map<string, number>()];
        const [addresses, mostBeforeSmall] = [new Set<string>(), new Array<number>()];
        const count = (map: Map<string, number>, name: string): unknown => map.set(name, (map.get(name) ?? 0) + 1);
        // So many writes would only test how fast the API server is.
        const wrap = replacing("create", (target) => async (...args) => {
            const { metadata, spec } = args[1] as unknown as IpAllocation;
            if (spec.owner.kind !== "StatefulSet") return target.create(...args);
            const [{ name = "" }, { name: address = "" }] = [spec.owner, metadata ?? {}];
            if (name === "small") mostBeforeSmall.push(Math.max(...tried.values()));
            count(tried, name);
            if (addresses.has(address)) throw new KubeError("ALREADY_EXISTS", "taken");
            addresses.add(address);
            count(made, name);
            const about = { uid: crypto.randomUUID(), generation: 1, creationTimestamp: new Date().toISOString() };
            return { ...args[1], metadata: { ...metadata, ...about, resourceVersion: "1" } };
        });
        term = cluster.term({ wrap });
        await eventually(() => term.notes("ReservationsLimited").length === 9, { timeoutMs: 90_000 });
        // Eight are served at the same time; each had no more than two turns before the tenth had its first.
        expect(mostBeforeSmall[0]).toBeLessThanOrEqual(2 * 64);
        expect(made).toEqual(new Map([...huge.map((name) => [name, 256] as const), ["small", 1]]));
        expect(term.notes("ReservationsLimited")[0]).toBe(
            "Addresses are reserved for 256 of 1000000 ordinals: for 256, or twice as many as there are Pods. The others get theirs as Pods are created.",
        );
        const status = { type: "merge", body: { status: { replicas: 1_000 } } } as const;
        await cluster.api.patch(statefulSets, { namespace: "default", name: "huge3" }, status, {
            subresource: "status",
        });
        await eventually(() => made.get("huge3") === 1_920, { timeoutMs: 60_000 });
        expect(term.notes("ReservationFailed")).toEqual([]);
        expect(term.notes("ReservationsLimited")).toHaveLength(9);
    });

    it("of pod-ips that the set before had are made without a false word of failure", async () => {
        await cluster.pool("again", "10.2.22.10-10.2.22.29");
        term = cluster.term();
        await cluster.set("anew", { replicas: 4, pools: "again" });
        await eventually(async () => (await cluster.ofSet("anew")).length === 4);
        await term.stop();
        // The controller learns of both at once.
        await cluster.deleteSet("anew");
        await cluster.set("anew", { replicas: 1, pools: "again", podIps: "10.2.22.13" });
        term = cluster.term();
        await cluster.eventuallyOfSet("anew", ["0 10.2.22.13 Reserved"]);
        expect(term.notes("ReservationFailed")).toEqual([]);
    });

    it("serve all that wait for one pool in turn as its addresses come free one by one", async () => {
        await cluster.pool("small", "10.2.7.10-10.2.7.17");
        for (let last = 10; last < 18; last += 1)
            await cluster.claim(`10.2.7.${last}`, "small", podOn("n1", `p${last}`));
        term = cluster.term();
        for (let index = 0; index < 8; index += 1) await cluster.set(`s${index}`, { pools: "small" });
        await eventually(() => term.notes("ReservationFailed").length >= 8);
        for (let last = 10; last < 18; last += 1) {
            await cluster.free(`10.2.7.${last}`);
            await eventually(async () => {
                const allocations = await cluster.all();
                return allocations.filter(({ spec: { owner } }) => owner.kind === "StatefulSet").length === last - 9;
            });
        }
        const names = new Set((await cluster.all()).map(({ spec: { owner } }) => owner.name));
        expect(names.size).toBe(8);
    });

    it("with pod-ips are of exactly that address; who holds it is named, and it is had when that one releases it", async () => {
        await cluster.pool("a", "10.2.8.10-10.2.8.29");
        await cluster.claim("10.2.8.15", "a", podOn("n7", "other"));
        term = cluster.term();
        await cluster.set("fixed", { pools: "a", podIps: "10.2.8.15" });
        await eventually(() => term.notes("ReservationFailed").length > 0);
        expect(term.notes("ReservationFailed")[0]).toContain(
            "10.2.8.15 of pod-ips is allocated to Pod default/other on Node n7",
        );
        expect(await cluster.ofSet("fixed")).toEqual([]);
        await cluster.free("10.2.8.15");
        await cluster.eventuallyOfSet("fixed", ["0 10.2.8.15 Reserved"]);
        await cluster.set("outside", { pools: "a", podIps: "10.9.9.9" });
        await eventually(() => term.notes("ReservationFailed").some((note) => note.includes("10.9.9.9")));
        expect(term.notes("ReservationFailed").at(-1)).toContain("is not handed out by IPPool a");
    });

    it("come from the Namespace's pools where the template names none, also when the Namespace names them later", async () => {
        await cluster.pool("ns", "10.2.9.10-10.2.9.29");
        await cluster.pool("own", "10.2.10.10-10.2.10.29");
        term = cluster.term();
        await cluster.server.addNamespace("team");
        await cluster.set("team/inherits");
        await cluster.set("team/owns", { pools: "own" });
        await cluster.set("team/host", { hostNetwork: true });
        await cluster.eventuallyOfSet("owns", ["0 10.2.10.10 Reserved"]);
        expect(await cluster.ofSet("inherits")).toEqual([]);
        const body = { metadata: { annotations: { [poolsAnnotation]: "ns" } } };
        await cluster.api.patch(namespaces, { name: "team" }, { type: "merge", body });
        await cluster.eventuallyOfSet("inherits", ["0 10.2.9.10 Reserved"]);
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(await cluster.ofSet("host")).toEqual([]);
        expect(await cluster.ofSet("owns")).toEqual(["0 10.2.10.10 Reserved"]);
    });

    it("stay while the template has hostNetwork, by mistake or not, and none is added; the StatefulSet reports it", async () => {
        await cluster.pool("few", "10.2.30.10-10.2.30.11");
        term = cluster.term();
        await cluster.set("s", { replicas: 2, pools: "few" });
        const reserved = ["0 10.2.30.10 Reserved", "1 10.2.30.11 Reserved"];
        await cluster.eventuallyOfSet("s", reserved);
        await cluster.set("t", { replicas: 2, pools: "few" });
        const ref = { namespace: "default", name: "s" };
        const hostNetwork = async (value: true | null): Promise<void> => {
            const body = { spec: { template: { spec: { hostNetwork: value } } } };
            await cluster.api.patch(statefulSets, ref, { type: "merge", body });
        };
        await hostNetwork(true);
        await eventually(() => term.notes("ReservationsKept").length === 1);
        expect(term.notes("ReservationsKept")).toEqual([
            "The template has hostNetwork: true, so its Pods take no address. 2 addresses stay reserved for its ordinals, as long as spec.replicas covers them: scale it down or delete it to free them.",
        ]);
        await cluster.changePool("few", "10.2.30.10-10.2.30.12");
        await cluster.eventuallyOfSet("t", ["0 10.2.30.12 Reserved"]);
        expect(await cluster.ofSet("s")).toEqual(reserved);
        await cluster.scale("s", 1);
        await cluster.eventuallyOfSet("t", ["0 10.2.30.12 Reserved", "1 10.2.30.11 Reserved"]);
        await hostNetwork(null);
        await cluster.eventuallyOfSet("s", reserved.slice(0, 1));
        expect(term.notes("ReservationGivenUp")).toEqual([]);
        expect(term.notes("ReservationsLimited")).toEqual([]);
    });

    it("are not made where the annotations break a rule, as no agent takes such Pods, and the StatefulSet reports which", async () => {
        const names = Array.from({ length: 17 }, (_, at) => `p${at}`);
        for (const [at, name] of names.entries()) await cluster.pool(name, `10.3.${at}.10-10.3.${at}.29`);
        term = cluster.term();
        await cluster.set("many", { replicas: 3, pools: names.join() });
        await cluster.set("broken", { replicas: 1, pools: "p0", podIps: "10.3.0.300" });
        const reportedEvents = (): readonly string[] => [
            ...new Set(term.notes("ReservationFailed").filter((note) => note.startsWith("No address is reserved: "))),
        ];
        await eventually(() => reportedEvents().length === 2);
        expect(reportedEvents().toSorted()).toEqual([
            "No address is reserved: ippools: it names 17 IPPools; at most 16 are allowed. Its Pods are refused: create it again with another template, or annotate the Namespace anew.",
            expect.stringMatching(/^No address is reserved: pod-ips: .*10\.3\.0\.300/),
        ]);
        expect(await cluster.ofSet("many")).toEqual([]);
        expect(await cluster.ofSet("broken")).toEqual([]);
    });

    it("are not made from a pool that is being deleted, as its condition reports; what ordinals have of it stays", async () => {
        await cluster.pool("d", "10.2.31.10-10.2.31.19");
        await cluster.pool("e", "10.2.32.10-10.2.32.19");
        term = cluster.term();
        await cluster.set("had", { replicas: 1, pools: "d" });
        await cluster.eventuallyOfSet("had", ["0 10.2.31.10 Reserved"]);
        const finalizers = ["example.com/keep"];
        await cluster.api.patch(ipPools, { name: "d" }, { type: "merge", body: { metadata: { finalizers } } });
        await cluster.api.delete(ipPools, { name: "d" });
        await eventually(async () => {
            const { status } = await cluster.api.get(ipPools, { name: "d" });
            return status?.conditions?.some(({ type, reason }) => type === "Ready" && reason === "Deleting");
        });
        await cluster.scale("had", 2);
        await cluster.set("next", { replicas: 1, pools: "d,e" });
        await cluster.set("fixed", { replicas: 1, pools: "d", podIps: "10.2.31.15" });
        await cluster.eventuallyOfSet("next", ["0 10.2.32.10 Reserved"]);
        const reportedEvents = (): readonly string[] => [
            ...new Set(term.notes("ReservationFailed").filter((note) => note.includes("being deleted"))),
        ];
        await eventually(() => reportedEvents().length === 2);
        expect(reportedEvents().toSorted()).toEqual([
            "No address is reserved for ordinal 0: 10.2.31.15 of pod-ips is of IPPool d, which is being deleted. Free the address, or change pod-ips; it is tried again.",
            "No address is reserved for ordinal 1: IPPool d is being deleted and hands out no new address. Name another pool, or create it again when it is deleted; it is retried.",
        ]);
        expect(await cluster.ofSet("had")).toEqual(["0 10.2.31.10 Reserved"]);
        expect((await cluster.api.get(ipPools, { name: "d" })).status?.conditions?.[0]).toMatchObject({
            type: "Ready",
            status: "False",
            message:
                "The pool is being deleted and hands out no new address; what Pods and StatefulSets have of it stays. It is deleted when these finalizers are removed: example.com/keep.",
        });
        await cluster.api.patch(ipPools, { name: "d" }, { type: "merge", body: { metadata: { finalizers: null } } });
    });

    it("give no address twice while agents take addresses of the same pool, and all are had in the end", async () => {
        await cluster.pool("busy", "10.2.11.0/24");
        term = cluster.term();
        const takers = Array.from({ length: 4 }, async (_, taker) => {
            let taken = 0;
            for (let last = 2 + taker; last < 255 && taken < 20; last += 1) {
                const allocation = cluster.claim(`10.2.11.${last}`, "busy", podOn(`n${taker}`, `p${taker}-${taken}`));
                taken += await allocation.then(
                    () => 1,
                    () => 0,
                );
            }
        });
        await Promise.all([
            ...takers,
            ...Array.from({ length: 6 }, (_, index) => cluster.set(`set-${index}`, { replicas: 20, pools: "busy" })),
        ]);
        await eventually(async () => (await cluster.all()).length >= 80 + 120, { timeoutMs: 90_000 });
        await new Promise((resolve) => setTimeout(resolve, 500));
        const allocations = await cluster.all();
        expect(allocations).toHaveLength(200);
        const ordinals = allocations.filter(({ spec: { owner } }) => owner.kind === "StatefulSet");
        expect(new Set(ordinals.map(({ spec: { owner } }) => `${owner.name} ${owner.index}`)).size).toBe(120);
    });

    it("survive lost answers: what was created is not created again for the same ordinal", async () => {
        await cluster.pool("a", "10.2.12.10-10.2.12.29");
        let creates = 0;
        const wrap = replacing("create", (target) => async (...args) => {
            creates += 1;
            const lost = new KubeError("TIMEOUT", "no answer", { outcomeUnknown: true });
            if (creates % 3 === 1) throw lost;
            const made = await target.create(...args);
            if (creates % 3 === 2) throw lost;
            return made;
        });
        await cluster.set("lossy", { replicas: 5, pools: "a" });
        term = cluster.term({ wrap });
        await cluster.eventuallyOfSet(
            "lossy",
            [0, 1, 2, 3, 4].map((index) => `${index} 10.2.12.${10 + index} Reserved`),
        );
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(await cluster.all()).toHaveLength(5);
    });

    it("survive lost answers of which nothing is heard for a while: no second address for the ordinal", async () => {
        await cluster.pool("a", "10.2.16.10-10.2.16.29");
        const lost = new KubeError("TIMEOUT", "no answer", { outcomeUnknown: true });
        let creates = 0;
        let finds = 0;
        // The answer of the first create is lost, and then that of the read of what became of it; the watch is late.
        const lossyCreate = replacing("create", (target) => async (...args) => {
            // Gateways are claimed beside them.
            const { spec } = args[1] as unknown as IpAllocation;
            if (spec.owner.kind === "StatefulSet") creates += 1;
            const isFirst = spec.owner.kind === "StatefulSet" && creates === 1;
            const made = await target.create(...args);
            if (isFirst) throw lost;
            return made;
        });
        const lossyFind = replacing("find", (target) => async (...args) => {
            if (args[0].plural === ipAllocations.plural) finds += 1;
            if (finds === 1) throw lost;
            return target.find(...args);
        });
        await cluster.set("unheard", { replicas: 2, pools: "a" });
        term = cluster.term({ wrap: (api) => lossyCreate(lossyFind(lateWatch(api))) });
        const expected = ["0 10.2.16.10 Reserved", "1 10.2.16.11 Reserved"];
        await cluster.eventuallyOfSet("unheard", expected);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        expect(await cluster.ofSet("unheard")).toEqual(expected);
        expect(finds).toBeGreaterThan(1);
    });

    it.each([
        ["another is had", "fd00:3::10-fd00:3::11", ["0 10.2.15.10 Reserved", "0 fd00:3::11 Reserved"]],
        ["neither is kept", "fd00:3::10-fd00:3::10", []],
    ])("of two families whose second someone takes in that moment: %s", async (_name, six, expected) => {
        await cluster.pool("four", "10.2.15.10-10.2.15.29");
        await cluster.pool("six", six);
        let stolen = false;
        const wrap = replacing("create", (target) => async (...args) => {
            if (args[1].metadata?.name === "fd00-3-0-0-0-0-0-10" && !stolen) {
                stolen = true;
                await cluster.claim("fd00:3::10", "six", podOn("n1", "thief"));
            }
            return target.create(...args);
        });
        await cluster.set("dual", { pools: "four,six" });
        term = cluster.term({ wrap });
        await eventually(() => stolen);
        await eventually(() => expected.length > 0 || term.notes("ReservationFailed").length > 0);
        await cluster.eventuallyOfSet("dual", expected);
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(await cluster.ofSet("dual")).toEqual(expected);
    });

    it("of the leader before are found by one whose watch of allocations is late", async () => {
        await cluster.pool("a", "10.2.16.10-10.2.16.29");
        const { metadata } = await cluster.set("late", { replicas: 0, pools: "a" });
        term = cluster.term({ wrap: lateWatch });
        await term.allocations.synced(AbortSignal.timeout(60_000));
        const owner = { kind: "StatefulSet", namespace: "default", name: "late", index: 0 } as const;
        await cluster.claim("10.2.16.25", "a", podOn("n1", "late-0"), { ...owner, uid: metadata?.uid ?? "" });
        await cluster.scale("late", 2);
        await eventually(async () => (await cluster.ofSet("late")).length >= 2);
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(await cluster.ofSet("late")).toEqual(["0 10.2.16.25 Allocated", "1 10.2.16.10 Reserved"]);
    });

    it("are finished by the next leader, without a second allocation for any ordinal", async () => {
        await cluster.pool("a", "10.2.13.0/24");
        await cluster.set("large", { replicas: 200, pools: "a" });
        let sent = 0;
        const wrap = replacing("create", (target) => (...args) => {
            sent += 1;
            return target.create(...args);
        });
        term = cluster.term({ wrap });
        await eventually(async () => (await cluster.ofSet("large")).length > 20);
        await term.stop();
        // Those under way may still take effect, as the API server has them already; no more are sent.
        const sentAtStop = sent;
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(sent).toBe(sentAtStop);
        expect((await cluster.ofSet("large")).length).toBeLessThan(200);
        term = cluster.term();
        await eventually(async () => (await cluster.ofSet("large")).length === 200);
        const ordinals = (await cluster.ofSet("large")).map((text) => text.split(" ")[0]);
        expect(new Set(ordinals).size).toBe(200);
    });

    it("of sets that went while no controller led are freed by the next leader", async () => {
        await cluster.pool("a", "10.2.16.10-10.2.16.29");
        for (const name of ["stays", "goes"]) await cluster.set(name, { replicas: 2, pools: "a" });
        term = cluster.term();
        await eventually(async () => (await cluster.all()).length === 4);
        await term.stop();
        await cluster.deleteSet("goes");
        await cluster.scale("stays", 1);
        term = cluster.term();
        await cluster.eventuallyOfSet("goes", []);
        await eventually(async () => (await cluster.ofSet("stays")).length === 1);
        expect((await cluster.ofSet("stays"))[0]).toMatch(/^0 /);
    });

    it("go on when the API server comes back, and end with one allocation for each ordinal", async () => {
        await cluster.pool("a", "10.2.17.0/24");
        await cluster.set("large", { replicas: 150, pools: "a" });
        term = cluster.term();
        await eventually(async () => (await cluster.ofSet("large")).length > 20);
        await cluster.server.restart();
        // A create whose connection broke may be done late, beside the one made in its place: the surplus goes.
        await eventually(
            async () => {
                const ordinals = (await cluster.ofSet("large")).map((text) => text.split(" ")[0]);
                return ordinals.length === 150 && new Set(ordinals).size === 150;
            },
            { timeoutMs: 120_000 },
        );
    });

    it("are not freed on what the watch reported: the live set decides", async () => {
        await cluster.pool("a", "10.2.14.10-10.2.14.29");
        await cluster.set("alive", { replicas: 2, pools: "a" });
        // This controller believes that the set has one replica only.
        const wrap = replacing("list", (target) => async (...args) => {
            const result = await target.list(...args);
            const { plural } = args[0];
            if (plural !== "statefulsets") return result;
            const items = result.items.map((item) => ({
                ...item,
                spec: { ...(item as { readonly spec?: object }).spec, replicas: 1 },
            }));
            return { ...result, items };
        });
        term = cluster.term();
        await eventually(async () => (await cluster.ofSet("alive")).length === 2);
        await term.stop();
        term = cluster.term({ wrap, intervalMs: 200 });
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        expect(await cluster.ofSet("alive")).toHaveLength(2);
    });

    it("are not taken over for a set of the name that is no more, whatever the watch reported", async () => {
        await cluster.pool("a", "10.2.15.10-10.2.15.29");
        const { metadata } = await cluster.set("again", { replicas: 1, pools: "a" });
        term = cluster.term();
        await cluster.eventuallyOfSet("again", ["0 10.2.15.10 Reserved"]);
        await term.stop();
        // This controller believes that an earlier set of the name lives.
        const wrap = replacing("list", (target) => async (...args) => {
            const result = await target.list(...args);
            if (args[0].plural !== "statefulsets") return result;
            const items = result.items.map((item) => ({
                ...item,
                metadata: { ...(item as { readonly metadata?: object }).metadata, uid: "of-an-earlier-set" },
            }));
            return { ...result, items };
        });
        term = cluster.term({ wrap, intervalMs: 200 });
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        const { spec } = await cluster.api.get(ipAllocations, { name: "10.2.15.10" });
        expect(spec.owner.uid).toBe(metadata?.uid);
    });
});
