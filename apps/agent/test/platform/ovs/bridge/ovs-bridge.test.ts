import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { isNamedUuid, isUuid, type Atom, type InputValue, type Operation, type Row, type Value } from "@antrea/ovsdb";
import { OvsBridge, type OvsDatabase } from "../../../../src/platform/ovs/bridge/index.ts";

type Tables = "Bridge" | "Port" | "Interface";

/**
 * A database as a session sees it: transactions are carried out in their order, a turn after they were asked for, and the
 * rows show them then. Only the operations of ports.
 */
class FakeDatabase implements OvsDatabase {
    readonly tables: Readonly<Record<Tables, Map<string, Row>>> = {
        Bridge: new Map([["bridge", { name: "br-int", ports: [], external_ids: new Map() }]]),
        Port: new Map(),
        Interface: new Map(),
    };
    readonly asked: (readonly Operation[])[] = [];
    #last: Promise<unknown> = Promise.resolve();
    #rows = 0;

    rows(table: string): ReadonlyMap<string, Row> {
        return this.tables[table as Tables];
    }

    transact(operations: readonly Operation[]): Promise<never[]> {
        this.asked.push(operations);
        const done = this.#last.then(async () => {
            await turn();
            this.#apply(operations);
            await turn();
            return [];
        });
        this.#last = done;
        return done;
    }

    until<T>(): Promise<T> {
        return Promise.reject(new TypeError("nothing is waited for here"));
    }

    #apply(operations: readonly Operation[]): void {
        const names = new Map<string, string>();
        for (const operation of operations) {
            if (operation.op === "insert" && operation.uuidName !== undefined) {
                names.set(operation.uuidName, `row${(this.#rows += 1)}`);
            }
        }
        const read = (value: InputValue): Value => {
            if (isNamedUuid(value)) return { uuid: names.get(value.named) ?? "" };
            return Array.isArray(value) ? value.map((atom: InputValue) => read(atom) as Atom) : (value as Value);
        };
        for (const operation of operations) {
            if (operation.op === "insert") {
                const { table, row, uuidName = "" } = operation;
                const values = Object.entries(row).map(([column, value]) => [column, read(value)] as const);
                this.tables[table as Tables].set(names.get(uuidName) ?? "", {
                    ...emptyInterface,
                    ...Object.fromEntries(values),
                });
            } else if (operation.op === "mutate") {
                for (const [, mutator, value] of operation.mutations) this.#mutatePorts(mutator, read(value));
            } else if (operation.op === "delete") {
                for (const [, , value] of operation.where) {
                    if (isUuid(value)) this.tables[operation.table as Tables].delete(value.uuid);
                }
            } else if (operation.op !== "update") throw new TypeError(`no ${operation.op} here`);
        }
    }

    #mutatePorts(mutator: string, value: Value): void {
        const changed = (value as readonly Atom[]).filter(isUuid).map(({ uuid }) => uuid);
        const bridge = this.tables.Bridge.get("bridge") ?? {};
        const kept = (bridge["ports"] as readonly Atom[]).filter((one) => isUuid(one) && !changed.includes(one.uuid));
        const added = mutator === "insert" ? changed.map((uuid) => ({ uuid })) : [];
        this.tables.Bridge.set("bridge", { ...bridge, ports: [...kept, ...added] });
    }
}

/** Columns that an insertion leaves empty. */
const emptyInterface: Row = { ofport: [], mac: [], mac_in_use: [], error: [] };

const spec = { name: "web-0", type: "", ofPortRequest: 32784, externalIds: {} } as const;

let database: FakeDatabase;
let bridge: OvsBridge;

beforeEach(() => {
    database = new FakeDatabase();
    bridge = new OvsBridge({ database }, { bridge: "br-int", datapathType: "netdev" });
});

describe("deletePort", () => {
    it("finds a port whose insertion is on its way", async () => {
        const inserting = bridge.ensurePort(spec);
        await bridge.deletePort(spec.name);
        await inserting;
        expect(bridge.port(spec.name)).toBeUndefined();
        expect([database.tables.Port.size, database.tables.Interface.size]).toEqual([0, 0]);
    });

    it("deletes a port with its record and its interface, in one transaction", async () => {
        await bridge.ensurePort(spec);
        expect(bridge.port(spec.name)).toMatchObject({ name: spec.name });
        const before = database.asked.length;
        await bridge.deletePort(spec.name);
        expect(database.asked.length - before).toBe(1);
        expect(bridge.ports()).toEqual([]);
        expect([database.tables.Port.size, database.tables.Interface.size]).toEqual([0, 0]);
    });

    it("of a port that there is not is a success", async () => {
        await bridge.deletePort("nobody");
        expect(bridge.ports()).toEqual([]);
    });
});

it("the bridge of a link is that of its port, also of a bond; a port that no bridge has is of none", () => {
    const { Bridge, Interface, Port } = database.tables;
    for (const name of ["nic0", "nic1", "nic2", "left"])
        Interface.set(`interface ${name}`, { ...emptyInterface, name });
    const port = (name: string, ...links: readonly string[]): void =>
        void Port.set(`port ${name}`, { name, interfaces: links.map((link) => ({ uuid: `interface ${link}` })) });
    port("nic0", "nic0");
    port("bond0", "nic1", "nic2");
    port("left", "left");
    const row = { name: "br-other", external_ids: new Map() };
    Bridge.set("other", { ...row, ports: [{ uuid: "port nic0" }, { uuid: "port bond0" }] });
    const names = ["nic0", "bond0", "nic2", "left", "nobody"];
    expect(names.map((name) => bridge.bridgeOf(name))).toEqual([
        "br-other",
        "br-other",
        "br-other",
        undefined,
        undefined,
    ]);
});
