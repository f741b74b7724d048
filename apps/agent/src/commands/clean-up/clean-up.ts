import { existsSync } from "node:fs";
import { messageOf } from "@antrea/errors";
import type { Link, Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { RunProgram } from "../../platform/program.ts";
import { CleanUpDatabase } from "./database.ts";
import { agentRunning } from "./errors.ts";
import { removeDatapathPorts, removeDevices, type DeviceNames } from "./devices.ts";
import { configurations, hasOther, isListening, removeBinaries, removeConfiguration, removeFolder } from "./files.ts";
import { PartlyRemovedError } from "../../platform/partly-removed.ts";

export interface CleanUpComponents {
    readonly netlink: Netlink;
    readonly run: RunProgram;
    readonly logger: Logger;
    /** Takes each line for the person who gave the command. */
    readonly print: (line: string) => void;
    /** Gives the Node the NIC back that bridging mode has moved, unless there is none. The database is at db.sock in `ovsRunDir`. */
    readonly restoreUplink: (ovsRunDir: string) => Promise<void>;
    /** Removes the agent's rules from the Node's firewall; gives what was removed. */
    readonly removeFirewallRules: () => Promise<readonly string[]>;
    /** Removes the chains of Antrea in Go from the Node's firewall; gives what was removed. */
    readonly removeChains: () => Promise<readonly string[]>;
    /** Sets sysctls of the Node back as far as it is known what they were; gives their names. */
    readonly restoreSysctls: () => readonly string[];
    /** Whether a link is the host end of a Pod's. */
    readonly isPodLink: (link: Link) => boolean;
}

export interface CleanUpOptions {
    /** Also while an agent runs. */
    readonly force: boolean;
    /** /var/lib/antrea of the Node as mounted here; `openvswitch` in it has the database of OVS. */
    readonly stateFolder: string;
    /** /var/run/antrea of the Node as mounted here; `openvswitch` in it has the sockets of OVS. */
    readonly runFolder: string;
    /** The Node's folder of CNI configurations, and the names of the files of ours in it. */
    readonly cniConfFolder: string;
    readonly conflist: string;
    /** The Node's folder of CNI binaries. */
    readonly cniBinFolder: string;
    /** The binaries of this image. */
    readonly ownBinFolder: string;
    /** How bridge and gateway are called when no database says so, but something else says that Antrea was here. */
    readonly names: DeviceNames;
    /** A person says that these names are the agent's. */
    readonly isNamed: boolean;
    /** `rtm_protocol` of the agent's routes. */
    readonly routeProtocols: readonly number[];
    /** Tables of nftables, as "inet antrea". */
    readonly nftTables: readonly string[];
}

/**
 * Removes what is there, and prints what it removed; what is gone already is a success. A step that fails is printed and
 * does not keep the others from theirs. True when all succeeded.
 *
 * @throws CleanUpError `AGENT_RUNNING` unless forced: a running agent would make everything again
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
    // First: a container runtime must not take the network for ready any more.
    await step("the CNI configuration", () => removeConfiguration(options.cniConfFolder, options.conflist));
    try {
        await components.restoreUplink(database.runDir);
    } catch (error) {
        print(`Cannot give the Node its interface back: ${messageOf(error)}`);
        print("Nothing else is removed, because the Node may need it: solve this first.");
        return false;
    }
    const names = database.names(options.names, isAntreaKnown);
    // Links of Antrea in Go have no mark of their own.
    const podLinks = new Set(database.podLinks());
    const isPodLink = (link: Link): boolean =>
        components.isPodLink(link) || (link.kind === "veth" && podLinks.has(link.name));
    await step("the bridge", () => database.removeBridges());
    await step("ports of the datapath", () => removeDatapathPorts({ run, netlink, isPodLink }, names, database));
    await step("links", () => removeDevices({ netlink, isPodLink }, names, database));
    await step("routes", () => removeRoutes(netlink, options.routeProtocols));
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
    // What could not be removed is found again by what these folders say.
    if (isComplete) {
        await step("state", () => removeFolder(stateFolder, kept));
        await step("sockets", () => removeFolder(runFolder, kept));
    }
    print(isComplete ? "Nothing of Antrea is left on this Node." : "Something is left on this Node: run it again.");
    return isComplete;
}

/**
 * Whether something of the agent but its database is on the Node. Bridge and gateway are no such thing: other plugins have
 * some of these names.
 */
async function hasTraces({ netlink, isPodLink }: CleanUpComponents, options: CleanUpOptions): Promise<boolean> {
    if (existsSync(`${options.cniConfFolder}/${options.conflist}`)) return true;
    // The database may be kept for bridges of others.
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

async function removeTables(run: RunProgram, tables: readonly string[]): Promise<readonly string[]> {
    const present = (await run("nft", ["list", "tables"])).split("\n");
    const own = tables.filter((table) => present.includes(`table ${table}`));
    await run("nft", ["-f", "-"], own.map((table) => `delete table ${table}\n`).join(""));
    return own.map((table) => `nftables table ${table}`);
}
