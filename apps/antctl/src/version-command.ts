import { Command } from "commander";
import { type CommandContext } from "./program/index.ts";
import { version } from "./version.ts";

/** `antctl version` */
export function versionCommand(context: CommandContext): Command {
    const command = new Command("version").summary("show the version of antctl").action(() => {
        context.print(command, { version }, (report) => `antctl ${report.version}`);
    });
    return command;
}
