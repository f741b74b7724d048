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
    textMapOf,
    textOf,
    update,
    uuid,
    type InputRow,
    type Operation,
    type Row,
} from "@antrea/ovsdb";
import { OvsBridgeError, portRefused } from "./bridge-error.ts";
import type { OvsDatabase } from "./ovs-database.ts";
import { vswitchdAck, type VswitchdAckLimits } from "./vswitchd-ack.ts";
import { formatRounds, nextRounds, roundsKey, type Rounds } from "./rounds.ts";

/** Settings of OvsBridge. */
export interface OvsBridgeOptions {
    /** Name of the bridge. */
    readonly bridge: string;
    /** `system` (kernel) or `netdev` (userspace). */
    readonly datapathType: "system" | "netdev";
}

/**
 * A port to create, as the columns of its OVSDB rows (ovs-vswitchd.conf.db(5)). Of an existing port, an absent column
 * keeps its value.
 */
export interface PortSpec {
    readonly name: string;
    /** `internal` for a device created by OVS, "" for an existing link, else a tunnel type. */
    readonly type: "" | "internal" | "geneve" | "vxlan" | "gre" | "stt";
    /** The OpenFlow port number to request; OVS assigns another one if it is taken. */
    readonly ofPortRequest: number;
    /** All external_ids of the Port; others are removed. */
    readonly externalIds: Readonly<Record<string, string>>;
    /** As text, like 0a:59:0a:0a:00:01. */
    readonly mac?: string;
    /** In bytes. */
    readonly mtuRequest?: number;
    /** All options of the interface; others are removed. */
    readonly options?: Readonly<Record<string, string>>;
}

/** A port of the bridge, as stored in the session's copy of the database at the time of the call. */
export interface OvsPort {
    /** Of the Port row. */
    readonly uuid: string;
    readonly name: string;
    /** Column `type` of the Interface row; "" is an existing link. */
    readonly type: string;
    readonly externalIds: ReadonlyMap<string, string>;
    /** Of its Interface row; "" if it has none. */
    readonly interfaceUuid: string;
    /** The OpenFlow port number; undefined until OVS has assigned one, -1 if it could not open the link. */
    readonly ofPort: number | undefined;
    /** The requested MAC address (column `mac`); undefined if OVS chooses it. */
    readonly mac: string | undefined;
    /** Why OVS could not open the link; undefined if it could, or has not tried yet. */
    readonly error: string | undefined;
}

/** Key in other_config of table Open_vSwitch: OVS keeps the kernel's flows and does not forward new ones itself. */
const flowRestoreKey = "flow-restore-wait";

/**
 * The bridge of the agent and its ports in OVSDB (ovs-vswitchd.conf.db(5)). Reads use the session's copy. Writes are
 * transactions, to be repeated by the caller; they reject with OvsdbError as `OvsdbSession.transact` does, and those
 * that need the bridge with OvsBridgeError `BRIDGE_MISSING`. Ports of other owners are written only if the caller names
 * them.
 */
export class OvsBridge {
    readonly #database: OvsDatabase;
    readonly #options: OvsBridgeOptions;
    /** The external_ids that this process has seen or set: a bridge that is made again after its database was lost has them. */
    #known: ReadonlyMap<string, string> = new Map();

    constructor(components: { readonly database: OvsDatabase }, options: OvsBridgeOptions) {
        this.#database = components.database;
        this.#options = options;
    }

    /**
     * Creates the bridge, or updates what differs. Idempotent; also after ovsdb-server restarted with an empty
     * database. Does not wait for ovs-vswitchd: see `datapathId`. Rejects with OvsdbError.
     */
    async ensure(signal?: AbortSignal): Promise<void> {
        const { bridge, datapathType } = this.#options;
        const wanted: InputRow = {
            datapath_type: datapathType,
            // Without a controller OVS would fall back to a learning switch, which bypasses all our flows.
            fail_mode: set("secure"),
            protocols: set("OpenFlow10", "OpenFlow15"),
        };
        const localPort = [
            insert("Interface", { name: bridge, type: "internal" }, "local_interface"),
            insert("Port", { name: bridge, interfaces: set(named("local_interface")) }, "local_port"),
        ];
        const ports = set(named("local_port"));
        const row = this.#bridge();
        if (row !== undefined) {
            this.#known = this.#externalIds();
            const own = [byUuid(row.uuid)];
            const missing = [...localPort, mutate("Bridge", own, [["ports", "insert", ports]])];
            const isWhole = this.port(bridge) !== undefined;
            await this.#transact([update("Bridge", own, wanted), ...(isWhole ? [] : missing)], signal);
            return;
        }
        // A bridge that is recreated after its database was lost gets the flows of this start: the next start must know
        // their round, and whose Node they are for.
        const external_ids = map(Object.fromEntries(this.#known));
        await this.#transact(
            [
                ...localPort,
                insert("Bridge", { name: bridge, ports, external_ids, ...wanted }, "new_bridge"),
                mutate("Open_vSwitch", [], [["bridges", "insert", set(named("new_bridge"))]]),
            ],
            signal,
        );
    }

    /**
     * Waits, for at most `timeoutMs` milliseconds, until OVS has created the bridge; resolves with its datapath ID, 16
     * hexadecimal digits. Rejects with OvsdbError `TIMEOUT` or `ABORTED`.
     */
    async datapathId(timeoutMs: number, signal?: AbortSignal): Promise<string> {
        const { bridge, datapathType } = this.#options;
        return this.#database.until(
            () => {
                const found = this.#bridge();
                return found && optionalTextOf(found.row, "datapath_id");
            },
            { timeoutMs, signal, what: `bridge ${bridge} of ovs-vswitchd, datapath type ${datapathType}` },
        );
    }

