import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { withTimeout } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { mutate, referencesOf, set, textMapOf, textOf, uuid, type Row } from "@antrea/ovsdb";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { type Logger } from "@antrea/runtime";
import {
    configurationColumns,
    nicBridgeKey,
    roundsKey,
    secondaryBridgeKey,
    vswitchdAck,
} from "../../platform/ovs/bridge/index.ts";
import type { DeviceNames } from "./devices.ts";
import { agentRunning, CleanUpError } from "./errors.ts";
import { OwnServer } from "./own-server.ts";

const connectTimeoutMs = 2_000;
const lockTimeoutMs = 1_000;

const columns = {
    Bridge: ["name", "ports", "external_ids"],
    Port: ["name", "external_ids"],
    ...configurationColumns,
    Open_vSwitch: ["bridges", ...configurationColumns.Open_vSwitch],
} as const;

/**
 * The OVS database for the clean-up, made with `open`: served by the Node's ovsdb-server or, if none runs, by a
 * temporary one; without a database file it is empty. Disposal closes the session and ends the temporary server.
 */
export class CleanUpDatabase implements AsyncDisposable {
    readonly #components: { readonly logger: Logger; readonly print: (line: string) => void };
    readonly #session: OvsdbSession | undefined;
    readonly #server: OwnServer | undefined;
    readonly #ovsRunDir: string;

    private constructor(
        components: { readonly logger: Logger; readonly print: (line: string) => void },
        ovsRunDir: string,
        session: OvsdbSession | undefined,
        server: OwnServer | undefined,
    ) {
        this.#ovsRunDir = ovsRunDir;
        this.#components = components;
        this.#session = session;
        this.#server = server;
    }

    /**
     * Connects to the Node's ovsdb-server, or starts a temporary one with the file of OVS; without a file the database
     * is empty. Holds the agent's lock until disposal, unless forced, so that no agent starts meanwhile.
     *
     * @throws CleanUpError `AGENT_RUNNING` unless forced: an agent holds the lock of the database; `NO_DATABASE`: the
     *   temporary server cannot serve the file
     */
    static async open(
        components: { readonly logger: Logger; readonly print: (line: string) => void },
        options: { readonly stateFolder: string; readonly runFolder: string; readonly force: boolean },
    ): Promise<CleanUpDatabase> {
        const { logger } = components;
        const ovsRunDir = join(options.runFolder, "openvswitch");
        const session = await connect(logger, join(ovsRunDir, "db.sock"), options.force);
        if (session !== undefined) return new CleanUpDatabase(components, ovsRunDir, session, undefined);
        // Upstream Antrea (Go) keeps it beside its sockets.
        const files = [`${options.stateFolder}/openvswitch/conf.db`, join(ovsRunDir, "conf.db")];
        const file = files.find((one) => existsSync(one));
        if (file === undefined) return new CleanUpDatabase(components, ovsRunDir, undefined, undefined);
        const server = await OwnServer.start(file);
        try {
            const own = await connect(logger, server.socket, options.force);
            if (own !== undefined) return new CleanUpDatabase(components, ovsRunDir, own, server);
        } catch (error) {
            await server[Symbol.asyncDispose]();
            throw error;
        }
        await server[Symbol.asyncDispose]();
        throw new CleanUpError("NO_DATABASE", "environment", `ovsdb-server cannot serve ${file}: ${server.errors}`);
    }

    /**
     * The directory with db.sock of the server in use; without a database that of the Node's OVS, which has no server.
     */
    get runDir(): string {
        return this.#server === undefined ? this.#ovsRunDir : dirname(this.#server.socket);
    }

    /** Whether OVS runs on the Node or the database has bridges of other owners. */
    get isNeeded(): boolean {
        return this.whyNeeded !== undefined;
    }

