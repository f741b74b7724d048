import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { formatIp } from "@antrea/ip";
import { mayHaveInterface, NetworkError, parseSelections } from "../src/index.ts";

const names = (text: string): string[] =>
    parseSelections(text, "default").map((one) => `${one.namespace}/${one.name}@${one.interfaceName}`);

function refusal(text: string): string {
    try {
        parseSelections(text, "default");
    } catch (error) {
        if (error instanceof NetworkError) return `${error.code} ${error.message}`;
        throw error;
    }
    return "accepted";
}
const refusalOf = (...elements: readonly unknown[]): string => refusal(JSON.stringify(elements));

describe("parseSelections", () => {
    it.each<[string, string[]]>([
        ["", []],
        ["  ", []],
        ["[]", []],
        ["net1", ["default/net1@eth1"]],
        ["ns/net1", ["ns/net1@eth1"]],
        ["net1@blue", ["default/net1@blue"]],
        ["ns/net1@blue", ["ns/net1@blue"]],
        [" net1 , ns/net2@blue,net3 ", ["default/net1@eth1", "ns/net2@blue", "default/net3@eth2"]],
        [
            '[{"name":"net1"},{"name":"net2","namespace":"ns","interface":"eth200"}]',
            ["default/net1@eth1", "ns/net2@eth200"],
        ],
        ["net1,net2@eth1,net3", ["default/net1@eth2", "default/net2@eth1", "default/net3@eth3"]],
        ["net1,net1", ["default/net1@eth1", "default/net1@eth2"]],
        ['[{"name":"net1","namespace":"","interface":"","mac":""}]', ["default/net1@eth1"]],
        [
            '[{"name":"net1","namespace":null,"interface":null,"mac":null,"ips":null,"default-route":null}]',
            ["default/net1@eth1"],
        ],
    ])("reads %s", (text, expected) => {
        expect(names(text)).toEqual(expected);
    });

    it("reads every field of an element", () => {
        const [one] = parseSelections(
            JSON.stringify([
                {
                    name: "net1",
                    mac: "02:AB:00:00:00:01",
                    ips: ["10.10.1.5", "2001:db8::5/64"],
                    "default-route": ["10.10.1.1", "2001:db8::1"],
                    bandwidth: {},
                    typo: 1,
                },
            ]),
            "default",
        );
        expect(one?.mac).toBe("02:ab:00:00:00:01");
        expect(one?.ips.map(({ ip, prefixLength }) => [formatIp(ip), prefixLength])).toEqual([
            ["10.10.1.5", undefined],
            ["2001:db8::5", 64],
        ]);
        expect(one?.defaultRoute.map(formatIp)).toEqual(["10.10.1.1", "2001:db8::1"]);
        expect(one?.ignored).toEqual(["bandwidth", "typo"]);
    });

    it.each<[string, string, RegExp]>([
        ["an object", '{"name":"net1"}', /: "\{.*\}" is neither a JSON list nor names joined by commas; next: write/],
        ["broken JSON", "[{", /: "\[\{" is not valid JSON \(.*\); next: /],
        ["an empty item", "net1,,net2", /, item 2: "" is empty; next: remove the comma/],
        ["a comma at the end", "net1,", /, item 2: "" is empty/],
        ["no name", "ns/", /, item 1\.name: "" must be a DNS subdomain/],
        ["no Namespace", "/net1", /, item 1\.namespace: "" must be the name of a Namespace/],
        ["no interface", "net1@", /, item 1\.interface: "" must not be empty; next: choose/],
        ["two slashes", "a/b/c", /, item 1\.name: "b\/c" must be a DNS subdomain/],
        ["capitals", "Net1", /, item 1\.name: "Net1" must be/],
    ])("refuses %s", (_, text, message) => {
        expect(refusal(text)).toMatch(/^INVALID_SELECTION annotation k8s\.v1\.cni\.cncf\.io\/networks/);
        expect(refusal(text)).toMatch(message);
    });

    const net1 = { name: "net1" };
    it.each<[string, readonly unknown[], RegExp]>([
        ["a text as element", ["net1"], /, element 1: "net1" must be a JSON object/],
        ["no name", [net1, {}], /, element 2\.name: nothing must be a DNS subdomain/],
        [
            "a Namespace that is none",
            [{ ...net1, namespace: "a.b" }],
            /element 1\.namespace: "a\.b" must be the name of a Namespace/,
        ],
        [
            "a name that is too long",
            [{ ...net1, interface: "a234567890123456" }],
            /\.interface: .* must not exceed 15 bytes/,
        ],
        ["a slash in it", [{ ...net1, interface: "a/b" }], /\.interface: "a\/b" must not contain/],
        ["a colon in it", [{ ...net1, interface: "a:b" }], /\.interface: "a:b" must not contain/],
        ["a space in it", [{ ...net1, interface: "a b" }], /\.interface: "a b" must not contain/],
        [
            "eth0",
            [{ ...net1, interface: "eth0" }],
            /\.interface: "eth0" is the name of an interface that every Pod has/,
        ],
        ["lo", [{ ...net1, interface: "lo" }], /\.interface: "lo" is the name/],
        ["a number as name", [{ ...net1, interface: 7 }], /\.interface: 7 must be a string/],
        [
            "one name twice",
            [
                { ...net1, interface: "a" },
                { ...net1, interface: "a" },
            ],
            /element 2\.interface: "a" is requested by element 1 too/,
        ],
        ["a malformed MAC", [{ ...net1, mac: "02:00" }], /\.mac: "02:00" is refused: /],
        ["a multicast MAC", [{ ...net1, mac: "01:00:5e:00:00:01" }], /\.mac: .* is a multicast address/],
        ["the zero MAC", [{ ...net1, mac: "00:00:00:00:00:00" }], /\.mac: .* is no address of an interface/],
        [
            "a MAC twice",
            [
                { ...net1, mac: "02:00:00:00:00:0a" },
                { ...net1, mac: "02:00:00:00:00:0A" },
            ],
            /element 2\.mac: .* is requested by element 1 too/,
        ],
        ["ips that are no list", [{ ...net1, ips: "10.0.0.1" }], /\.ips: "10\.0\.0\.1" must be a list/],
        ["an ip that is none", [{ ...net1, ips: ["10.0.0.256"] }], /\.ips\[0\]: "10\.0\.0\.256" is refused/],
        [
            "a prefix length that is none",
            [{ ...net1, ips: ["10.0.0.1/33"] }],
            /\.ips\[0\]: "10\.0\.0\.1\/33" is refused/,
        ],
        ["a gateway that is none", [{ ...net1, "default-route": ["x"] }], /\.default-route\[0\]: "x" is refused/],
        [
            "two default routes in one",
            [{ ...net1, "default-route": ["10.0.0.1", "10.0.0.2"] }],
            /element 1\.default-route: "10\.0\.0\.2" is a second default route of IPv4, after that of element 1/,
        ],
        [
            "two default routes in two",
            [
                { ...net1, "default-route": ["::1"] },
                { ...net1, "default-route": ["::2"] },
            ],
            /element 2\.default-route: "::2" is a second default route of IPv6, after that of element 1/,
        ],
        [
            "more than 32",
            Array.from({ length: 33 }, () => net1),
            /: 33 networks exceed the limit of 32; next: request fewer/,
        ],
    ])("refuses %s of an element", (_, elements, message) => {
        expect(refusalOf(...elements)).toMatch(message);
    });

    it("never gives one name to two interfaces, nor one that is requested", () => {
        const element = fc.record({
            name: fc.constant("net"),
            interface: fc.option(fc.constantFrom("eth1", "eth2", "eth3", "blue"), { nil: undefined }),
        });
        fc.assert(
            fc.property(fc.array(element, { maxLength: 6 }), (elements) => {
                const requested = elements.flatMap((one) => one.interface ?? []);
                fc.pre(new Set(requested).size === requested.length);
                const given = parseSelections(JSON.stringify(elements), "default").map((one) => one.interfaceName);
                expect(new Set(given).size).toBe(elements.length);
                expect(
                    elements.every((one, index) => one.interface === undefined || one.interface === given[index]),
                ).toBe(true);
            }),
        );
    });

    it("refuses or reads every text, and throws nothing else", () => {
        const texts = fc.oneof(
            fc.string(),
            fc.json(),
            fc
                .array(fc.dictionary(fc.constantFrom("name", "interface", "mac", "ips"), fc.jsonValue()))
                .map((value) => JSON.stringify(value)),
        );
        fc.assert(fc.property(texts, (text) => void refusal(text)));
    });
});

describe("mayHaveInterface", () => {
    const names = ["eth1", "eth2", "eth3", "blue", "net1", "net12", "nets"];
    const having = (text: string): readonly string[] => names.filter((name) => mayHaveInterface(text, "default", name));

    it("is so of requested names, and of what this project and Multus call the others", () => {
        const text = '[{"name": "a"}, {"name": "b", "interface": "blue"}, {"name": "c"}]';
        expect(having(text)).toEqual(["eth1", "eth2", "blue", "net1", "net12"]);
    });

    it("is so of no name without networks, and of all while the annotation is wrong", () => {
        expect(having("")).toEqual([]);
        expect(having("[")).toEqual(names);
    });
});
