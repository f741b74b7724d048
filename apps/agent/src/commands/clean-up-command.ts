import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "@antrea/errors";
import { Netlink } from "@antrea/netlink";
import { createLogger } from "@antrea/runtime";
import {
    antreaRouteProtocol,
    podRouteProtocol,
    proxyRouteProtocol,
    serviceRouteProtocol,
} from "../platform/kernel-ids.ts";
import { cleanUp, removeChains } from "./clean-up/index.ts";
import { NodeSysctls } from "../platform/host/gateway/index.ts";
import { legacyTablesHere, removeFirewallRules } from "../features/host-filter/firewall/index.ts";
import { guardTableName } from "../features/host-filter/input-filter/index.ts";
import { tableName as serviceTableName } from "../features/host-services/index.ts";
import { tableName } from "../features/masquerade/index.ts";
import { runProgram } from "../platform/program.ts";
import { restoreUplink } from "../platform/host/uplink/index.ts";
import { containerOfAlias } from "../platform/pod-interfaces/index.ts";

const usage = `antrea-agent clean-up [--force] [--host DIR]
Removes everything of Antrea from this Node after Antrea is uninstalled: CNI configuration and binaries, bridge and
ports, the links of Pods, routes, rules of nftables and iptables, and the files of agent and OVS; also of Antrea in Go, but
for its routes and ipsets. Running it again does no harm. Exit code 0: nothing is left.
  --force      also while an agent runs on this Node
  --host DIR   where the Node's /etc/cni/net.d, /opt/cni/bin, /var/lib/antrea and /var/run/antrea are mounted, by the
               same paths below it; default /host
  --bridge, --gateway NAME   when no database has these names; default br-int and antrea-gw0, where the CNI
               configuration, /var/lib/antrea or links of Pods show that Antrea was on this Node`;

const options = {
    force: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
    host: { type: "string", default: "/host" },
    bridge: { type: "string" },
    gateway: { type: "string" },
    // The directory of the CNI binaries in the image.
    binaries: { type: "string", default: "/usr/local/lib/antrea/cni-bin" },
} as const;

/**
 * Implements "antrea-agent clean-up"; `args` are the words after that. Never rejects: `print` gets each line of output
 * (default: standard output), errors go to standard error. Resolves with the exit code: 0 if nothing is left on the
 * Node, and for --help; else 1.
 */
export async function cleanUpCommand(
    args: readonly string[],
    print = (line: string): void => void process.stdout.write(`${line}\n`),
): Promise<number> {
    try {
        const { values } = parseArgs({ args: [...args], options });
        if (values.help) {
            print(usage);
            return 0;
        }
        const { host, force } = values;
        const folder = join(host, "var/lib/antrea");
        const runFolder = join(host, "var/run/antrea");
        const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
        const logger = createLogger({ module: "clean-up", level: "error" });
        using netlink = Netlink.open();
        const isComplete = await cleanUp(
            {
                netlink,
                logger,
                print,
                run: runProgram,
                restoreUplink: async (ovsRunDir) => {
                    const lines: string[] = [];
                    const restored = await restoreUplink({
                        folder,
                        bootId,
                        logger,
                        ovsRunDir,
                        print: (line) => void lines.push(line),
                        databaseFile: join(folder, "openvswitch/conf.db"),
                        // The lock is held already.
                        force: true,
                    });
                    if (restored) for (const line of lines) print(line);
                },
                removeFirewallRules: () => removeFirewallRules({ run: runProgram }),
                removeChains: () => removeChains({ run: runProgram, legacyTables: legacyTablesHere }),
                restoreSysctls: () => new NodeSysctls({ logger }, { folder, bootId }).restore(),
                isPodLink: ({ kind, alias }) => kind === "veth" && containerOfAlias(alias) !== undefined,
            },
            {
                force,
                stateFolder: folder,
                runFolder,
                cniConfFolder: join(host, "etc/cni/net.d"),
                conflist: "10-antrea.conflist",
                cniBinFolder: join(host, "opt/cni/bin"),
                ownBinFolder: values.binaries,
                names: { bridge: values.bridge ?? "br-int", gateway: values.gateway ?? "antrea-gw0" },
                isNamed: values.bridge !== undefined || values.gateway !== undefined,
                routeProtocols: [antreaRouteProtocol, podRouteProtocol, serviceRouteProtocol, proxyRouteProtocol],
                nftTables: [
                    ...["inet", "ip", "ip6"].map((family) => `${family} ${tableName}`),
                    `inet ${serviceTableName}`,
                    `inet ${guardTableName}`,
                    `arp ${guardTableName}`,
                ],
            },
        );
        return isComplete ? 0 : 1;
    } catch (error) {
        process.stderr.write(`clean-up: ${messageOf(error)}\n`);
        return 1;
    }
}
