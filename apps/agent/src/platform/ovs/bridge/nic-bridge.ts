import { createHash } from "node:crypto";
import {
    byUuid,
    insert,
    map,
    mutate,
    named,
    optionalTextOf,
    set,
    textMapOf,
    textOf,
    update,
    uuid,
    type InputRow,
    type Row,
} from "@antrea/ovsdb";
import { OvsBridgeError } from "./bridge-error.ts";
import { OvsBridge, type OvsPort, type PortSpec } from "./ovs-bridge.ts";
import type { OvsDatabase } from "./ovs-database.ts";
import type { VswitchdAckLimits } from "./vswitchd-ack.ts";

/** A patch port: in the bridge of networks, the port of a NIC that has a bridge of its own (ovs-vswitchd.conf.db(5)). */
export interface PatchPort {
    readonly name: string;
    /** Name of the port at the other end. */
    readonly peer: string;
}

/** Settings of NicBridge. */
export interface NicBridgeOptions {
    /** Name of the NIC. */
    readonly nic: string;
    /** `system` (kernel) or `netdev` (userspace), as of the bridge of networks. */
    readonly datapathType: "system" | "netdev";
}

/** In external_ids of the bridge: the name of its NIC. */
export const nicBridgeKey = "antrea-nic";

/** IFNAMSIZ without the terminating zero. */
const maxNameBytes = 15;
const suffix = "~br";

/**
 * The bridge of one NIC that the Node itself uses too, in OVSDB. It has three ports: the NIC, the host port that has the
 * NIC's name and the Node's addresses, and a patch port to the bridge of networks, where the other end is `protected` like
 * a NIC. So the Node reaches this NIC and the Pods, and neither another NIC nor its host port, by the configuration of
 * the database alone: on one bridge with all NICs a host port would reach each of them, and if it were `protected` too,
 * not its own. It switches by itself (`fail_mode=standalone`), without flows of the agent.
 *
 * Reads use the session's copy. Writes are transactions, to be repeated by the caller; they reject with OvsdbError, and
 * those that need the bridge with OvsBridgeError `BRIDGE_MISSING`.
 */
export class NicBridge {
    readonly #database: OvsDatabase;
    readonly #options: NicBridgeOptions;
    readonly #ports: OvsBridge;

    constructor(components: { readonly database: OvsDatabase }, options: NicBridgeOptions) {
        this.#database = components.database;
        this.#options = options;
        const { datapathType } = options;
        this.#ports = new OvsBridge(components, { bridge: this.name, datapathType });
    }

    /** Name of the bridge; that of a NIC with a long name is derived from a hash, since two may differ at the end only. */
    get name(): string {
        const { nic } = this.#options;
        const length = maxNameBytes - suffix.length;
        const isShort = Buffer.byteLength(nic) <= length;
        return `${isShort ? nic : createHash("sha256").update(nic).digest("hex").slice(0, length)}${suffix}`;
    }

