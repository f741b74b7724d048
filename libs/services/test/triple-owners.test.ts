import { describe, expect, it } from "@jest/globals";
import { problemText, type ServiceIndex } from "../src/index.ts";
import { indexOf, node, placesOf, service, servedOf, type ServiceInput } from "./objects.ts";

const address = "external 203.0.113.1 TCP/80 cluster/cluster";
const shared = (name: string, byte: number, more: ServiceInput = {}): ServiceInput => ({
    name,
    clusterIPs: [`10.96.0.${byte}`],
    externalIPs: ["203.0.113.1"],
    ...more,
});

/** Which of the Services of this index is served at the shared address. */
function ownersOf(index: ServiceIndex): readonly string[] {
    return index.keys.filter((key) => placesOf(servedOf(index, key.replace("default/", ""))).includes(address));
}

describe("one address, protocol and port of several Services", () => {
    it("is the older's, whatever comes first; the other gets a problem and all else", () => {
        const old = service(shared("z", 1, { created: "2025-12-31T23:59:59Z" }));
        const young = service(shared("a", 2));
        for (const services of [
            [old, young],
            [young, old],
        ]) {
            const index = indexOf({ services });
            expect(ownersOf(index)).toEqual(["default/z"]);
            const { ports, problems } = servedOf(index, "a");
            expect([ports.length, problems.map(problemText)]).toEqual([
                1,
                [
                    "spec.externalIPs[0]: 203.0.113.1 TCP 80 belongs to the Service default/z, which is older or first by name; it is not served for this one; next: choose another address or port, or delete the other Service",
                ],
            ]);
            expect(servedOf(index, "z").problems).toEqual([]);
        }
    });

    it("is the first's by name of equally old ones, and of one without a time last", () => {
        const index = indexOf({ services: ["b", "a", "c"].map((name, at) => service(shared(name, at + 1))) });
        expect(ownersOf(index)).toEqual(["default/a"]);
        const { creationTimestamp: _, ...metadata } = service(shared("0", 9)).metadata ?? {};
        expect([...index.setService({ ...service(shared("0", 9)), metadata })]).toEqual(["default/0"]);
        expect(ownersOf(index)).toEqual(["default/a"]);
    });

    it("goes to the next when it is free, which is then touched, and no other", () => {
        const index = indexOf({ services: ["a", "b", "c"].map((name, at) => service(shared(name, at + 1))) });
        expect([...index.deleteService("default/b")]).toEqual(["default/b"]);
        index.setService(service(shared("b", 2)));
        expect([[...index.deleteService("default/a")].sort(), ownersOf(index)]).toEqual([
            ["default/a", "default/b"],
            ["default/b"],
        ]);
        const { externalIPs: _, ...without } = shared("b", 2);
        expect([[...index.setService(service(without))].sort(), ownersOf(index)]).toEqual([
            ["default/b", "default/c"],
            ["default/c"],
        ]);
        expect([[...index.setService(service(shared("a", 1)))].sort(), ownersOf(index)]).toEqual([
            ["default/a", "default/c"],
            ["default/a"],
        ]);
        expect([...index.deleteService("default/c")]).toEqual(["default/c"]);
        expect([...index.deleteService("default/c")]).toEqual([]);
    });

    it("goes to the next when a Service of its name is created anew", () => {
        const index = indexOf({ services: ["a", "b"].map((name, at) => service(shared(name, at + 1))) });
        const anew = service(shared("a", 1, { uid: "new", created: "2026-02-01T00:00:00Z" }));
        expect([[...index.setService(anew)].sort(), ownersOf(index)]).toEqual([
            ["default/a", "default/b"],
            ["default/b"],
        ]);
        expect(servedOf(index, "a").uid).toBe("new");
    });

    it("never goes to a Service that is gone", () => {
        const index = indexOf({ services: ["a", "b", "c"].map((name, at) => service(shared(name, at + 1))) });
        index.deleteService("default/b");
        expect([[...index.deleteService("default/a")].sort(), ownersOf(index)]).toEqual([
            ["default/a", "default/c"],
            ["default/c"],
        ]);
    });

    it("touches a Service that may have it now and does not get it", () => {
        const index = indexOf({
            services: [service(shared("a", 1)), service(shared("b", 2))],
            nodes: [node("n", { podCidrs: ["203.0.113.0/24"] })],
        });
        const reasons = (): readonly (readonly string[])[] =>
            ["a", "b"].map((name) => servedOf(index, name).problems.map(({ reason }) => reason));
        expect(reasons()).toEqual([["ExternalAddressInPodCidr"], ["ExternalAddressInPodCidr"]]);
        expect([...index.deleteNode("n")].sort()).toEqual(["default/a", "default/b"]);
        expect(reasons()).toEqual([[], ["AddressTaken"]]);
    });

    it("is another for another protocol or port", () => {
        const index = indexOf({
            services: [
                service(shared("a", 1)),
                service(shared("b", 2, { ports: [{ port: 80, protocol: "UDP" }] })),
                service(shared("c", 3, { ports: [{ port: 81 }] })),
            ],
        });
        expect(index.keys.map((key) => servedOf(index, key.slice(8)).problems)).toEqual([[], [], []]);
    });

    it("is no matter of Services that are ignored", () => {
        const services = [service(shared("a", 1)), service(shared("b", 2))];
        const index = indexOf({ services }, { skipServices: ["default/a"] });
        expect(ownersOf(index)).toEqual(["default/b"]);
    });

    it("holds for NodePorts of a family, ClusterIPs and addresses of load balancers", () => {
        const input: ServiceInput = {
            type: "LoadBalancer",
            clusterIPs: ["10.96.0.1", "fd00::1"],
            ports: [{ port: 80, nodePort: 30080 }],
            ingress: ["198.51.100.1"],
        };
        const index = indexOf({ services: [service({ ...input, name: "a" }), service({ ...input, name: "b" })] });
        expect([servedOf(index, "a").problems, servedOf(index, "b").ports]).toEqual([[], []]);
        expect(
            servedOf(index, "b").problems.map(({ reason, field, value, count }) => [reason, field, value, count]),
        ).toEqual([["AddressTaken", "spec.clusterIPs[0]", "10.96.0.1 TCP 80", 5]]);
        const four = { ...input, clusterIPs: ["10.96.0.3"], ingress: [] };
        const six = { ...input, clusterIPs: ["fd00::3"], ingress: [] };
        const apart = indexOf({ services: [service({ ...four, name: "a" }), service({ ...six, name: "b" })] });
        expect(["a", "b"].map((name) => servedOf(apart, name).problems)).toEqual([[], []]);
        const later = indexOf({
            services: [service({ ...four, name: "a" }), service({ ...four, name: "b", clusterIPs: ["10.96.0.4"] })],
        });
        expect(servedOf(later, "b").problems.map(({ field, value }) => [field, value])).toEqual([
            ["spec.ports[0].nodePort", "TCP 30080"],
        ]);
    });

    it("among thousands: each next one gets it in turn", () => {
        const count = 2000;
        const names = Array.from({ length: count }, (_, at) => String(at).padStart(5, "0"));
        const index = indexOf({
            services: names
                .toReversed()
                .map((name, at) => service(shared(name, 0, { clusterIPs: [`10.97.${at >> 8}.${at & 255}`] }))),
        });
        for (const [at, name] of names.slice(0, 50).entries()) {
            expect([...index.deleteService(`default/${name}`)].sort()).toEqual([
                `default/${name}`,
                `default/${names[at + 1] ?? ""}`,
            ]);
        }
    });
});
