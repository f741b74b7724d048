import { Command, Option, type CommanderError } from "commander";
import { formats } from "../output/index.ts";
import { exitOk, exitUsage } from "./failure.ts";
import { version } from "../version.ts";
import { readTimeout, type GlobalOptions } from "./options.ts";

export interface ProgramOptions {
    /** How it was called: `antctl`, or `kubectl antrea`. */
    readonly name: string;
    readonly writeOut: (text: string) => void;
    readonly writeErr: (text: string) => void;
}

const helpWidth = 100;

/** The root command with what all commands take. */
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
 * Gives all commands what they share: where and how they write, and that parsing throws CommanderError instead of
 * ending the process. Called once all commands are there.
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
                // Else it would ask process.stdout, see standard-streams.ts.
                getOutHelpWidth: () => helpWidth,
                getErrHelpWidth: () => helpWidth,
                getOutHasColors: () => false,
                getErrHasColors: () => false,
                // One line: what is wrong, with commander's "(Did you mean …?)".
                outputError: (text, write) => {
                    write(`${text.trim().replaceAll(/\s*\n\s*/g, " ")}\n  next: run "${path} --help"\n`);
                },
            })
            .exitOverride();
        for (const each of command.commands) visit(each, `${path} ${each.name()}`);
    };
    visit(program, name);
}

/** The exit code for what commander threw: that of a wrong command line, or none after help. */
export function exitCodeOf(error: CommanderError): number {
    return error.exitCode === 0 ? exitOk : exitUsage;
}

export function globalOptionsOf(command: Command): GlobalOptions {
    return command.optsWithGlobals<GlobalOptions>();
}