    /**
     * Sets the datapath ID to this MAC address (`aa:bb:…`) after four zeros. By default OVS derives it from the MAC
     * address of a port, and a change of ports would then end the controller connections. Idempotent. Rejects with
     * OvsBridgeError `BRIDGE_MISSING` or OvsdbError.
     */
    async fixDatapathId(mac: string, signal?: AbortSignal): Promise<void> {
        const row = this.#bridge();
        if (row === undefined) throw this.#missing();
        const other_config = map({ "datapath-id": mac.replaceAll(":", "").padStart(16, "0") });
        await this.#transact(
            [
                mutate(
                    "Bridge",
                    [byUuid(row.uuid)],
                    [
                        // "insert" does not replace an existing value of the key.
                        ["other_config", "delete", set("datapath-id")],
                        ["other_config", "insert", other_config],
                    ],
                ),
            ],
            signal,
        );
    }

    /**
     * Starts a round for this start of the agent, and stores it: to be called once, before the first flow of the round
     * is sent. Rejects with OvsBridgeError `BRIDGE_MISSING` or OvsdbError.
     */
    async beginRound(signal?: AbortSignal): Promise<Rounds> {
        const rounds = nextRounds(this.#externalIds().get(roundsKey));
        await this.setExternalId(roundsKey, formatRounds(rounds), signal);
        return rounds;
    }

    /**
     * Ends `flow-restore-wait`, with which start-ovs starts OVS, so that OVS forwards; no effect if it is not set.
     * Rejects with OvsdbError.
     */
    async endFlowRestore(signal?: AbortSignal): Promise<void> {
        const [row] = this.#database.rows("Open_vSwitch").values();
        if (row === undefined || !textMapOf(row, "other_config").has(flowRestoreKey)) return;
        await this.#transact([mutate("Open_vSwitch", [], [["other_config", "delete", set(flowRestoreKey)]])], signal);
    }

    /** The value of one key of the bridge's external_ids; undefined also if there is no bridge. */
    externalId(key: string): string | undefined {
        return this.#externalIds().get(key);
    }

    /**
     * Sets one key of the bridge's external_ids; the others are kept. Rejects with OvsBridgeError `BRIDGE_MISSING` or
     * OvsdbError.
     */
    async setExternalId(key: string, value: string, signal?: AbortSignal): Promise<void> {
        const row = this.#bridge();
        if (row === undefined) throw this.#missing();
        await this.#transact(
            [
                mutate(
                    "Bridge",
                    [byUuid(row.uuid)],
                    [
                        ["external_ids", "delete", set(key)],
                        ["external_ids", "insert", map({ [key]: value })],
                    ],
                ),
            ],
            signal,
        );
        this.#known = new Map(this.#known).set(key, value);
    }

    /** All ports of the bridge, including those of other owners; empty if there is no bridge. */
    ports(): readonly OvsPort[] {
        const row = this.#bridge()?.row;
        if (row === undefined) return [];
        const ports = this.#database.rows("Port");
        return referencesOf(row, "ports").flatMap((uuid) => {
            const port = ports.get(uuid);
            return port === undefined ? [] : [this.#portOf(uuid, port)];
        });
    }

    /** One port of the bridge by name; undefined if it has none, also if another bridge has it. */
    port(name: string): OvsPort | undefined {
        for (const [uuid, port] of this.#database.rows("Port")) {
            if (port["name"] !== name) continue;
            const bridge = this.#bridge();
            return bridge !== undefined && referencesOf(bridge.row, "ports").includes(uuid)
                ? this.#portOf(uuid, port)
                : undefined;
        }
        return undefined;
    }

    /**
     * The name of the bridge that has a port of this name, or a bond with an interface of this name, this agent's or another
     * one; undefined if none has.
     */
    bridgeOf(name: string): string | undefined {
        const uuid = this.#portWith(name);
        if (uuid === undefined) return undefined;
        for (const row of this.#database.rows("Bridge").values())
            if (referencesOf(row, "ports").includes(uuid)) return textOf(row, "name");
        return undefined;
    }

    /**
     * Adds a port with its record, or updates the one of its name, in one transaction. Does not wait for ovs-vswitchd:
     * see `ofPort`. Idempotent. Rejects with OvsBridgeError `BRIDGE_MISSING` or OvsdbError.
     */
    async ensurePort(spec: PortSpec, signal?: AbortSignal): Promise<void> {
        const bridge = this.#bridge();
        if (bridge === undefined) throw this.#missing();
        const interfaceRow: InputRow = {
            type: spec.type,
            ofport_request: set(spec.ofPortRequest),
            ...(spec.mac === undefined ? {} : { mac: set(spec.mac) }),
            ...(spec.mtuRequest === undefined ? {} : { mtu_request: set(spec.mtuRequest) }),
            ...(spec.options === undefined ? {} : { options: map(spec.options) }),
        };
        const existing = this.port(spec.name);
        if (existing !== undefined) {
            await this.#transact(
                [
                    update("Interface", [byUuid(existing.interfaceUuid)], interfaceRow),
                    update("Port", [byUuid(existing.uuid)], { external_ids: map(spec.externalIds) }),
                ],
                signal,
            );
            return;
        }
        await this.#transact(
            [
                insert("Interface", { name: spec.name, ...interfaceRow }, "new_interface"),
                insert(
                    "Port",
                    { name: spec.name, interfaces: set(named("new_interface")), external_ids: map(spec.externalIds) },
                    "new_port",
                ),
                mutate("Bridge", [byUuid(bridge.uuid)], [["ports", "insert", set(named("new_port"))]]),
            ],
            signal,
        );
    }

    /**
     * Deletes a port and its record; succeeds if the port or the bridge is gone already. Does not wait until OVS has
     * released the device: see `acknowledged`. Rejects with OvsdbError.
     */
    async deletePort(name: string, signal?: AbortSignal): Promise<void> {
        // An earlier insertion without a reply may still be in progress: it is visible after this transaction, which
        // follows it.
        if (this.port(name) === undefined) await this.#transact([], signal);
        const bridge = this.#bridge();
        const port = this.port(name);
        if (bridge === undefined || port === undefined) return;
        await this.#transact(
            [
                mutate("Bridge", [byUuid(bridge.uuid)], [["ports", "delete", set(uuid(port.uuid))]]),
                remove("Port", [byUuid(port.uuid)]),
                remove("Interface", [byUuid(port.interfaceUuid)]),
            ],
            signal,
        );
    }

    /**
     * Waits, for at most `timeoutMs` milliseconds, until OVS has assigned the OpenFlow port number. Rejects with
     * OvsBridgeError `PORT_REFUSED` if OVS could not open the link, with OvsdbError `TIMEOUT`, also for an unknown
     * port, or `ABORTED`.
     */
    async ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number> {
        const found = await this.#database.until(
            () => {
                const port = this.port(name);
                return port?.ofPort === undefined ? undefined : port;
            },
            { timeoutMs, signal, what: `the number that ovs-vswitchd gives to port ${name}` },
        );
        if (found.ofPort !== undefined && found.ofPort > 0) return found.ofPort;
        throw portRefused(name, this.#options.bridge, found.error);
    }

    /** Waits until ovs-vswitchd has applied the database contents; see `vswitchdAck`. */
    acknowledged(limits?: VswitchdAckLimits): Promise<void> {
        return vswitchdAck(this.#database, limits);
    }

    #transact(operations: readonly Operation[], signal: AbortSignal | undefined): Promise<unknown> {
        return this.#database.transact(operations, { signal });
    }

    #bridge(): { readonly uuid: string; readonly row: Row } | undefined {
        for (const [uuid, row] of this.#database.rows("Bridge"))
            if (row["name"] === this.#options.bridge) return { uuid, row };
        return undefined;
    }

    /** The port of this name, else the one with an interface of this name; neither name is in the database twice. */
    #portWith(name: string): string | undefined {
        const ports = this.#database.rows("Port");
        for (const [uuid, port] of ports) if (port["name"] === name) return uuid;
        for (const [interfaceUuid, row] of this.#database.rows("Interface")) {
            if (row["name"] !== name) continue;
            for (const [uuid, port] of ports) if (referencesOf(port, "interfaces").includes(interfaceUuid)) return uuid;
        }
        return undefined;
    }

    #externalIds(): ReadonlyMap<string, string> {
        const bridge = this.#bridge();
        return bridge === undefined ? new Map() : textMapOf(bridge.row, "external_ids");
    }

    #portOf(uuid: string, port: Row): OvsPort {
        const interfaceUuid = referencesOf(port, "interfaces")[0] ?? "";
        const row = this.#database.rows("Interface").get(interfaceUuid);
        return {
            uuid,
            name: textOf(port, "name"),
            externalIds: textMapOf(port, "external_ids"),
            interfaceUuid,
            type: row === undefined ? "" : textOf(row, "type"),
            ofPort: row && optionalNumberOf(row, "ofport"),
            mac: row && optionalTextOf(row, "mac"),
            error: row && optionalTextOf(row, "error"),
        };
    }

    #missing(): OvsBridgeError {
        return new OvsBridgeError("BRIDGE_MISSING", "environment", `OVS has no bridge ${this.#options.bridge} yet`);
    }
}
