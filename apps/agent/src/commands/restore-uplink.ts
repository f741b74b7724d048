import { parseArgs } from "node:util";
import { messageOf } from "@antrea/errors";
import { createLogger } from "@antrea/runtime";
import { readEnvironment } from "../platform/environment.ts";
import { restoreUplink } from "../platform/host/uplink/index.ts";

const usage = `antrea-agent restore-uplink [--force] [--ovs-run-dir DIR] [--ovs-database FILE]
Gives the Node the interfaces back that bridging mode and the secondary bridge have connected to OVS; works when OVS is
down.
  --force              also while an agent runs on this Node`;

/**
 * Implements "antrea-agent restore-uplink"; `args` are the words after that. Never rejects: errors go to standard
 * error. Resolves with the exit code: 0 if the Node has its interfaces, also if there was nothing to restore, and for
 * --help; else 1.
 */
export async function restoreUplinkCommand(args: readonly string[]): Promise<number> {
    const print = (line: string): void => void process.stdout.write(`${line}\n`);
    try {
        const { values } = parseArgs({
            args: [...args],
            options: {
                force: { type: "boolean", default: false },
                help: { type: "boolean", default: false },
                "ovs-run-dir": { type: "string", default: "/var/run/openvswitch" },
                "ovs-database": { type: "string", default: "/etc/openvswitch/conf.db" },
            },
        });
        if (values.help) {
            print(usage);
            return 0;
        }
        const { stateFolder, bootId } = readEnvironment("/etc/antrea/antrea-agent.conf", process.env);
        await restoreUplink({
            folder: stateFolder,
            bootId,
            force: values.force,
            print,
            ovsRunDir: values["ovs-run-dir"],
            databaseFile: values["ovs-database"],
            logger: createLogger({ module: "restore-uplink", level: "warn" }),
        });
        return 0;
    } catch (error) {
        process.stderr.write(`restore-uplink: ${messageOf(error)}\n`);
        return 1;
    }
}
