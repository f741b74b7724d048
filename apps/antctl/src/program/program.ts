import { Command, Option, type CommanderError } from "commander";
import { formats } from "../output/index.ts";
import { exitOk, exitUsage } from "./failure.ts";
import { version } from "../version.ts";
import { readTimeout, type GlobalOptions } from "./options.ts";

/** The name of the program in help and errors, and where help and errors of parsing are written. */
export interface ProgramOptions {
    /** The command name: `antctl`, or `kubectl antrea`. */
    readonly name: string;
    readonly writeOut: (text: string) => void;
    readonly writeErr: (text: string) => void;
}

const helpWidth = 100;

/**
 * Makes the root command with the global options (`GlobalOptions`) and `--version`. The caller adds the commands and
 * then calls `settle`.
 */
export function createProgram(name: string): Command {
    return new Command(name)
        .description("Shows and explains the state of Antrea in a cluster.")
        .version(`antctl ${version}`, "--version", "show the version of antctl")
        .addOption(new Option("--kubeconfig <FILE>", "default: KUBECONFIG, ~/.kube/config, the service account"))
        .addOption(new Option("--context <NAME>", "context of the kubeconfig (default: its current one)"))
        .addOption(new Option("-n, --namespace <NAME>", "Namespace of what is named (default: that of the context)"))
        .addOption(
            new Option("--request-timeout <DURATION>", "limit of each request, such as 30s or 1m; 0 is none")
                .argParser(readTimeout)
                .default(30_000, "30s"),
        )
        .addOption(new Option("-o, --output <FORMAT>", "how results are written").choices(formats).default("table"));
}

/**
 * Configures all commands: where and how they write help and errors of parsing, and that parsing throws CommanderError
 * instead of exiting. Called once, after all commands are added.
 */
export function settle(program: Command, { name, writeOut, writeErr }: ProgramOptions): void {
    const visit = (command: Command, path: string): void => {
        command
            .helpCommand(false)
            .helpOption("-h, --help", "show this help")
            .configureHelp({ showGlobalOptions: true, helpWidth })
            .configureOutput({
                writeOut,
                writeErr,
                // The default reads process.stdout, see standard-streams.ts.
                getOutHelpWidth: () => helpWidth,
                getErrHelpWidth: () => helpWidth,
                getOutHasColors: () => false,
                getErrHasColors: () => false,
                // One line: the error, with commander's "(Did you mean …?)".
                outputError: (text, write) => {
                    write(`${text.trim().replaceAll(/\s*\n\s*/g, " ")}\n  next: run "${path} --help"\n`);
                },
            })
            .exitOverride();
        for (const each of command.commands) visit(each, `${path} ${each.name()}`);
    };
    visit(program, name);
}

/**
 * The exit code for an error of commander: exitUsage, or exitOk after help or the version, which it reports as an error
 * too.
 */
export function exitCodeOf(error: CommanderError): number {
    return error.exitCode === 0 ? exitOk : exitUsage;
}

/**
 * The global options of the command line, with defaults, wherever on it they were typed. Call it when parsing is done:
 * in actions.
 */
export function globalOptionsOf(command: Command): GlobalOptions {
    return command.optsWithGlobals<GlobalOptions>();
}
