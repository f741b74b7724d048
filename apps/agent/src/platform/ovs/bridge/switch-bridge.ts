import { secondaryBridgeCondition } from "@antrea/crd";
import {
    byUuid,
    insert,
    map,
    mutate,
    named,
    optionalNumberOf,
    optionalTextOf,
    referencesOf,
    remove,
    set,
    textEntryOf,
    textMapOf,
    textOf,
    update,
    uuid,
    type InputRow,
    type Operation,
    type Row,
} from "@antrea/ovsdb";
import type { OpenFlowConnection } from "@antrea/openflow/connection";
import { OvsBridgeError, portRefused } from "./bridge-error.ts";
import type { NicBridge, PatchPort } from "./nic-bridge.ts";
import type { OvsDatabase } from "./ovs-database.ts";
import {
    bridgeColumns,
    isNic,
    isNicAsWanted,
    isOwn,
    newBridge,
    nicColumns,
    nicRows,
    type SwitchBridgeOptions,
} from "./switch-rows.ts";

/** A port of a Pod. */
export interface AccessPort {
    /** Of the port and of the existing link. */
    readonly name: string;
    /** 0 is untagged: the port is in no VLAN, and frames with a tag are dropped. */
    readonly vlan: number;
    /** All external_ids of the Port; others are removed. */
    readonly externalIds: Readonly<Record<string, string>>;
}

/** A port of the bridge, as stored in the session's copy of the database at the time of the call. */
export interface SwitchPort {
    readonly name: string;
    readonly externalIds: ReadonlyMap<string, string>;
    /** Its VLAN; undefined if it is a trunk. */
    readonly vlan: number | undefined;
    /** The OpenFlow port number; undefined until OVS has assigned one, -1 if it could not open the link. */
    readonly ofPort: number | undefined;
    /** Why OVS could not open the link; undefined if it could, or has not tried yet. */
    readonly error: string | undefined;
}

interface PortRows extends SwitchPort {
    readonly uuid: string;
    readonly interfaceUuid: string;
    readonly row: Row;
}

/**
 * A bridge in OVSDB that switches by itself (`fail_mode=standalone`), without flows of the agent, so that a restart of the
 * agent touches no traffic (ovs-vswitchd.conf.db(5)). Ports of Pods are access ports, also without VLAN: a port without
 * `tag` would be a trunk, whose Pod could send into every VLAN. NICs are trunks, and `protected`: no frame passes from
 * NIC to NIC. Reads use the session's copy. Writes are transactions, to be repeated by the caller; they reject with
 * OvsdbError, and those that need the bridge with OvsBridgeError `BRIDGE_MISSING`.
 */
export class SwitchBridge {
    readonly #database: OvsDatabase;
    readonly #options: SwitchBridgeOptions;

    constructor(components: { readonly database: OvsDatabase }, options: SwitchBridgeOptions) {
        this.#database = components.database;
        this.#options = options;
    }

    /** Name of the bridge. */
    get name(): string {
        return this.#options.bridge;
    }

    /** Whether the database has the bridge, made by this agent or an earlier one. */
    get exists(): boolean {
        return this.#bridge() !== undefined;
    }

