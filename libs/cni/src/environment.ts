import { CniCallError } from "./errors.ts";
import { type CniCmdArgs } from "./messages.ts";
import { containerIdFault, ifnameFault, invalidVariable } from "./names.ts";
import { shown } from "./shown.ts";
import { type CniCommand } from "./versions.ts";

/** The call of a plugin by a runtime, from its environment variables (CNI specification, section "Parameters"). */
export interface Invocation {
    readonly command: CniCommand;
    /** All but the configuration, which comes on standard input. A variable that is not set is an empty text. */
    readonly args: Omit<CniCmdArgs, "networkConfiguration">;
}

const required: Readonly<Record<CniCommand, readonly string[]>> = {
    ADD: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
    CHECK: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
    // The namespace of a DEL may not exist any longer.
    DEL: ["CNI_CONTAINERID", "CNI_IFNAME"],
    GC: [],
    STATUS: [],
    VERSION: [],
};

/**
 * Parses and checks the environment of a CNI plugin. ADD and CHECK require CNI_CONTAINERID, CNI_NETNS and CNI_IFNAME,
 * DEL all but CNI_NETNS; of GC, STATUS and VERSION only CNI_COMMAND is checked. CNI_ARGS stays text (`parseCniArgs`).
 * Throws `CniCallError` INVALID_ENVIRONMENT_VARIABLES with variable, value and rule in its message, or with all missing
 * variables.
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

/**
 * Checks container id and interface name against the rules of the CNI specification and the kernel. The agent applies
 * them too, since other programs than the CNI binary may call it. Throws `CniCallError` INVALID_ENVIRONMENT_VARIABLES.
 */
export function checkAttachment(args: Pick<CniCmdArgs, "containerId" | "ifname">): void {
    const idFault = containerIdFault(args.containerId);
    if (idFault !== undefined) throw invalidVariable("CNI_CONTAINERID", args.containerId, idFault);
    const nameFault = ifnameFault(args.ifname);
    if (nameFault !== undefined) throw invalidVariable("CNI_IFNAME", args.ifname, nameFault);
}

function isCommand(text: string): text is CniCommand {
    return Object.hasOwn(required, text);
}