    /** Why the database is needed, for messages; undefined if it is not. */
    get whyNeeded(): string | undefined {
        if (this.#session === undefined) return undefined;
        if (this.#server === undefined) return "an ovsdb-server runs with it";
        const names = this.otherBridges();
        return names.length === 0 ? undefined : `it has other bridges (${names.join(", ")})`;
    }

    /** Whether the Node's own ovsdb-server serves the database, so that an ovs-vswitchd may apply its contents. */
    get isServed(): boolean {
        return this.#session !== undefined && this.#server === undefined;
    }

    /** The names of bridges of other owners. */
    otherBridges(): readonly string[] {
        const own = new Set(this.#ownBridges().map(({ id }) => id));
        return [...(this.#session?.rows("Bridge") ?? [])].flatMap(([id, row]) =>
            own.has(id) ? [] : [textOf(row, "name")],
        );
    }

    /**
     * The names of bridge and gateway, from the database if possible. Otherwise the fallback, if Antrea is known to
     * have been on this Node, since other plugins use the same names. Undefined if nothing is known to be the agent's.
     */
    names(fallback: DeviceNames, isAntreaKnown: boolean): DeviceNames | undefined {
        const own = this.#ownBridges().find(({ isSecondary }) => !isSecondary);
        if (own === undefined) {
            return isAntreaKnown && !this.otherBridges().includes(fallback.bridge) ? fallback : undefined;
        }
        const gateway = own.ports.find(({ type }) => type === "gateway");
        return { bridge: own.name, gateway: gateway?.name ?? fallback.gateway };
    }

    /** The names of the bridges of networks other than the Pod network, and of their NICs. */
    secondaryBridges(): readonly string[] {
        return this.#ownBridges().flatMap(({ name, isSecondary }) => (isSecondary ? [name] : []));
    }

    /** The names of the NICs that are ports of bridges of networks other than the Pod network. */
    secondaryNics(): readonly string[] {
        const secondary = this.#ownBridges().filter(({ isSecondary }) => isSecondary);
        return secondary.flatMap(({ ports }) => ports.flatMap(({ name, isNic }) => (isNic ? [name] : [])));
    }

    /** The names of the host ends of Pods' links, as far as the database has them. */
    podLinks(): readonly string[] {
        return this.#ownBridges().flatMap(({ ports }) => ports.flatMap(({ name, isPod }) => (isPod ? [name] : [])));
    }

    /**
     * Removes the bridges of the agent with their ports; those of other owners are kept. Resolves with the removed
     * ones, as text for users, when ovs-vswitchd has released the devices or was silent for 10 s (printed). Rejects
     * with OvsdbError.
     */
    async removeBridges(): Promise<readonly string[]> {
        const session = this.#session;
        const own = this.#ownBridges();
        if (session === undefined || own.length === 0) return [];
        const uuids = set(...own.map(({ id }) => uuid(id)));
        await session.transact([mutate("Open_vSwitch", [], [["bridges", "delete", uuids]])]);
        if (this.isServed) {
            try {
                await vswitchdAck(session);
            } catch (error) {
                this.#components.print(`ovs-vswitchd does not answer, going on without it: ${messageOf(error)}`);
            }
        }
        return own.map(({ name, ports }) => `bridge ${name} with ${ports.length} ports from the database of OVS`);
    }

    /** Closes the session and ends the temporary server. */
    async [Symbol.asyncDispose](): Promise<void> {
        await this.#session?.close();
        await this.#server?.[Symbol.asyncDispose]();
    }

    /** Bridges that the agent has marked, or that have a port which it has marked. */
    #ownBridges(): readonly OwnBridge[] {
        const bridges = this.#session?.rows("Bridge") ?? new Map<string, Row>();
        return [...bridges].flatMap(([id, row]) => {
            const rows = this.#session?.rows("Port");
            const ports = referencesOf(row, "ports").flatMap((port) => {
                const found = rows?.get(port);
                if (found === undefined) return [];
                const ids = textMapOf(found, "external_ids");
                const isPod = ids.has("container-id");
                const isNic = ids.has(secondaryBridgeKey);
                return [{ name: textOf(found, "name"), type: ids.get("antrea-type"), isPod, isNic }];
            });
            const isMarked = ports.some(({ type, isPod }) => type !== undefined || isPod);
            const ids = textMapOf(row, "external_ids");
            const isSecondary = ids.has(secondaryBridgeKey) || ids.has(nicBridgeKey);
            const isOwn = isMarked || isSecondary || ids.has(roundsKey);
            return isOwn ? [{ id, name: textOf(row, "name"), isSecondary, ports }] : [];
        });
    }
}

interface OwnBridge {
    readonly id: string;
    readonly name: string;
    /** It is of networks other than the Pod network, or of a NIC of such a bridge. */
    readonly isSecondary: boolean;
    readonly ports: readonly {
        readonly name: string;
        readonly type: string | undefined;
        /** It is the host end of a Pod's veth pair. */
        readonly isPod: boolean;
        /** It is a NIC of the bridge of networks. */
        readonly isNic: boolean;
    }[];
}

/** Undefined if no server listens there. */
async function connect(logger: Logger, socketPath: string, force: boolean): Promise<OvsdbSession | undefined> {
    if (!existsSync(socketPath)) return undefined;
    // Held until the end, so that no agent starts concurrently.
    const lock = force ? {} : { lock: "antrea_agent" };
    const session = new OvsdbSession({ logger }, { socketPath, monitor: columns, ...lock });
    session.start(new AbortController().signal);
    try {
        await withTimeout((signal) => session.ready(signal), connectTimeoutMs);
    } catch {
        await session.close();
        return undefined;
    }
    if (force) return session;
    try {
        await withTimeout((signal) => session.lockAcquired(signal), lockTimeoutMs);
    } catch (cause) {
        await session.close();
        throw agentRunning(cause);
    }
    return session;
}