    /** Throws OvsBridgeError `FOREIGN_BRIDGE` if somebody else made a bridge of this name. */
    refuseForeign(): void {
        if (this.#namesake() !== undefined && !this.exists) throw this.#foreign();
    }

    /**
     * Creates the bridge, or updates what differs, and makes its NICs exactly the given ones: links by their names, which
     * exist and are of no other bridge, and patch ports to bridges of NICs. Rejects with OvsBridgeError `FOREIGN_BRIDGE` if somebody else made a bridge of this name, `BRIDGE_MISSING`
     * while the database has no configuration of Open vSwitch. Idempotent: without a difference nothing is sent; also after ovsdb-server restarted with an empty database.
     */
    async ensure(wantedNics: readonly (string | PatchPort)[], signal?: AbortSignal): Promise<void> {
        const nics = wantedNics.map((nic) => (typeof nic === "string" ? { name: nic, peer: undefined } : nic));
        const names = nics.map(({ name }) => name);
        this.refuseForeign();
        const row = this.#bridge();
        const present = this.#rows((port) => names.includes(textOf(port, "name")) || isNic(port));
        const fresh = nics.filter(({ name }) => !present.some((port) => port.name === name));
        const created = fresh.flatMap((nic, index) => nicRows(nic, index));
        const ids = fresh.map((_, index) => named(`nic_port_${index}`));
        if (row === undefined) {
            if (this.#database.rows("Open_vSwitch").size === 0) throw this.#missing();
            await this.#transact([...created, ...newBridge(this.#options, ids)], signal);
            return;
        }
        const stale = present.filter((port) => !names.includes(port.name));
        const changed = present.filter((port) => names.includes(port.name) && !isNicAsWanted(port.row));
        const isRight = fresh.length + stale.length + changed.length === 0 && this.#isAsWanted(row.row);
        if (isRight) return;
        await this.#transact(
            [
                update("Bridge", [byUuid(row.uuid)], bridgeColumns(this.#options)),
                ...changed.map((port) => update("Port", [byUuid(port.uuid)], nicColumns)),
                ...created,
                ...(ids.length === 0 ? [] : [mutate("Bridge", [byUuid(row.uuid)], [["ports", "insert", set(...ids)]])]),
                ...this.#removal(row.uuid, stale),
            ],
            signal,
        );
    }

    /**
     * Takes the place of all other bridges that this agent or an earlier one made: deletes them, and has all their ports, with
     * their records and VLANs, in one transaction; creates the bridge if there is none. NICs are made exactly those that are
     * wanted by the next `ensure`. Resolves with the names of the bridges. Rejects as `ensure`.
     */
    async takeOver(signal?: AbortSignal): Promise<readonly string[]> {
        this.refuseForeign();
        const former = [...this.#database.rows("Bridge")].filter(([, row]) => isOwn(row) && row["name"] !== this.name);
        if (former.length === 0) return [];
        const ports = this.#database.rows("Port");
        const taken = former.flatMap(([, bridge]) =>
            referencesOf(bridge, "ports").filter((id) => ports.get(id)?.["name"] !== bridge["name"]),
        );
        const row = this.#bridge();
        const ids = taken.map((id) => uuid(id));
        const gone = former.map(([id]) => uuid(id));
        const insertion =
            row === undefined
                ? newBridge(this.#options, ids)
                : [mutate("Bridge", [byUuid(row.uuid)], [["ports", "insert", set(...ids)]])];
        // A former bridge releases its ports, and is deleted as nothing refers to it.
        const removal = mutate("Open_vSwitch", [], [["bridges", "delete", set(...gone)]]);
        await this.#transact([...insertion, removal], signal);
        return former.map(([, bridge]) => textOf(bridge, "name"));
    }

    /** Deletes the bridge with all its ports, if this agent made it; succeeds if there is none. */
    async delete(signal?: AbortSignal): Promise<void> {
        const row = this.#bridge();
        if (row === undefined) return;
        // What nothing refers to is deleted by ovsdb-server.
        await this.#transact([mutate("Open_vSwitch", [], [["bridges", "delete", set(uuid(row.uuid))]])], signal);
    }

    /** The ports of Pods: those with a record. */
    ports(): readonly SwitchPort[] {
        return this.#rows((port) => textEntryOf(port, "external_ids", "container-id") !== undefined);
    }

    /** The names of the ports of NICs, and why OVS could not open one. */
    nics(): readonly Pick<SwitchPort, "name" | "error">[] {
        return this.#rows(isNic);
    }

    /** Adds ports with their records, or updates those of their names, in one transaction; does not wait for OVS. */
    async ensurePorts(ports: readonly AccessPort[], signal?: AbortSignal): Promise<void> {
        const bridge = this.#bridge();
        if (bridge === undefined) throw this.#missing();
        const present = new Map(this.#named(ports.map(({ name }) => name)).map((port) => [port.name, port]));
        const operations: Operation[] = [];
        const ids: ReturnType<typeof named>[] = [];
        for (const [index, { name, vlan, externalIds }] of ports.entries()) {
            const columns: InputRow = { tag: set(vlan), vlan_mode: set("access"), external_ids: map(externalIds) };
            const existing = present.get(name);
            if (existing !== undefined) {
                operations.push(update("Port", [byUuid(existing.uuid)], columns));
                continue;
            }
            const [interfaceId, portId] = [`interface_${index}`, `port_${index}`];
            operations.push(
                insert("Interface", { name, type: "" }, interfaceId),
                insert("Port", { name, interfaces: set(named(interfaceId)), ...columns }, portId),
            );
            ids.push(named(portId));
        }
        if (ids.length > 0)
            operations.push(mutate("Bridge", [byUuid(bridge.uuid)], [["ports", "insert", set(...ids)]]));
        await this.#transact(operations, signal);
    }

    /** Deletes ports and their records, in one transaction; succeeds for those that are gone. Does not wait for OVS. */
    async deletePorts(names: readonly string[], signal?: AbortSignal): Promise<void> {
        const find = (): readonly PortRows[] => this.#named(names);
        // An earlier insertion without a reply is visible after this transaction, which follows it.
        if (find().length < names.length) await this.#transact([], signal);
        const bridge = this.#bridge();
        if (bridge === undefined) return;
        const operations = this.#removal(bridge.uuid, find());
        if (operations.length > 0) await this.#transact(operations, signal);
    }

    /**
     * Waits, for at most `timeoutMs` milliseconds, until OVS has opened the links of these ports; resolves with them. Rejects
     * with OvsBridgeError `PORT_REFUSED` if it could not open one, with OvsdbError `TIMEOUT` or `ABORTED`.
     */
    async opened(names: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<readonly SwitchPort[]> {
        let ids: readonly string[] = [];
        const ports = await this.#database.until(
            () => {
                // Many ADDs ask this at each change of the database: once found, only their own rows are read.
                const interfaces = this.#database.rows("Interface");
                if (ids.length < names.length || ids.some((id) => !interfaces.has(id)))
                    ids = this.#named(names).map(({ interfaceUuid }) => interfaceUuid);
                if (ids.length < names.length || ids.some((id) => !hasOfPort(interfaces.get(id)))) return undefined;
                const found = this.#named(names);
                return found.length < names.length ? undefined : found;
            },
            // Without their names, which differ from sandbox to sandbox of a Pod: the message is one event for all attempts.
            { timeoutMs, signal, what: `the numbers of new ports of ${this.name} from ovs-vswitchd` },
        );
        const refused = ports.find(({ ofPort = -1 }) => ofPort <= 0);
        if (refused === undefined) return ports;
        throw portRefused(refused.name, this.name, refused.error);
    }

    #isAsWanted(row: Row): boolean {
        const { datapathType, multicastSnooping } = this.#options;
        return (
            textOf(row, "datapath_type") === datapathType &&
            optionalTextOf(row, "fail_mode") === "standalone" &&
            row["mcast_snooping_enable"] === multicastSnooping &&
            isOwn(row)
        );
    }

    #transact(operations: readonly Operation[], signal: AbortSignal | undefined): Promise<unknown> {
        return this.#database.transact(operations, { signal });
    }

    #removal(bridge: string, ports: readonly PortRows[]): readonly Operation[] {
        if (ports.length === 0) return [];
        return [
            mutate("Bridge", [byUuid(bridge)], [["ports", "delete", set(...ports.map((port) => uuid(port.uuid)))]]),
            ...ports.flatMap((port) => [
                remove("Port", [byUuid(port.uuid)]),
                remove("Interface", [byUuid(port.interfaceUuid)]),
            ]),
        ];
    }

    /** The ports of these names. */
    #named(names: readonly string[]): readonly PortRows[] {
        const wanted = new Set(names);
        return this.#rows((port) => wanted.has(textOf(port, "name")));
    }

    /** The ports whose row is wanted: of thousands of rows only theirs are read. */
    #rows(isWanted: (port: Row) => boolean): readonly PortRows[] {
        const bridge = this.#bridge();
        if (bridge === undefined) return [];
        const wanted = [...this.#database.rows("Port")].filter(([, port]) => isWanted(port));
        if (wanted.length === 0) return [];
        const own = new Set(referencesOf(bridge.row, "ports"));
        const interfaces = this.#database.rows("Interface");
        return wanted.flatMap(([id, port]) => {
            if (!own.has(id)) return [];
            const interfaceUuid = referencesOf(port, "interfaces")[0] ?? "";
            const row = interfaces.get(interfaceUuid);
            return [
                {
                    uuid: id,
                    interfaceUuid,
                    row: port,
                    name: textOf(port, "name"),
                    externalIds: textMapOf(port, "external_ids"),
                    vlan: optionalNumberOf(port, "tag"),
                    ofPort: row && optionalNumberOf(row, "ofport"),
                    error: row && optionalTextOf(row, "error"),
                },
            ];
        });
    }

    /** Somebody else's bridge of the name counts as none: nothing in it is read, and nothing changed. */
    #bridge(): { readonly uuid: string; readonly row: Row } | undefined {
        const found = this.#namesake();
        return found !== undefined && isOwn(found.row) ? found : undefined;
    }

    #namesake(): { readonly uuid: string; readonly row: Row } | undefined {
        for (const [id, row] of this.#database.rows("Bridge")) if (row["name"] === this.name) return { uuid: id, row };
        return undefined;
    }

    #foreign(): OvsBridgeError {
        return new OvsBridgeError(
            "FOREIGN_BRIDGE",
            "environment",
            `OVS has a bridge ${this.name} that this agent did not make; next: choose another bridgeName in secondaryNetwork.ovsBridges, or delete the bridge with "ovs-vsctl del-br ${this.name}"`,
        );
    }

