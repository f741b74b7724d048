import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { formatPrefix, parsePrefix } from "@antrea/ip";
import { decodeLedger, encodeLedger } from "../../../src/features/node-ipam/ledger.ts";
import { type LedgerEntry } from "../../../src/features/node-ipam/types.ts";

const stamp = { holder: "pod_1/term", sequence: 7 };

function entry(node: string, text: string, goneAtMs?: number): LedgerEntry {
    const cidrs = text.split(",").map((each) => parsePrefix(each));
    return { node, text, cidrs, ...(goneAtMs !== undefined && { goneAtMs }) };
}

describe("ledger", () => {
    it("is readable text", () => {
        const entries = [entry("a", "10.0.0.0/24,fd00::/64"), entry("b.c", "10.0.1.0/24", Date.UTC(2030, 0, 1))];
        const content = encodeLedger({ entries, next: [parsePrefix("10.0.2.0/24")] }, stamp);
        expect(content).toEqual({
            data: {
                holder: "pod_1/term",
                sequence: "7",
                next: "10.0.2.0/24",
                nodes: "a 10.0.0.0/24,fd00::/64\nb.c 10.0.1.0/24 gone 2030-01-01T00:00:00.000Z\n",
            },
        });
    });

    it("comes back as it was written", () => {
        const cidr = fc.nat(0xffff).map((index) => parsePrefix(`10.${index >> 8}.${index & 255}.0/24`));
        const line = fc.record({
            node: fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,30}[a-z0-9])?$/),
            cidrs: fc.array(cidr, { minLength: 1, maxLength: 2 }),
            goneAtMs: fc.option(fc.nat(2 ** 41), { nil: undefined }),
        });
        fc.assert(
            fc.property(fc.array(line), fc.array(cidr, { maxLength: 2 }), (lines, next) => {
                const entries = lines.map(({ node, cidrs, goneAtMs }) =>
                    entry(node, cidrs.map(formatPrefix).join(","), goneAtMs),
                );
                const decoded = decodeLedger(encodeLedger({ entries, next }, stamp));
                expect(decoded).toEqual({ ledger: { entries, next }, stamp, unreadable: 0 });
            }),
            { numRuns: 50 },
        );
    });

    it("is compressed once it is large, and refuses what no ConfigMap holds", () => {
        const make = (count: number, name: (index: number) => string): LedgerEntry[] =>
            Array.from({ length: count }, (_, index) =>
                entry(name(index), `10.${(index >> 8) & 255}.${index & 255}.0/24`),
            );
        const large = { entries: make(20_000, (index) => `ip-10-1-${index}.eu-central-1.compute.internal`), next: [] };
        const content = encodeLedger(large, stamp);
        expect(content.data?.nodes).toBeUndefined();
        expect(content.binaryData?.["nodes.gz"]?.length).toBeLessThan(400_000);
        const { entries } = decodeLedger(content).ledger;
        expect(entries).toHaveLength(20_000);
        expect(entries.at(-1)).toEqual(large.entries.at(-1));
        const random = { entries: make(60_000, () => crypto.randomUUID()), next: [] };
        expect(() => encodeLedger(random, stamp)).toThrow(expect.objectContaining({ code: "LEDGER_FULL" }));
    });

    it.each([
        ["an empty ConfigMap", {}, 0, 0],
        ["a line without CIDR", { data: { nodes: "a\nb 10.0.0.0/24\n" } }, 1, 1],
        ["a wrong CIDR", { data: { nodes: "a 10.0.0.1/24\n" } }, 0, 1],
        ["a wrong time", { data: { nodes: "a 10.0.0.0/24 gone yesterday\n" } }, 0, 1],
        ["an unknown word", { data: { nodes: "a 10.0.0.0/24 asleep x\n" } }, 0, 1],
        ["broken compression", { binaryData: { "nodes.gz": "AAAA" } }, 0, 1],
        ["wrong head", { data: { sequence: "-3", next: "10.0.0.1/8", nodes: "" } }, 0, 0],
    ])("reads what it can of %s", (_name, content, entries, unreadable) => {
        const decoded = decodeLedger(content);
        expect(decoded.ledger.entries).toHaveLength(entries);
        expect(decoded.unreadable).toBe(unreadable);
        expect(decoded.stamp.sequence).toBe(0);
    });
});
