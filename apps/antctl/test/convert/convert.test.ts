import { describe, expect, it } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import { convert, type Conversion } from "../../src/convert/convert.ts";
import { run } from "../../src/run.ts";

const beta = (name: string, spec: string, rest = ""): string =>
    `{apiVersion: crd.antrea.io/v1beta1, kind: IPPool, metadata: {name: ${name}}, spec: {${spec}}${rest}}\n`;
const web =
    "subnetInfo: {gateway: 10.7.0.1, prefixLength: 24, vlan: 2}, ipRanges: [{start: 10.7.0.12, end: 10.7.0.20}, {cidr: 10.7.0.64/26}]";
const of = (text: string): Conversion => convert([{ name: "pools.yaml", text }]);
const refusals = (text: string): readonly string[] =>
    of(text).refused.flatMap((pool) => pool.refusals.map(({ path, value, rule }) => `${path} ${value}: ${rule}`));

describe("convert", () => {
    it("writes the one subnet of a v1beta1 pool into each range, and its family as the version", () => {
        const { pools, refused, warnings } = of(
            `${beta("web", web)}---\n${beta("web6", "subnetInfo: {gateway: '3ffe::1', prefixLength: 64}, ipRanges: [{cidr: '3ffe::1:0/112'}]")}`,
        );
        expect([refused, warnings]).toEqual([[], []]);
        const subnet = { gateway: "10.7.0.1", prefixLength: 24, vlan: 2 };
        expect(pools).toEqual([
            {
                apiVersion: "crd.antrea.io/v1alpha2",
                kind: "IPPool",
                metadata: { name: "web" },
                spec: {
                    ipVersion: 4,
                    ipRanges: [
                        { start: "10.7.0.12", end: "10.7.0.20", ...subnet },
                        { cidr: "10.7.0.64/26", ...subnet },
                    ],
                },
            },
            {
                apiVersion: "crd.antrea.io/v1alpha2",
                kind: "IPPool",
                metadata: { name: "web6" },
                spec: { ipVersion: 6, ipRanges: [{ cidr: "3ffe::1:0/112", gateway: "3ffe::1", prefixLength: 64 }] },
            },
        ]);
    });

    it("takes what kubectl get prints, and leaves out what the API server wrote", () => {
        const stored = {
            apiVersion: "crd.antrea.io/v1alpha2",
            kind: "IPPool",
            metadata: {
                name: "old",
                uid: "u",
                resourceVersion: "7",
                generation: 2,
                labels: { team: "a" },
                annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", mine: "yes" },
                managedFields: [],
            },
            spec: { ipVersion: 4, ipRanges: [{ cidr: "10.8.0.0/24", gateway: "10.8.0.1", prefixLength: 24 }] },
            status: { usage: { total: 1, used: 0 } },
        };
        const other = { apiVersion: "crd.antrea.io/v1beta1", kind: "ExternalIPPool", metadata: { name: "e" } };
        const { pools, ignored } = of(JSON.stringify({ apiVersion: "v1", kind: "List", items: [stored, other] }));
        expect(pools).toEqual([
            {
                apiVersion: "crd.antrea.io/v1alpha2",
                kind: "IPPool",
                metadata: { name: "old", labels: { team: "a" }, annotations: { mine: "yes" } },
                spec: stored.spec,
            },
        ]);
        expect(ignored).toEqual(["ExternalIPPool e of crd.antrea.io/v1beta1"]);
    });

    it("keeps the addresses of StatefulSets, in use or not, and reports which cannot be kept", () => {
        const entry = (ipAddress: string, owner: string): string =>
            `{ipAddress: ${ipAddress}, phase: Allocated, owner: {${owner}}}`;
        const status = [
            entry(
                "10.7.0.13",
                "pod: {name: db-0, namespace: shop, containerID: c}, statefulSet: {name: db, namespace: shop, index: 0}",
            ),
            entry("10.7.0.14", "statefulSet: {name: db, namespace: shop, index: 1}"),
            entry("10.7.0.15", "pod: {name: cart, namespace: shop, containerID: d}"),
            entry("none", "statefulSet: {name: db, namespace: shop, index: 2}"),
        ];
        const { reservations, warnings } = of(beta("web", web, `, status: {ipAddresses: [${status.join(", ")}]}`));
        const allocation = (address: string, index: number): object => ({
            apiVersion: "crd.antrea.io/v1alpha1",
            kind: "IPAllocation",
            metadata: { name: address },
            spec: {
                address,
                block: "10.7.0.0/24",
                pool: "web",
                state: "Reserved",
                owner: { kind: "StatefulSet", namespace: "shop", name: "db", index },
            },
        });
        expect(reservations).toEqual([allocation("10.7.0.13", 0), allocation("10.7.0.14", 1)]);
        expect(warnings).toHaveLength(1);
        expect(warnings[0]).toContain('cannot be read: status.ipAddresses of IPPool web: {"ipAddress":"none"');
    });

    it("keeps no address that a pool would not hand out, and one for an ordinal, and reports it", () => {
        const entry = (ipAddress: string, index: number, rest = ""): string =>
            `{ipAddress: ${ipAddress}, owner: {statefulSet: {name: db, namespace: shop, index: ${index}}${rest}}}`;
        const status = [
            entry("10.7.0.1", 0),
            entry("10.9.9.9", 1),
            entry("10.7.0.64", 2),
            entry("10.7.0.18", 3),
            entry("10.7.0.13", 4),
            entry("10.7.0.14", 4, ", pod: {name: db-4, namespace: shop, containerID: c}"),
            entry("10.7.0.15", 4),
            entry("10.7.0.16", 5),
        ];
        const { reservations, warnings, refused } = of(
            `${beta("web", web, `, status: {ipAddresses: [${status.join(", ")}]}`)}---\n` +
                // a gateway of the same VLAN
                beta(
                    "other",
                    "subnetInfo: {gateway: 10.7.0.18, prefixLength: 24, vlan: 2}, ipRanges: [{cidr: 10.7.0.32/28}]",
                ),
        );
        expect(refused).toEqual([]);
        expect(reservations.map(({ spec }) => [spec.address, spec.owner.index])).toEqual([
            ["10.7.0.14", 4],
            ["10.7.0.16", 5],
        ]);
        const ordinal = (index: number): string => `ordinal ${index} of StatefulSet shop/db`;
        expect(warnings.filter((line) => line.includes("StatefulSet"))).toEqual([
            `IPPool web: 10.7.0.1 is not kept for ${ordinal(0)}, as it is not in its ranges`,
            `IPPool web: 10.9.9.9 is not kept for ${ordinal(1)}, as it is not in its ranges`,
            `IPPool web: 10.7.0.64 is not kept for ${ordinal(2)}, as it is the first or last address of the CIDR of spec.ipRanges[1]`,
            `IPPool web: 10.7.0.18 is not kept for ${ordinal(3)}, as it is a gateway`,
            `IPPool web: 10.7.0.13 is not kept for ${ordinal(4)}, which has 10.7.0.14`,
            `IPPool web: 10.7.0.15 is not kept for ${ordinal(4)}, which has 10.7.0.14`,
        ]);
    });

    it.each([
        ["namespace", "{name: db, namespace: 'my shop', index: 0}"],
        ["name", "{name: Db, namespace: shop, index: 0}"],
        ["ordinal", "{name: db, namespace: shop, index: 1e300}"],
    ])("keeps no address for a StatefulSet of impossible %s", (_what, statefulSet) => {
        const { reservations, warnings } = of(
            beta("web", web, `, status: {ipAddresses: [{ipAddress: 10.7.0.14, owner: {statefulSet: ${statefulSet}}}]}`),
        );
        expect(reservations).toEqual([]);
        expect(warnings[0]).toContain("cannot be read: status.ipAddresses of IPPool web");
    });

    it.each([
        ["'A B'", "A B"],
        ["x/y", "x/y"],
        ["123", "123"],
        [`'${"a".repeat(254)}'`, "a".repeat(254)],
        ["-a", "-a"],
        ["a..b", "a..b"],
    ])("refuses a pool of name %s", (written, name) => {
        expect(refusals(beta(written, web))).toEqual([
            `metadata.name ${name}: must be lower case letters, digits, - and . (RFC 1123), at most 253`,
        ]);
    });

    it.each([
        [
            "no subnet",
            "ipRanges: [{cidr: 10.7.0.0/24}]",
            "spec.subnetInfo : must be set; it has gateway and prefixLength of all ranges",
        ],
        [
            "a gateway that is no address",
            "subnetInfo: {gateway: ten, prefixLength: 24}, ipRanges: [{cidr: 10.7.0.0/24}]",
            "spec.subnetInfo.gateway ten: must be an address such as 10.2.0.1",
        ],
        [
            "a prefix length that is no number",
            "subnetInfo: {gateway: 10.7.0.1}, ipRanges: [{cidr: 10.7.0.0/24}]",
            "spec.subnetInfo.prefixLength : must be a whole number",
        ],
        [
            "a field that there is not",
            "subnetInfo: {gateway: 10.7.0.1, prefixLength: 24, vlam: 2}, ipRanges: [{cidr: 10.7.0.0/24}]",
            "spec.subnetInfo.vlam : is no field of an IPPool; did you mean vlan?",
        ],
        [
            "a field of v1alpha2 in a range",
            "subnetInfo: {gateway: 10.7.0.1, prefixLength: 24}, ipRanges: [{cidr: 10.7.0.0/24, gateway: 10.7.0.2}]",
            "spec.ipRanges[0].gateway : is no field of an IPPool; known are cidr, start, end",
        ],
    ])("refuses %s by the field that it has", (_what, spec, expected) => {
        expect(refusals(beta("web", spec))).toEqual([expected]);
    });

    it("names a wrong subnet once, as subnetInfo, however many ranges there are", () => {
        const all = refusals(beta("web", web.replace("prefixLength: 24", "prefixLength: 64")));
        expect(all.filter((line) => line.startsWith("spec.subnetInfo.prefixLength 64: "))).toHaveLength(1);
        expect(all.filter((line) => /^spec\.ipRanges\[\d\]\.prefixLength/.test(line))).toEqual([]);
    });

    it("refuses pools that overlap, which Antrea in Go accepts, and those that are there twice", () => {
        const [overlap = ""] = refusals(`${beta("a", web)}---\n${beta("b", web.replace("10.7.0.12", "10.7.0.19"))}`);
        expect(overlap).toContain('overlaps IPPool "a"');
        expect(refusals(`${beta("a", web)}---\n${beta("a", web)}`)[0]).toBe("metadata.name a: is there twice");
    });

    it("refuses a version that it does not know", () => {
        expect(refusals(beta("a", web).replace("v1beta1", "v1"))).toEqual([
            "apiVersion crd.antrea.io/v1: must be crd.antrea.io/v1beta1 or crd.antrea.io/v1alpha2; write the pool anew",
        ]);
    });
});

