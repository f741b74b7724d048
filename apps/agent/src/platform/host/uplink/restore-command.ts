import { uptime } from "node:os";
import { join } from "node:path";
import { withTimeout } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { Netlink } from "@antrea/netlink";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { type Logger } from "@antrea/runtime";
import { bringBackByLinks } from "./adopt.ts";
import { UplinkError } from "./errors.ts";
import type { JournalEntry } from "./journal-codec.ts";
import { Journal } from "./journal.ts";
import { movedNics, nicFolder } from "./nic-folders.ts";
import { portColumns, removeByServer, removeFromFile } from "./port-rows.ts";
import { freeFromDatapath, Rollback } from "./rollback.ts";
import { bootContextOf } from "./boot-context.ts";

/** Options of `restoreUplink`. */
export interface RestoreUplinkOptions {
    /** Directory of the journal of bridging mode, with those of other NICs below it. */
    readonly folder: string;
    /** /proc/sys/kernel/random/boot_id. */
    readonly bootId: string;
    /** Directory of db.sock. */
    readonly ovsRunDir: string;
    /** Path of conf.db, used while no server runs. */
    readonly databaseFile: string;
    /** Runs even while an agent holds the lock of the database. */
    readonly force: boolean;
    /** Prints a line of output for the user. */
    readonly print: (line: string) => void;
    readonly logger: Logger;
}

const agentLock = "antrea_agent";
const connectTimeoutMs = 2_000;
const lockTimeoutMs = 1_000;

/**
 * Implements `antrea-agent restore-uplink`: restores the Node's NICs, with or without OVS. Returns true if there was
 * something to restore: ports that cannot be removed from OVS are only printed then. Without it, it rejects if leftover
 * ports cannot be removed, e.g. with UplinkError `DATABASE_UNREACHABLE`. Rejects otherwise as Rollback's `run`.
 *
 * @throws UplinkError `AGENT_RUNNING` unless forced: a running agent would repeat the move
 */
export async function restoreUplink(options: RestoreUplinkOptions): Promise<boolean> {
    const { print, logger, folder } = options;
    await using database = await Database.open(options);
    using netlink = Netlink.open();
    const here = await bootContextOf(options.bootId);
    // Only those of the NIC that is restored: others still need theirs.
    const removePorts = async (names: readonly string[]): Promise<boolean> => {
        try {
            for (const name of await database.removePorts(names)) print(`Port ${name} taken out of the OVS database.`);
            return true;
        } catch (error) {
            print(`The ports stay in the OVS database: ${messageOf(error)}`);
            return false;
        }
    };
    const rollbackBy = (journal: Journal): Rollback =>
        new Rollback({ netlink, logger, journal, freeFromDatapath, uptimeSeconds: uptime, removePorts });
    const begin = ({ name, physicalName }: JournalEntry): void =>
        print(`${name} is moved to the bridge, the NIC is named ${physicalName}: bringing it back.`);
    const end = (name: string): void => print(`${name} is the NIC again, with its addresses and routes.`);
    const own = new Journal({ logger }, { folder });
    const ofNics = movedNics(folder).map((nic) => new Journal({ logger }, { folder: nicFolder(folder, nic) }));
    let isRestored = false;
    const failures: unknown[] = [];
    for (const journal of [own, ...ofNics]) {
        const entry = await journal.read();
        if (entry === undefined) continue;
        isRestored = true;
        begin(entry);
        try {
            await rollbackBy(journal).run(entry, here);
            end(entry.name);
        } catch (error) {
            // One NIC must not keep the others from being restored.
            failures.push(error);
        }
    }
    if (failures.length > 0) throw failures[0];
    // Without a journal, or with one that refers to links that no longer exist.
    const parts = { netlink, rollback: rollbackBy(own), uptimeSeconds: uptime };
    const names = await bringBackByLinks(parts, here, begin);
    for (const name of names) end(name);
    // Those that could not be decoded.
    for (const journal of ofNics) await journal.removeAnyway();
    if (isRestored || names.length > 0) return true;
    print(`Nothing to restore: ${own.path} is not there, and no link appears to be a NIC that was moved.`);
    for (const name of await database.removePorts()) print(`Port ${name} was left in the OVS database: removed.`);
    return false;
}

/** The OVS database, through its server or as a file. */
class Database implements AsyncDisposable {
    readonly #session: OvsdbSession | undefined;
    readonly #file: string;
    readonly #logger: Logger;

    private constructor(session: OvsdbSession | undefined, file: string, logger: Logger) {
        this.#session = session;
        this.#file = file;
        this.#logger = logger;
    }

    static async open({ ovsRunDir, databaseFile, force, logger, print }: RestoreUplinkOptions): Promise<Database> {
        const session = new OvsdbSession(
            { logger },
            {
                socketPath: join(ovsRunDir, "db.sock"),
                monitor: portColumns,
                // Held meanwhile, so that no agent starts concurrently.
                ...(force ? {} : { lock: agentLock }),
            },
        );
        session.start(new AbortController().signal);
        try {
            await withTimeout((signal) => session.ready(signal), connectTimeoutMs);
        } catch {
            await session.close();
            print(`ovsdb-server does not answer at ${join(ovsRunDir, "db.sock")}: going by ${databaseFile}.`);
            return new Database(undefined, databaseFile, logger);
        }
        if (!force) {
            try {
                await withTimeout((signal) => session.lockAcquired(signal), lockTimeoutMs);
            } catch (cause) {
                await session.close();
                throw new UplinkError(
                    "AGENT_RUNNING",
                    "caller",
                    "an antrea-agent runs on this Node and takes care of the uplink; stop it first (it brings the NIC back itself), or use --force",
                    { cause },
                );
            }
        }
        return new Database(session, databaseFile, logger);
    }

    removePorts(names?: readonly string[]): Promise<readonly string[]> {
        const session = this.#session;
        if (session === undefined) return removeFromFile(this.#file, names);
        return removeByServer(session, this.#logger, names);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#session?.close();
    }
}
