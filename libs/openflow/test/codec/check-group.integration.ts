import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
    fieldList,
    Writer,
    type Action,
    type GroupBucket,
    type GroupMod,
    type GroupSelection,
} from "../../src/codec/index.ts";
import { checkGroupMod } from "../../src/codec/check-group.ts";
import { BundleControl, writeBundleAdd, writeBundleControl } from "../../src/codec/message/bundle.ts";
import { writeHello } from "../../src/codec/message/hello.ts";
import { PrivateOvs } from "../../src/testing/index.ts";
import { errorsOf, refusalOf } from "./verdicts.ts";

const firstXid = 100;
const bundle = { bundleId: 1, flags: 3 };

const id = fc.constantFrom(0, 1, 2, 3, 4, 0xffffff00, 0xffffff01);
const action = fc.constantFrom<Action[]>(
    { type: "output", port: 1 },
    { type: "group", group: 9 },
    { type: "dec_ttl" },
    { type: "set_field", field: "reg0", value: 1 },
    { type: "set_field", field: "tcp_dst", value: 1 },
    { type: "set_field", field: "ct_mark", value: 1 },
    { type: "set_field", field: "eth_type", value: 1 },
    { type: "resubmit", table: 3 },
    { type: "ct", commit: true, zone: 1, nat: { kind: "dst", min: { family: 4, value: 1n }, portMin: 2 } },
    { type: "ct", commit: true, zone: 1, exec: [{ type: "set_field", field: "ct_mark", value: 1 }] },
    { type: "ct", commit: true, zone: 1, exec: [{ type: "set_field", field: "reg0", value: 1 }] },
    { type: "ct", commit: true, zone: 1, exec: [{ type: "dec_ttl" }] },
    { type: "conjunction", clause: 1, clauses: 2, id: 1 },
    { type: "note", data: new Uint8Array(6) },
    { type: "pop_vlan" },
    { type: "controller", meter: 1 },
    { type: "meter", meter: 1 },
    { type: "learn", table: 9, specs: [{ kind: "output", source: { field: "reg0", offset: 0, bits: 16 } }] },
);
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(arbitrary, { nil: undefined, freq: 3 });
const bucket: fc.Arbitrary<GroupBucket> = fc
    .record({
        id,
        actions: fc.array(action, { maxLength: 2 }),
        weight: rarely(fc.constantFrom(0, 1, 7)),
        watchPort: rarely(fc.constantFrom(1, 65000, 0xfeff, 0xff00, 0x10000, 0xfffffffe, 0xffffffff)),
        watchGroup: rarely(fc.constantFrom(1, 0xffffffff)),
    })
    .map((given) => defined(given) as GroupBucket);
const field = fc.constantFrom(...fieldList);
const selection: fc.Arbitrary<GroupSelection> = fc.oneof(
    fc.constant({ method: "dp_hash" } as const),
    fc
        .array(fc.record({ field, masked: fc.boolean() }), { maxLength: 2 })
        .map((fields) =>
            fields.filter((one, index) => fields.findIndex((other) => other.field === one.field) === index),
        )
        .map((fields) => ({
            method: "hash" as const,
            fields: fields.map(({ field: { name, maskable }, masked }) =>
                masked && maskable ? { field: name, mask: 1 } : { field: name },
            ),
        })),
);
const mod: fc.Arbitrary<GroupMod> = fc
    .record({
        command: fc.constantFrom("add", "modify", "add_or_modify", "delete", "insert_bucket", "remove_bucket"),
        id,
        type: fc.constantFrom("all", "select", "select", "select", "indirect", "fast_failover"),
        buckets: fc.array(bucket, { maxLength: 2 }),
        selection: rarely(selection),
        place: fc.oneof(id, fc.constantFrom("first", "last")),
    })
    .map(({ command, place, selection: chosen, ...group }) => {
        if (command === "delete") return { command, group: { id: group.id } };
        if (command === "remove_bucket") return { command, group: { id: group.id }, bucket: place };
        if (command === "insert_bucket") return { command, group, place };
        return { command, group: chosen === undefined ? group : { ...group, selection: chosen } };
    }) as fc.Arbitrary<GroupMod>;

function defined(given: object): object {
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** How the switch answers each change when a bundle gets it: the name of its error, or undefined. */
async function verdicts(socketPath: string, mods: readonly GroupMod[]): Promise<(string | undefined)[]> {
    const writer = new Writer();
    writeHello(writer, 1);
    writeBundleControl(writer, 2, { ...bundle, control: BundleControl.OPEN_REQUEST });
    mods.forEach((one, index) => writeBundleAdd(writer, firstXid + index, bundle, one));
    writeBundleControl(writer, 3, { ...bundle, control: BundleControl.DISCARD_REQUEST });
    const errors = await errorsOf(socketPath, writer);
    return mods.map((_, index) => errors.get(firstXid + index));
}

describe("checkGroupMod", () => {
    it("refuses exactly what ovs-vswitchd refuses to take into a bundle", async () => {
        await using ovs = await PrivateOvs.start({ network: "own" });
        const bridge = PrivateOvs.deviceName("chg");
        await ovs.addBridge(bridge);
        const mods = fc.sample(mod, { numRuns: 10_000, seed: 1 });
        const theirs = await verdicts(ovs.mgmtSocket(bridge), mods);
        const differences = mods.flatMap((one, index) => {
            const [we, they] = [refusalOf(() => checkGroupMod(one)), theirs[index]];
            return (we === undefined) === (they === undefined)
                ? []
                : [{ one: inspect(one, { depth: null, breakLength: Infinity }), we, they }];
        });
        expect(differences).toEqual([]);
        const refused = theirs.filter((error) => error !== undefined).length;
        expect(refused).toBeGreaterThan(1_500);
        expect(mods.length - refused).toBeGreaterThan(1_500);
    });
});
