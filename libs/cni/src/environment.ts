import { CniCallError } from "./errors.ts";
import { type CniCmdArgs } from "./messages.ts";
import { containerIdFault, ifnameFault, invalidVariable } from "./names.ts";
import { shown } from "./shown.ts";
import { type CniCommand } from "./versions.ts";

/** What a runtime asks for through the environment of a plugin (CNI specification, section "Parameters"). */
export interface Invocation {
    readonly command: CniCommand;
    /** All but the configuration, which comes on standard input. Variables that are not set are empty. */
    readonly args: Omit<CniCmdArgs, "networkConfiguration">;
}

const required: Readonly<Record<CniCommand, readonly string[]>> = {
    ADD: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
    CHECK: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
    // The namespace of a DEL may be gone.
    DEL: ["CNI_CONTAINERID", "CNI_IFNAME"],
    GC: [],
    STATUS: [],
    VERSION: [],
};

/**
 * Reads and checks the environment. Throws `CniCallError` INVALID_ENVIRONMENT_VARIABLES naming the variable, the value
 * and the rule; all missing variables are named at once.
 */
export function parseEnvironment(environment: Readonly<Record<string, string | undefined>>): Invocation {
    const command = environment["CNI_COMMAND"] ?? "";
    if (!isCommand(command)) {
        throw new CniCallError(
            "INVALID_ENVIRONMENT_VARIABLES",
            "caller",
            command === ""
                ? "CNI_COMMAND is not set: this program is a CNI plugin, started by the container runtime"
                : `CNI_COMMAND: ${shown(command)} is none of ${Object.keys(required).join(", ")}`,
        );
    }
    const missing = required[command].filter((name) => (environment[name] ?? "") === "");
    if (missing.length > 0) {
        throw new CniCallError(
            "INVALID_ENVIRONMENT_VARIABLES",
            "caller",
            `${missing.join(", ")} must be set for ${command}`,
        );
    }
    const args = {
        containerId: environment["CNI_CONTAINERID"] ?? "",
        netns: environment["CNI_NETNS"] ?? "",
        ifname: environment["CNI_IFNAME"] ?? "",
        args: environment["CNI_ARGS"] ?? "",
        path: environment["CNI_PATH"] ?? "",
    };
    if (required[command].length > 0) checkAttachment(args);
    return { command, args };
}

/** The rules for container id and interface name, which the agent applies too: its callers are not only our binary. */
export function checkAttachment(args: Pick<CniCmdArgs, "containerId" | "ifname">): void {
    const idFault = containerIdFault(args.containerId);
    if (idFault !== undefined) throw invalidVariable("CNI_CONTAINERID", args.containerId, idFault);
    const nameFault = ifnameFault(args.ifname);
    if (nameFault !== undefined) throw invalidVariable("CNI_IFNAME", args.ifname, nameFault);
}

function isCommand(text: string): text is CniCommand {
    return Object.hasOwn(required, text);
}