describe("antctl ipam convert", () => {
    interface Ran {
        readonly code: number;
        readonly out: string;
        readonly err: string;
    }
    const antctl = async (text: string, ...words: readonly string[]): Promise<Ran> => {
        let [out, err] = ["", ""];
        const code = await run("antctl", ["ipam", "convert", "-f", "-", ...words], {
            terminal: { isTty: false, columns: undefined, environment: { HOME: "/nonexistent" } },
            writeOut: (more) => (out += more),
            writeErr: (more) => (err += more),
            readSources: () => [{ name: "standard input", text }],
            now: () => 0,
            sleep: async () => undefined,
        });
        return { code, out, err };
    };
    const kept =
        ", status: {ipAddresses: [{ipAddress: 10.7.0.14, owner: {statefulSet: {name: db, namespace: shop, index: 1}}}]}";

    it("prints manifests, first the kept addresses, so that nobody gets others for their StatefulSet", async () => {
        const { code, out, err } = await antctl(
            `${beta("web", web, kept)}---\n{kind: Secret, apiVersion: v1, metadata: {name: s}}\n`,
        );
        expect([code, err]).toEqual([0, "left out, as it is no IPPool: Secret s of v1\n"]);
        const kinds = parseAllDocuments(out).map((document) => (document.toJSON() as { readonly kind: string }).kind);
        expect(kinds).toEqual(["IPAllocation", "IPPool"]);
    });

    it("prints one List with -o json", async () => {
        const { out } = await antctl(beta("web", web, kept), "-o", "json");
        expect(JSON.parse(out)).toMatchObject({
            apiVersion: "v1",
            kind: "List",
            items: [{ kind: "IPAllocation" }, { kind: "IPPool" }],
        });
    });

    it("prints nothing when one pool is refused, and what is wrong with it", async () => {
        expect(await antctl(`${beta("web", web)}---\n${beta("bad", "ipRanges: []")}`)).toEqual({
            code: 1,
            out: "",
            err:
                "IPPool bad: spec.subnetInfo: must be set; it has gateway and prefixLength of all ranges\n" +
                "error: 1 IPPool cannot be converted, so nothing is written\n" +
                "  next: correct what is named above in the file\n",
        });
    });

    it("reports what to do with a file that has no pool", async () => {
        const { code, err } = await antctl("{kind: List, apiVersion: v1, items: []}");
        expect([code, err]).toEqual([
            1,
            "error: standard input: no IPPool is in it\n  next: save the pools first: kubectl get ippools.crd.antrea.io -o yaml > pools.yaml\n",
        ]);
    });
});
