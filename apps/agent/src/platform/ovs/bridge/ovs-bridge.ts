import { AntreaError } from "@antrea/errors";
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
import type { OvsdbSession } from "@antrea/ovsdb/session";
import { configurationCarriedOut, type CarryOutLimits } from "./carried-out.ts";
import { formatRounds, nextRounds, roundsKey, type Rounds } from "./rounds.ts";

/** What the bridge needs of a session with ovsdb-server. */
export type OvsDatabase = Pick<OvsdbSession, "rows" | "transact" | "until">;

export interface OvsBridgeOptions {
    readonly bridge: string;
    /** `system` (kernel) or `netdev` (userspace). */
    readonly datapathType: "system" | "netdev";
}

/** Tables and columns that the agent reads, as the `monitor` option of the session. */
export const monitoredColumns = {
    Open_vSwitch: ["bridges", "ovs_version", "iface_types", "next_cfg", "cur_cfg", "other_config"],
    Bridge: ["name", "ports", "datapath_id", "datapath_type", "fail_mode", "protocols", "external_ids"],
    Port: ["name", "interfaces", "tag", "external_ids"],
    Interface: ["name", "type", "ofport", "ofport_request", "mac", "mac_in_use", "mtu", "options", "error"],
} as const;

export interface PortSpec {
    readonly name: string;
    /** `internal` for a port that OVS makes, "" for a link that exists, else a kind of tunnel. */
    readonly type: "" | "internal" | "geneve" | "vxlan" | "gre" | "stt";
    readonly ofPortRequest: number;
    readonly externalIds: Readonly<Record<string, string>>;
    readonly mac?: string;
    readonly mtuRequest?: number;
    /** All options of the interface; what is not named is removed. */
    readonly options?: Readonly<Record<string, string>>;
}

/** A port of the bridge as the database has it. */
export interface OvsPort {
    readonly uuid: string;
    readonly name: string;
    readonly type: string;
    readonly externalIds: ReadonlyMap<string, string>;
    readonly interfaceUuid: string;
    /** The OpenFlow port number; undefined while OVS has given none, -1 when it could not open the link. */
    readonly ofPort: number | undefined;
    readonly mac: string | undefined;
    readonly error: string | undefined;
}

/** Of `other_config` of the row of the switch: OVS leaves the kernel's flows alone and forwards nothing itself. */
const flowRestoreKey = "flow-restore-wait";

export class OvsBridgeError extends AntreaError<"PORT_REFUSED" | "BRIDGE_MISSING" | "NO_DEVICE"> {}

/** The bridge of the agent and its ports in OVSDB (ovs-vswitchd.conf.db(5)). Ports of others are read, never written. */
export class OvsBridge {
    readonly #database: OvsDatabase;
    readonly #options: OvsBridgeOptions;
    #rounds: Rounds | undefined;

    constructor(components: { readonly database: OvsDatabase }, options: OvsBridgeOptions) {
        this.#database = components.database;
        this.#options = options;
    }

    /** Creates the bridge, or sets what differs. Idempotent; also after ovsdb-server came back with an empty database. */
    async ensure(signal?: AbortSignal): Promise<void> {
        const { bridge, datapathType } = this.#options;
        const wanted: InputRow = {
            datapath_type: datapathType,
            // Without a controller OVS would fall back to a learning switch, past every flow of ours.
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
            const own = [byUuid(row.uuid)];
            const missing = [...localPort, mutate("Bridge", own, [["ports", "insert", ports]])];
            const isWhole = this.port(bridge) !== undefined;
            await this.#transact([update("Bridge", own, wanted), ...(isWhole ? [] : missing)], signal);
            return;
        }
        // A bridge that comes back after its database was lost gets the flows of this start: the next one must know.
        const external_ids = map(this.#rounds === undefined ? {} : { [roundsKey]: formatRounds(this.#rounds) });
        await this.#transact(
            [
                ...localPort,
                insert("Bridge", { name: bridge, ports, external_ids, ...wanted }, "new_bridge"),
                mutate("Open_vSwitch", [], [["bridges", "insert", set(named("new_bridge"))]]),
            ],
            signal,
        );
    }

