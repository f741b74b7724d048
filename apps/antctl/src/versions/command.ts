import { Command, Option } from "commander";
import { failureOf, type CommandContext } from "../program/index.ts";
import { version } from "../version.ts";
import { componentsOf, renderVersion, type VersionReport } from "./report.ts";

/**
 * Makes the command `antctl version`, which prints a VersionReport. If the cluster cannot be read, it writes the reason
 * to standard error, and the exit code is still 0.
 */
export function versionCommand(context: CommandContext): Command {
    const command = new Command("version")
        .summary("show the versions of antctl and of Antrea in the cluster")
        .description(
            "Shows the version of antctl, and those of the images that antrea-controller, antrea-agent and antrea-webhook " +
                "run from. If the cluster cannot be reached, the reason is written to standard error, and the exit code is still 0.",
        )
        .addOption(new Option("--client", "the version of antctl only, without asking a cluster"))
        .action(async ({ client = false }: { readonly client?: boolean }) => {
            const report: VersionReport = client ? { version } : await ask(context, command);
            if (report.problem !== undefined) {
                context.note(`the versions of the cluster are not known: ${report.problem}`);
            }
            context.print(command, report, renderVersion);
        });
    return command;
}

async function ask(context: CommandContext, command: Command): Promise<VersionReport> {
    try {
        using session = context.session(command);
        return { version, components: await componentsOf(session.cluster) };
    } catch (error) {
        return { version, problem: failureOf(error).what };
    }
}
