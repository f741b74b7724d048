import { describe, expect, it } from "@jest/globals";
import { parsePrefix } from "@antrea/ip";
import { type Node, type Service } from "@antrea/kube";
import { LoadBalancer, type LoadBalancerComponents } from "../load-balancer/balancer.ts";
import { finalizer } from "../load-balancer/rules.ts";

const pool = parsePrefix("172.18.255.0/24");
const node = (name: string, address: string): Node => ({
    metadata: { name },
    status: { addresses: [{ type: "InternalIP", address }] },
});
const nodes = [node("a", "172.18.0.2"), node("b", "172.18.0.3")];

type Patch = readonly [name: string, body: unknown, subresource: string | undefined];

/** A load balancer with an API server that refuses patches of the Service `refused`, and the commands that it would run. */
function balancerOf(...services: readonly Service[]) {
    const objects = new Map(services.map((service) => [`d/${service.metadata?.name ?? ""}`, service]));
    const patches: Patch[] = [];
    const routes: (readonly [string, ...string[]])[] = [];
    /** By port. */
    const healthy = new Map<number, readonly string[]>();
    const patch = (
        ...[, { name }, { body }, options]: Parameters<LoadBalancerComponents["api"]["patch"]>
    ): Promise<never> => {
        if (name === "refused") return Promise.reject(new Error("no"));
        patches.push([name, body, options?.subresource]);
        return Promise.resolve({} as never);
    };
    const components: LoadBalancerComponents = {
        api: { patch },
        services: { get: (key) => objects.get(key), list: () => [...objects.values()] },
        nodes: { list: () => nodes },
        routes: { set: (address, hops) => Promise.resolve(void routes.push([address, ...hops])) },
        healthyOf: (addresses, port) =>
            Promise.resolve(addresses.filter((address) => healthy.get(port)?.includes(address))),
        logger: { info: () => undefined },
    };
    return { balancer: new LoadBalancer(components, pool), objects, patches, routes, healthy };
}

const service = (name: string, more: Partial<Service> = {}, spec: Service["spec"] = {}): Service => ({
    metadata: { name, namespace: "d", ...more.metadata },
    spec: { type: "LoadBalancer", ipFamilies: ["IPv4"], ...spec },
    ...(more.status === undefined ? {} : { status: more.status }),
});
const withFinalizer = { metadata: { finalizers: [finalizer] } };
const given = (ip: string): Patch[1] => ({ status: { loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } } });
const released: Patch[1] = { metadata: { "$deleteFromPrimitiveList/finalizers": [finalizer] } };

describe("the load balancer", () => {
    it("gives a Service the finalizer, then an address, and the same one again", async () => {
        const { balancer, patches } = balancerOf(service("one"), service("two"));
        for (const key of ["d/one", "d/two", "d/one"]) await balancer.reconcile(key);
        const one: readonly Patch[] = [
            ["one", { metadata: { finalizers: [finalizer] } }, undefined],
            ["one", given("172.18.255.254"), "status"],
        ];
        const two = one.map(([, body, sub]) => ["two", sub === undefined ? body : given("172.18.255.253"), sub]);
        expect(patches).toEqual([...one, ...two, ...one]);
    });

    it("leads clients to healthy Nodes only, and nowhere when there is none", async () => {
        const local = { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 } as const;
        const { balancer, healthy, routes } = balancerOf(service("one", withFinalizer, local));
        await balancer.reconcile("d/one");
        // all Nodes answer at the port of the proxy, which is not asked
        healthy.set(10_256, ["172.18.0.2", "172.18.0.3"]);
        await balancer.round();
        expect(routes).toEqual([]);
        for (const all of [["172.18.0.3"], ["172.18.0.3"], ["172.18.0.2", "172.18.0.3"], []]) {
            healthy.set(31_000, all);
            await balancer.round();
        }
        const to = "172.18.255.254";
        expect(routes).toEqual([[to, "172.18.0.3"], [to, "172.18.0.2", "172.18.0.3"], [to]]);
    });

    it("takes the route and the finalizer of a Service that goes", async () => {
        const { balancer, objects, patches, routes } = balancerOf(service("one", withFinalizer));
        await balancer.reconcile("d/one");
        const deletionTimestamp = "2026-11-27T17:00:00Z";
        objects.set("d/one", service("one", { metadata: { ...withFinalizer.metadata, deletionTimestamp } }));
        await balancer.reconcile("d/one");
        expect(routes).toEqual([["172.18.255.254"]]);
        expect(patches.at(-1)).toEqual(["one", released, undefined]);
    });

    it("takes the address of a Service that changes its type", async () => {
        const ingress = [{ ip: "172.18.255.7" }];
        const changed = service(
            "one",
            { ...withFinalizer, status: { loadBalancer: { ingress } } },
            { type: "NodePort" },
        );
        const { balancer, patches } = balancerOf(changed);
        await balancer.reconcile("d/one");
        expect(patches).toEqual([
            ["one", { status: { loadBalancer: { ingress: [] } } }, "status"],
            ["one", released, undefined],
        ]);
    });

    it("releases all Services at its end, also after one that is refused", async () => {
        const other = service("other");
        const { balancer, patches } = balancerOf(
            service("refused", withFinalizer),
            other,
            service("one", withFinalizer),
        );
        await expect(balancer.close()).rejects.toThrow("no");
        expect(patches).toEqual([["one", released, undefined]]);
    });
});