    /** Waits until OVS has made the bridge. */
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
     * Fixes the datapath id, which OVS makes of the MAC address of some port otherwise: when it changes with the ports,
     * the controllers' connections end. Idempotent.
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
                        // What is inserted only replaces no value of the same key.
                        ["other_config", "delete", set("datapath-id")],
                        ["other_config", "insert", other_config],
                    ],
                ),
            ],
            signal,
        );
    }

    /** The rounds for this start; stores that flows of the new round may exist before the first is sent. */
    async beginRound(signal?: AbortSignal): Promise<Rounds> {
        const rounds = nextRounds(this.#externalIds().get(roundsKey));
        this.#rounds = rounds;
        await this.setExternalId(roundsKey, formatRounds(rounds), signal);
        return rounds;
    }

    /** Lets an OVS forward that was started so that it waits for its flows (start-ovs does so). Idempotent. */
    async endFlowRestore(signal?: AbortSignal): Promise<void> {
        const [row] = this.#database.rows("Open_vSwitch").values();
        if (row === undefined || !textMapOf(row, "other_config").has(flowRestoreKey)) return;
        await this.#transact([mutate("Open_vSwitch", [], [["other_config", "delete", set(flowRestoreKey)]])], signal);
    }

    /** One key of the bridge's external_ids. */
    externalId(key: string): string | undefined {
        return this.#externalIds().get(key);
    }

    /** Sets one key of the bridge's external_ids and leaves the others alone. */
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
    }

    /** All ports of the bridge, those of others too. */
    ports(): readonly OvsPort[] {
        const row = this.#bridge()?.row;
        if (row === undefined) return [];
        const ports = this.#database.rows("Port");
        return referencesOf(row, "ports").flatMap((uuid) => {
            const port = ports.get(uuid);
            return port === undefined ? [] : [this.#portOf(uuid, port)];
        });
    }

    /** One port of the bridge by name; a port of another bridge is none of ours. */
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

    /** The name of the bridge that has a port of this name, ours or one of others. */
    bridgeOf(portName: string): string | undefined {
        const ports = this.#database.rows("Port");
        for (const row of this.#database.rows("Bridge").values()) {
            const names = referencesOf(row, "ports").map((uuid) => ports.get(uuid)?.["name"]);
            if (names.includes(portName)) return textOf(row, "name");
        }
        return undefined;
    }

    /** Adds a port with its record, or sets the record of the port that is there, in one transaction. */
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

    /** Deletes a port and with it its record; a port that is gone is a success. */
    async deletePort(name: string, signal?: AbortSignal): Promise<void> {
        // An insertion whose answer was not waited for may be under way: what was sent before this one shows after it.
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

    /** Waits until OVS has given the port its number; refuses a link that OVS could not open. */
    async ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number> {
        const found = await this.#database.until(
            () => {
                const port = this.port(name);
                return port?.ofPort === undefined ? undefined : port;
            },
            { timeoutMs, signal, what: `the number that ovs-vswitchd gives to port ${name}` },
        );
        if (found.ofPort !== undefined && found.ofPort > 0) return found.ofPort;
        throw new OvsBridgeError(
            "PORT_REFUSED",
            "environment",
            `OVS could not add port ${name} to ${this.#options.bridge}: ${found.error ?? "no reason given"}; see the log of ovs-vswitchd`,
        );
    }

    /** Waits until ovs-vswitchd has carried out what the database says. Rejects when that takes longer. */
    carriedOut(limits?: CarryOutLimits): Promise<void> {
        return configurationCarriedOut(this.#database, limits);
    }

    #transact(operations: readonly Operation[], signal: AbortSignal | undefined): Promise<unknown> {
        return this.#database.transact(operations, signal === undefined ? {} : { signal });
    }

    #bridge(): { readonly uuid: string; readonly row: Row } | undefined {
        for (const [uuid, row] of this.#database.rows("Bridge"))
            if (row["name"] === this.#options.bridge) return { uuid, row };
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
