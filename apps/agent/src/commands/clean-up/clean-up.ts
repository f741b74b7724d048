import { existsSync } from "node:fs";
import { messageOf } from "@antrea/errors";
import type { Link, Netlink } from "@antrea/netlink";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import type { Logger } from "@antrea/runtime";
import type { RunProgram } from "../../platform/program.ts";
import { CleanUpDatabase } from "./database.ts";
import { agentRunning } from "./errors.ts";
import { removeBridgeDevices, removeDatapathPorts, removeDevices, type DeviceNames } from "./devices.ts";
import { configurations, hasOther, isListening, removeBinaries, removeConfiguration, removeFolder } from "./files.ts";
import { PartlyRemovedError } from "../../platform/partly-removed.ts";

/**
 * Dependencies of cleanUp; the caller closes them. Functions that remove something reject if a part remains: the error
 * is printed, and of PartlyRemovedError also what was removed.
 */
export interface CleanUpComponents {
    readonly netlink: Netlink;
    readonly run: RunProgram;
    readonly logger: Logger;
    /** Prints a line of output for the user. */
    readonly print: (line: string) => void;
    /**
     * Restores the NICs that bridging mode and the secondary bridge have moved, if any. The database is at db.sock in `ovsRunDir`, if it exists.
     * After a rejection only the CNI configuration is removed.
     */
    readonly restoreUplink: (ovsRunDir: string) => Promise<void>;
    /** Removes the agent's rules from the Node's firewall; resolves with what was removed, as text for users. */
    readonly removeFirewallRules: () => Promise<readonly string[]>;
    /**
     * Removes the chains of upstream Antrea (Go) from the Node's firewall; resolves with what was removed, as text for
     * users.
     */
    readonly removeChains: () => Promise<readonly string[]>;
    /** Restores sysctls of the Node as far as their previous values are known; returns their names. */
    readonly restoreSysctls: () => readonly string[];
    /** Whether a link is the host end of a Pod's veth pair. */
    readonly isPodLink: (link: Link) => boolean;
}

/** Options of cleanUp. Folders are paths in this container; one that does not exist counts as empty. */
export interface CleanUpOptions {
    /** Runs even while an agent is running. */
    readonly force: boolean;
    /** /var/lib/antrea of the Node as mounted here; its `openvswitch` has the OVS database. */
    readonly stateFolder: string;
    /** /var/run/antrea of the Node as mounted here; its `openvswitch` has the OVS sockets. */
    readonly runFolder: string;
    /** The Node's CNI configuration directory. */
    readonly cniConfFolder: string;
    /** File name of the agent's configuration in `cniConfFolder`. */
    readonly conflist: string;
    /** The Node's CNI binary directory. */
    readonly cniBinFolder: string;
    /** The CNI binaries of this image. */
    readonly ownBinFolder: string;
    /** Names of bridge and gateway if no database has them but Antrea is known to have been on the Node. */
    readonly names: DeviceNames;
    /** The user confirmed that these names are the agent's. */
    readonly isNamed: boolean;
    /** `rtm_protocol` (linux/rtnetlink.h) of the agent's routes and routing rules. */
    readonly routeProtocols: readonly number[];
    /** nftables tables as family and name, such as "inet antrea". */
    readonly nftTables: readonly string[];
}

/**
 * Removes what exists, and prints what it removed; what is gone already counts as removed. A failed step is printed and
 * does not prevent the others; but if the uplink cannot be restored, only the CNI configuration is removed. Resolves
 * with true if all succeeded. Rejects if it cannot begin, also with NetlinkError or the error of node:fs.
 *
 * @throws CleanUpError `AGENT_RUNNING` unless forced: a running agent would recreate everything; `NO_DATABASE`
 */
