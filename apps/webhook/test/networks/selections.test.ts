import { describe, expect, it } from "@jest/globals";
import { type PodShape, type Verdict } from "@antrea/ipam";
import { checkSelections } from "../../src/networks/index.ts";
import { podOf, requesting } from "../support/objects.ts";

function verdictOn(networks: string | undefined, o: { old?: string; spec?: object } = {}): Verdict {
    const pod = podOf("p", networks === undefined ? {} : requesting(networks), o.spec) as PodShape;
    const old = o.old === undefined ? undefined : (podOf("p", requesting(o.old)) as PodShape);
    return checkSelections({ namespace: "default", path: "metadata", old, pod });
}

const clean = { errors: [], warnings: [] };
const elements = (...list: readonly unknown[]): string => JSON.stringify(list);

describe("networks that a Pod requests", () => {
    it.each([
        ["no annotation", undefined],
        ["an empty one", " "],
        ["names", "net1, other/net2@eth5"],
        ["elements", elements({ name: "net1", mac: "02:00:00:00:00:01", ips: ["10.1.0.5/24"] }, { name: "net2" })],
        ["keys of others", elements({ name: "net1", "cni-args": { a: 1 } })],
    ])("are accepted: %s", (_name, networks) => {
        expect(verdictOn(networks)).toEqual(clean);
    });

    it.each([
        ["no JSON", "[{]", /^annotation k8s\.v1\.cni\.cncf\.io\/networks: .*is not valid JSON.*; next: /s],
        ["an object", '{"name": "net1"}', /is neither a JSON list nor names joined by commas/],
        ["no name", elements({ namespace: "default" }), /element 1\.name: nothing must be a DNS subdomain/],
        ["a wrong name", "net_1", /item 1\.name: "net_1" must be/],
        ["a wrong Namespace", "a.b/net1", /item 1\.namespace: "a\.b" must be the name of a Namespace/],
        ["a comma too many", "net1,", /item 2: "" is empty/],
        ["the interface of every Pod", "net1@eth0", /item 1\.interface: "eth0" is the name of an interface/],
        ["an interface twice", "net1@a,net2@a", /item 2\.interface: "a" is requested by item 1 too/],
        ["a wrong MAC address", elements({ name: "net1", mac: "02:00" }), /element 1\.mac: "02:00" is refused/],
        ["a wrong address", elements({ name: "net1", ips: ["10.1.0.500"] }), /element 1\.ips\[0\]: "10\.1\.0\.500"/],
        [
            "two default routes",
            elements({ name: "a", "default-route": ["10.1.0.1"] }, { name: "b", "default-route": ["10.2.0.1"] }),
            /element 2\.default-route: .*is a second default route of IPv4/,
        ],
        ["33 networks", Array.from({ length: 33 }, (_, at) => `net${at}`).join(), /33 networks exceed the limit of 32/],
    ])("are refused: %s", (_name, networks, text) => {
        expect(verdictOn(networks)).toEqual({
            errors: [{ path: "metadata", value: "", rule: expect.stringMatching(text) }],
            warnings: [],
        });
    });

    it("are not validated again while their text stays", () => {
        expect(verdictOn("net1,", { old: "net1," })).toEqual(clean);
        expect(verdictOn("net1,", { old: "net1" }).errors).toHaveLength(1);
        expect(verdictOn(undefined, { old: "net1," })).toEqual(clean);
    });

    it("have no effect on the host network", () => {
        const warning =
            "metadata.annotations[k8s.v1.cni.cncf.io/networks] has no effect: the Pod uses the network of its Node";
        expect(verdictOn("net1,", { spec: { hostNetwork: true } })).toEqual({ errors: [], warnings: [warning] });
    });
});