    #missing(): OvsBridgeError {
        return new OvsBridgeError(
            "BRIDGE_MISSING",
            "environment",
            `OVS has no bridge ${this.name} yet; next: wait, as the agent makes it again; if it stays so, see the condition ${secondaryBridgeCondition} of the Node`,
        );
    }
}

/** Access to the switching bridges of the Node. */
export interface SwitchBridges {
    /** See `ownSwitchBridges`. */
    names(): readonly string[];
    /** One of them, by name; it need not exist. */
    of(options: Omit<SwitchBridgeOptions, "datapathType">): Pick<SwitchBridge, keyof SwitchBridge>;
    /** The bridge of a NIC that the Node uses too, by the name of the NIC; it need not exist. */
    nic(name: string): Pick<NicBridge, keyof NicBridge>;
    /** An OpenFlow connection to the bridge of this name, for packets; its owner starts and closes it. */
    connection(name: string): Pick<OpenFlowConnection, "start" | "packetOut" | "close">;
}

/** The names of the bridges that this agent or an earlier one made by SwitchBridge. */
export function ownSwitchBridges(database: Pick<OvsDatabase, "rows">): readonly string[] {
    return [...database.rows("Bridge").values()].filter(isOwn).map((row) => textOf(row, "name"));
}

function hasOfPort(row: Row | undefined): boolean {
    return row !== undefined && optionalNumberOf(row, "ofport") !== undefined;
}
