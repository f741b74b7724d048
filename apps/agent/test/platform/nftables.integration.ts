import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { NftTable, rulesGeneration, runNft, type RunNft } from "../../src/platform/nftables.ts";
import { OwnNamespace } from "../support/namespace.ts";

const script = `add table inet test
delete table inet test
table inet test {
  set ports { type inet_proto . inet_service; }
  map targets { type ipv6_addr . inet_proto . inet_service : ipv6_addr; }
  set own { type ipv4_addr; elements = { 192.0.2.1, 192.0.2.2 }; }
  chain input { type filter hook input priority 0; meta l4proto . th dport @ports accept; }
}
`;

let namespace: OwnNamespace;
let table: NftTable;
/** The scripts that were applied. */
let applied: string[];
/** Makes the next script fail. */
let failure: (() => void) | undefined;

const nft: RunNft = async (args, input) => {
    if (args.includes("-f")) {
        const now = failure;
        failure = undefined;
        now?.();
        applied.push(input);
    }
    return runNft(args, input);
};

const run = (...args: readonly string[]): string => execFileSync("nft", args, { encoding: "utf8" });
const elementsOf = (name: string): readonly string[] =>
    (
        /elements = \{([^}]*)\}/.exec(
            run("-n", "list", name === "targets" ? "map" : "set", "inet", "test", name),
        )?.[1] ?? ""
    )
        .split(",")
        .map((text) => text.trim())
        .filter((text) => text !== "")
        .sort();

beforeEach(() => {
    namespace = OwnNamespace.enter();
    [applied, failure] = [[], undefined];
    const options = { family: "inet", name: "test", sets: ["ports", "targets"] } as const;
    table = new NftTable({ nft, generation: rulesGeneration }, options);
});

afterEach(() => namespace[Symbol.dispose]());

it("elements come with the table, change one by one, and are written once", async () => {
    for (let port = 1; port <= 2_500; port += 1) table.setElement("ports", `6 . ${port}`, "");
    table.setElement("targets", "2001:db8::1 . 17 . 53", "fc01::1");
    expect(await table.ensure(script)).toBe(true);
    expect(elementsOf("ports")).toHaveLength(2_500);
    table.setElement("ports", "6 . 7", undefined);
    table.setElement("ports", "132 . 7", "");
    table.setElement("targets", "2001:db8::1 . 17 . 53", "fc01::2");
    table.setElement("targets", "::1 . 17 . 53", "fc01::3");
    expect(await table.ensure(script)).toBe(false);
    expect(applied[1]?.split("\n")).toHaveLength(5);
    expect(elementsOf("targets")).toEqual(["2001:db8::1 . 17 . 53 : fc01::2", "::1 . 17 . 53 : fc01::3"]);
    expect(elementsOf("ports")).toHaveLength(2_500);
    expect(elementsOf("ports")).not.toContain("6 . 7");
    table.setElement("ports", "6 . 8", undefined);
    table.setElement("ports", "6 . 8", "");
    await table.ensure(script);
    expect(applied).toHaveLength(2);
});

it("another program's changes are undone, also those of one element, and others' tables are nobody's business", async () => {
    table.setElement("ports", "6 . 80", "");
    table.setElement("targets", "2001:db8::1 . 17 . 53", "fc01::1");
    await table.ensure(script);
    run("add", "table", "inet", "others");
    table.setElement("ports", "17 . 80", "");
    expect(await table.ensure(script)).toBe(false);
    run("add", "table", "inet", "more");
    expect(await table.ensure(script)).toBe(false);
    for (const change of [
        "add element inet test ports { udp . 81 }",
        "delete element inet test ports { tcp . 80 }",
        "delete element inet test targets { 2001:db8::1 . udp . 53 }",
        "delete element inet test own { 192.0.2.1 }",
        "flush chain inet test input",
        "delete table inet test",
    ]) {
        run(...change.split(" "));
        expect(await table.ensure(script)).toBe(true);
        expect(elementsOf("ports")).toEqual(["17 . 80", "6 . 80"]);
        expect(elementsOf("targets")).toEqual(["2001:db8::1 . 17 . 53 : fc01::1"]);
        expect(elementsOf("own")).toEqual(["192.0.2.1", "192.0.2.2"]);
    }
    expect(await table.ensure(script)).toBe(false);
});

it("addresses are known again however nft writes them", async () => {
    for (const ip of ["::102:304", "::1:0", "::ffff", "::1:2:3", "1::", "2001:db8:0:1::", "2001:db8::1:0:0:1"])
        table.setElement("targets", `${ip} . 17 . 53`, ip);
    await table.ensure(script);
    run("add", "table", "inet", "others");
    expect(await table.ensure(script)).toBe(false);
});

it("what cannot be written is written later, as it is then", async () => {
    table.setElement("ports", "6 . 80", "");
    table.setElement("ports", "6 . 81", "");
    await table.ensure(script);
    table.setElement("ports", "6 . 80", undefined);
    table.setElement("ports", "6 . 82", "");
    table.setElement("ports", "6 . 83", "");
    failure = () => {
        table.setElement("ports", "6 . 83", undefined);
        table.setElement("ports", "6 . 84", "");
        throw new TypeError("no memory");
    };
    await expect(table.ensure(script)).rejects.toThrow("no memory");
    expect(elementsOf("ports")).toEqual(["6 . 80", "6 . 81"]);
    expect(await table.ensure(script)).toBe(false);
    expect(elementsOf("ports")).toEqual(["6 . 81", "6 . 82", "6 . 84"]);
    table.setElement("ports", "6 . 81", undefined);
    run("delete", "element", "inet", "test", "ports", "{ tcp . 81 }");
    expect(await table.ensure(script)).toBe(true);
    expect(elementsOf("ports")).toEqual(["6 . 82", "6 . 84"]);
});
