import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { OpenFlowError } from "@antrea/openflow";
import type { ServiceObject } from "@antrea/services";
import fc from "fast-check";
import { HostSide } from "./host-side.ts";
import { service, slice, Start } from "./start.ts";

interface ServiceEvent {
    readonly kind: "service";
    readonly name: string;
    readonly ip: number;
    readonly affinity: boolean;
    readonly udp: boolean;
    /** What only `proxyAll` serves. */
    readonly outside: {
        readonly type: "ClusterIP" | "NodePort" | "LoadBalancer";
        readonly nodePort: number;
        readonly external: readonly string[];
        readonly ingress: string;
        readonly local: boolean;
        readonly sourceRanges: boolean;
    };
}

type Event =
    | ServiceEvent
    | { readonly kind: "slice"; readonly name: string; readonly ips: readonly number[] }
    | { readonly kind: "delete" | "forget"; readonly name: string }
    /** The Node gets the address, or loses it. */
    | { readonly kind: "address"; readonly ip: string }
    /** So many bundles to come: the first is of several Services, then each is sent alone. */
    | { readonly kind: "refused"; readonly times: number }
    | { readonly kind: "wait" | "lost" };

const names = fc.constantFrom("a", "bb", "ccc");
const externalIps = ["192.0.2.1", "192.0.2.2", "198.51.100.7"] as const;
const event: fc.Arbitrary<Event> = fc.oneof(
    fc.record({
        kind: fc.constant("service" as const),
        name: names,
        ip: fc.integer({ min: 1, max: 4 }),
        affinity: fc.boolean(),
        udp: fc.boolean(),
        outside: fc.record({
            type: fc.constantFrom("ClusterIP" as const, "NodePort" as const, "LoadBalancer" as const),
            nodePort: fc.integer({ min: 30_001, max: 30_003 }),
            external: fc.uniqueArray(fc.constantFrom(...externalIps)),
            ingress: fc.constantFrom(...externalIps),
            local: fc.boolean(),
            sourceRanges: fc.boolean(),
        }),
    }),
    fc.record({
        kind: fc.constant("slice" as const),
        name: names,
        ips: fc.uniqueArray(fc.integer({ min: 2, max: 30 }), { maxLength: 20 }),
    }),
    // the host itself, alone or beside a Pod
    fc.record({
        kind: fc.constant("slice" as const),
        name: names,
        ips: fc.constantFrom<readonly number[]>([200], [200, 201], [200, 2]),
    }),
    fc.record({ kind: fc.constantFrom("delete" as const, "forget" as const), name: names }),
    fc.record({ kind: fc.constant("address" as const), ip: fc.constantFrom("192.0.2.1", "192.0.2.2") }),
    fc.record({ kind: fc.constant("refused" as const), times: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constantFrom("wait" as const, "lost" as const) }),
);

function objectOf({ name, ip, affinity, udp, outside }: ServiceEvent, proxyAll: boolean): ServiceObject {
    const { type, nodePort, external, ingress, local, sourceRanges } = outside;
    const protocol = udp ? "UDP" : "TCP";
    const spec = { clusterIPs: [`10.96.0.${ip}`], sessionAffinity: affinity ? "ClientIP" : "None" };
    if (!proxyAll) return service(name, { ...spec, ports: [{ port: 80, protocol }] });
    return {
        ...service(name, {
            ...spec,
            type,
            ports: [{ port: 80, protocol, ...(type === "ClusterIP" ? {} : { nodePort }) }],
            externalIPs: external,
            ...(local ? { externalTrafficPolicy: "Local" } : {}),
            ...(sourceRanges ? { loadBalancerSourceRanges: ["203.0.113.0/24"] } : {}),
        }),
        ...(type === "LoadBalancer" ? { status: { loadBalancer: { ingress: [{ ip: ingress }] } } } : {}),
    };
}

/** A start of the agent, on a Node whose host network is an endpoint too. */
class Agent {
    readonly host: HostSide | undefined;
    readonly start: Start;

    constructor(proxyAll: boolean) {
        this.host = proxyAll ? new HostSide() : undefined;
        this.start = new Start(this.host?.stack);
        this.host?.stack.onChange((key) => this.start.mark([key]));
        const addresses = ["10.10.0.200", "10.10.0.201"].map((address) => ({ type: "InternalIP", address }));
        this.start.index.setNode({ metadata: { name: "here" }, status: { addresses } });
    }

    happen(one: Event): void {
        const { index, ovs } = this.start;
        switch (one.kind) {
            case "service":
                return this.start.mark(index.setService(objectOf(one, this.host !== undefined)));
            case "slice": {
                const ips = one.ips.map((ip) => `10.10.0.${ip}`);
                return this.start.mark(index.setSlice(slice(one.name, ips)));
            }
            case "delete":
                return this.start.mark(index.deleteService(`default/${one.name}`));
            case "forget":
                return this.start.mark(index.deleteSlice(`default/${one.name}-1`));
            case "address":
                if (this.host?.own.delete(one.ip) === false) this.host.own.add(one.ip);
                return this.host?.stack.addressesChanged([one.ip]);
            case "lost":
                ovs.failures.push({ error: new OpenFlowError("TIMEOUT", "timeout", "no answer"), applied: true });
                break;
            case "refused":
                for (let times = 0; times < one.times; times += 1)
                    ovs.failures.push({ error: new OpenFlowError("REFUSED", "remote", "refused"), applied: false });
                break;
            case "wait":
                break;
        }
    }

    /** Resolves when nothing is left to do. */
    async settle(): Promise<void> {
        while (this.start.queue.size > 0) await turn();
        await this.host?.write();
    }
}

it.each([
    ["without proxyAll", false, 150],
    ["with proxyAll", true, 600],
])(
    "%s any events end in flows and host's rules of a fresh start with the same objects",
    async (_, proxyAll, numRuns) => {
        await fc.assert(
            fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
                const changed = new Agent(proxyAll);
                for (const one of events) {
                    changed.happen(one);
                    if (one.kind !== "wait") continue;
                    await changed.start.queue.idle();
                    await changed.host?.write();
                }
                await changed.settle();
                const last = new Map<string, Event>();
                for (const one of events) {
                    if (one.kind === "service" || one.kind === "delete") last.set(`service ${one.name}`, one);
                    if (one.kind === "slice" || one.kind === "forget") last.set(`slice ${one.name}`, one);
                }
                const fresh = new Agent(proxyAll);
                for (const ip of changed.host?.own ?? []) fresh.host?.own.add(ip);
                for (const one of last.values()) fresh.happen(one);
                await fresh.settle();
                expect(changed.start.served).toEqual(fresh.start.served);
                expect(changed.host?.elements).toEqual(fresh.host?.elements);
                await Promise.all([changed, fresh].map(({ start }) => start.queue.close()));
            }),
            { numRuns },
        );
    },
);