export async function cleanUp(components: CleanUpComponents, options: CleanUpOptions): Promise<boolean> {
    const { print, logger, netlink, run } = components;
    const { stateFolder, runFolder, force } = options;
    if (!force && (await isListening(`${runFolder}/cni.sock`))) throw agentRunning();
    await using database = await CleanUpDatabase.open({ logger, print }, { stateFolder, runFolder, force });
    let isComplete = true;
    const step = async (what: string, work: () => Promise<readonly string[]>): Promise<void> => {
        try {
            for (const removed of await work()) print(`Removed ${removed}.`);
        } catch (error) {
            isComplete = false;
            if (error instanceof PartlyRemovedError) for (const removed of error.removed) print(`Removed ${removed}.`);
            print(`Cannot remove ${what}: ${messageOf(error)}`);
        }
    };
    const isAntreaKnown = options.isNamed || (await hasTraces(components, options));
    // First, so that the container runtime no longer treats the network as ready.
    await step("the CNI configuration", () => removeConfiguration(options.cniConfFolder, options.conflist));
    try {
        await components.restoreUplink(database.runDir);
    } catch (error) {
        print(`Cannot give the Node its interface back: ${messageOf(error)}`);
        print("Nothing else is removed, because the Node may need it: solve this first.");
        return false;
    }
    const names = database.names(options.names, isAntreaKnown);
    // Links of upstream Antrea (Go) have no mark of their own.
    const podLinks = new Set(database.podLinks());
    const isPodLink = (link: Link): boolean =>
        components.isPodLink(link) || (link.kind === "veth" && podLinks.has(link.name));
    const nics = database.secondaryNics();
    const secondaryBridges = database.secondaryBridges();
    await step("the bridge", () => database.removeBridges());
    await step("settings of NICs", async () => {
        for (const name of nics) {
            const link = await netlink.link(name);
            if (link?.group === podLinkGroup) await netlink.setLink(link.index, { group: 0 });
        }
        return [];
    });
    await step("devices of bridges", () => removeBridgeDevices({ run, netlink }, secondaryBridges));
    await step("ports of the datapath", () => removeDatapathPorts({ run, netlink, isPodLink }, names, database));
    await step("links", () => removeDevices({ netlink, isPodLink }, names, database));
    await step("routes", () => removeRoutes(netlink, options.routeProtocols));
    await step("routing rules", () => removeRules(netlink, options.routeProtocols));
    await step("tables of nftables", () => removeTables(run, options.nftTables));
    await step("rules of the firewall", components.removeFirewallRules);
    await step("chains of iptables", components.removeChains);
    await step("changes of sysctls", async () => {
        const [other] = await configurations(options.cniConfFolder);
        if (other === undefined) return components.restoreSysctls().map((key) => `the change of ${key}`);
        print(`Kept the sysctls as they are: the network of ${other.path} may need them.`);
        return [];
    });
    await step("CNI binaries", () => removeBinaries({ ...options, print }));
    await database[Symbol.asyncDispose]();
    const kept = database.isNeeded ? ["openvswitch"] : [];
    if (kept.length > 0 && isComplete) print(`Kept the database of OVS: ${database.whyNeeded}.`);
    // The contents of these directories identify what could not be removed.
    if (isComplete) {
        await step("state", () => removeFolder(stateFolder, kept));
        await step("sockets", () => removeFolder(runFolder, kept));
    }
    print(isComplete ? "Nothing of Antrea is left on this Node." : "Something is left on this Node: run it again.");
    return isComplete;
}

/**
 * Whether traces of the agent other than its database exist on the Node. Bridge and gateway do not count: other plugins
 * use the same names.
 */
async function hasTraces({ netlink, isPodLink }: CleanUpComponents, options: CleanUpOptions): Promise<boolean> {
    if (existsSync(`${options.cniConfFolder}/${options.conflist}`)) return true;
    // The database may be kept for bridges of other owners.
    if (await hasOther(options.stateFolder, ["openvswitch"])) return true;
    return (await netlink.links()).some(isPodLink);
}

async function removeRoutes(netlink: Netlink, protocols: readonly number[]): Promise<readonly string[]> {
    const own = (await netlink.routes()).filter(({ protocol }) => protocols.includes(protocol));
    await netlink.batch((batch) => {
        for (const { dst, family, dev, via, metric, protocol, table } of own) {
            batch.deleteRoute({ dst, family, dev, via, metric, protocol, table });
        }
    });
    return own.length === 0 ? [] : [`${own.length} routes (proto ${protocols.join(", ")})`];
}

async function removeRules(netlink: Netlink, protocols: readonly number[]): Promise<readonly string[]> {
    const own = (await netlink.rules()).filter(({ protocol }) => protocols.includes(protocol));
    await netlink.batch((batch) => {
        for (const rule of own) batch.deleteRule(rule);
    });
    return own.length === 0 ? [] : [`${own.length} routing rules (proto ${protocols.join(", ")})`];
}

async function removeTables(run: RunProgram, tables: readonly string[]): Promise<readonly string[]> {
    const present = (await run("nft", ["list", "tables"])).split("\n");
    const own = tables.filter((table) => present.includes(`table ${table}`));
    await run("nft", ["-f", "-"], own.map((table) => `delete table ${table}\n`).join(""));
    return own.map((table) => `nftables table ${table}`);
}