    /** The port of the bridge of networks that leads here. */
    get patch(): PatchPort {
        return { name: `patch-${this.#options.nic}`, peer: this.#peer };
    }

    /** Whether the database has the bridge. */
    get exists(): boolean {
        return this.#row() !== undefined;
    }

    /** One port of the bridge by name; undefined if it has none. */
    port(name: string): OvsPort | undefined {
        return this.#ports.port(name);
    }

    /** The name of the bridge that has a port of this name, this or another one; undefined if none has. */
    bridgeOf(name: string): string | undefined {
        return this.#ports.bridgeOf(name);
    }

    /**
     * Creates the port and, if there is none, the bridge, or updates them; does not wait for OVS. Internal ports are in no
     * VLAN. Rejects with OvsBridgeError `FOREIGN_BRIDGE` if somebody else made a bridge of this name.
     */
    async ensurePort(spec: PortSpec, signal?: AbortSignal): Promise<void> {
        await this.#ensure(signal);
        await this.#ports.ensurePort(spec, signal);
        if (spec.type !== "internal") return;
        const untagged: InputRow = { tag: set(0), vlan_mode: set("access") };
        await this.#database.transact([update("Port", [["name", "==", spec.name]], untagged)], { signal });
    }

    /** Succeeds if the port is gone already; does not wait until OVS has released the device. */
    deletePort(name: string, signal?: AbortSignal): Promise<void> {
        return this.#ports.deletePort(name, signal);
    }

    /** Waits until ovs-vswitchd has applied the database contents; see `vswitchdAck`. */
    acknowledged(limits?: VswitchdAckLimits): Promise<void> {
        return this.#ports.acknowledged(limits);
    }

    /** As `OvsBridge.ofPort`. */
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number> {
        return this.#ports.ofPort(name, timeoutMs, signal);
    }

    /** Adds the end of the patch port to the bridge of networks, if it is missing; idempotent. */
    async attach(signal?: AbortSignal): Promise<void> {
        const bridge = this.#row();
        if (bridge === undefined)
            throw new OvsBridgeError("BRIDGE_MISSING", "environment", `OVS has no bridge ${this.name} yet`);
        if (this.port(this.#peer) !== undefined) return;
        const peer = { type: "patch", options: map({ peer: this.patch.name }) };
        await this.#database.transact(
            [
                insert("Interface", { name: this.#peer, ...peer }, "new_interface"),
                insert("Port", { name: this.#peer, interfaces: set(named("new_interface")) }, "new_port"),
                mutate("Bridge", [byUuid(bridge.uuid)], [["ports", "insert", set(named("new_port"))]]),
            ],
            { signal },
        );
    }

    /** Deletes the bridge with all its ports, if this agent made it; succeeds if there is none. */
    async delete(signal?: AbortSignal): Promise<void> {
        const bridge = this.#row();
        if (bridge === undefined || !this.#isOwn(bridge.row)) return;
        const bridges = set(uuid(bridge.uuid));
        await this.#database.transact([mutate("Open_vSwitch", [], [["bridges", "delete", bridges]])], { signal });
    }

    async #ensure(signal: AbortSignal | undefined): Promise<void> {
        const { datapathType, nic } = this.#options;
        const wanted: InputRow = {
            datapath_type: datapathType,
            fail_mode: set("standalone"),
            external_ids: map({ [nicBridgeKey]: nic }),
        };
        const found = this.#row();
        if (found !== undefined) {
            if (!this.#isOwn(found.row)) throw this.#foreign();
            const { row } = found;
            const isRight =
                textOf(row, "datapath_type") === datapathType && optionalTextOf(row, "fail_mode") === "standalone";
            if (!isRight) await this.#database.transact([update("Bridge", [byUuid(found.uuid)], wanted)], { signal });
            return;
        }
        const { name } = this;
        await this.#database.transact(
            [
                insert("Interface", { name, type: "internal" }, "local_interface"),
                insert("Port", { name, interfaces: set(named("local_interface")) }, "local_port"),
                insert("Bridge", { name, ports: set(named("local_port")), ...wanted }, "new_bridge"),
                mutate("Open_vSwitch", [], [["bridges", "insert", set(named("new_bridge"))]]),
            ],
            { signal },
        );
    }

    get #peer(): string {
        return `patch-${this.name}`;
    }

    #row(): { readonly uuid: string; readonly row: Row } | undefined {
        for (const [id, row] of this.#database.rows("Bridge")) if (row["name"] === this.name) return { uuid: id, row };
        return undefined;
    }

    #isOwn(row: Row): boolean {
        return textMapOf(row, "external_ids").get(nicBridgeKey) === this.#options.nic;
    }

    #foreign(): OvsBridgeError {
        const { nic } = this.#options;
        return new OvsBridgeError(
            "FOREIGN_BRIDGE",
            "environment",
            `OVS has a bridge ${this.name} that this agent did not make, so the Node cannot keep its addresses on ${nic}; next: delete the bridge with "ovs-vsctl del-br ${this.name}"`,
        );
    }
}

/** The names of the NICs whose bridges this agent or an earlier one made. */
export function nicsWithBridges(database: Pick<OvsDatabase, "rows">): readonly string[] {
    return [...database.rows("Bridge").values()].flatMap((row) => {
        const nic = textMapOf(row, "external_ids").get(nicBridgeKey);
        return nic === undefined ? [] : [nic];
    });
}
