import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { AntreaError } from "@antrea/errors";

class EnvironmentError extends AntreaError<"BAD_FILE_MODE"> {}

/** Settings of the process that come from its environment rather than from antrea-agent.conf; see `readEnvironment`. */
export interface AgentEnvironment {
    /** Name of the Node object of this agent. */
    readonly nodeName: string;
    /** Name of the agent's Pod. */
    readonly podName: string;
    readonly podNamespace: string;
    /** /proc/sys/kernel/random/boot_id: changes with each boot of the Node. */
    readonly bootId: string;
    /** A directory of the Node that outlives the agent's Pod. */
    readonly stateFolder: string;
    /** The Node's CNI configuration directory as mounted here. */
    readonly cniConfFolder: string;
    /** Mode of the files that the agent writes there. */
    readonly cniConfMode: number;
    /** Text of antrea-cni.conflist, for 10-antrea.conflist; undefined without that file: the default is used. */
    readonly conflist: string | undefined;
}

/**
 * Reads the environment variables of upstream Antrea: NODE_NAME and POD_NAME (default: the host name), POD_NAMESPACE
 * (kube-system), for which an empty text counts as missing; ANTREA_STATE_DIR (/var/lib/antrea), CNI_CONF_DIR
 * (/host/etc/cni/net.d), CONFIG_FILE_MODE (644); further the boot ID, and antrea-cni.conflist beside the file
 * `configPath`. Throws EnvironmentError `BAD_FILE_MODE`, or the error of node:fs for a file that cannot be read.
 */
export function readEnvironment(configPath: string, env: NodeJS.ProcessEnv): AgentEnvironment {
    return {
        nodeName: nameOf(env["NODE_NAME"], hostname()),
        podName: nameOf(env["POD_NAME"], hostname()),
        podNamespace: nameOf(env["POD_NAMESPACE"], "kube-system"),
        bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
        stateFolder: env["ANTREA_STATE_DIR"] ?? "/var/lib/antrea",
        cniConfFolder: env["CNI_CONF_DIR"] ?? "/host/etc/cni/net.d",
        cniConfMode: fileMode(env["CONFIG_FILE_MODE"] ?? "644"),
        conflist: readIfThere(join(dirname(configPath), "antrea-cni.conflist")),
    };
}

/** No object has an empty name. */
function nameOf(text: string | undefined, other: string): string {
    return text === undefined || text === "" ? other : text;
}

function fileMode(text: string): number {
    if (/^0?[0-7]{3}$/.test(text)) return Number.parseInt(text, 8);
    throw new EnvironmentError(
        "BAD_FILE_MODE",
        "caller",
        `CONFIG_FILE_MODE is ${JSON.stringify(text)}: it must be a file mode of three octal digits, like 644`,
    );
}

function readIfThere(path: string): string | undefined {
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
