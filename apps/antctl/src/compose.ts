import { kubeconfigContexts } from "@antrea/kube";
import { Command } from "commander";
import { checkCommand } from "./check/index.ts";
import { completionCommand, type DynamicWords, type TypedOptions } from "./completion/index.ts";
import { convertCommand } from "./convert/index.ts";
import { explainCommand } from "./explain/index.ts";
import { formatReport, styleFor, type Terminal } from "./output/index.ts";
import { type Source } from "./input-files.ts";
import { planCommand } from "./plan/index.ts";
import {
    createProgram,
    exitOk,
    findKubeconfig,
    globalOptionsOf,
    openSession,
    settle,
    type CommandContext,
    type Completer,
} from "./program/index.ts";
import { serviceCommand } from "./service/index.ts";
import { showCommand } from "./show/index.ts";
import { versionCommand } from "./versions/index.ts";
import { whoCommand } from "./who/index.ts";

/**
 * What a run uses of its process: terminal, standard output (`writeOut`) and error (`writeErr`), input files and clock.
 */
export interface Platform {
    readonly terminal: Terminal;
    writeOut(text: string): void;
    writeErr(text: string): void;
    /** See `readSources` of input-files.ts. Throws CliError `BAD_INPUT`. */
    readSources(path: string, recursive: boolean): readonly Source[];
    /** Milliseconds since 1970. */
    now(): number;
    /** Milliseconds. */
    sleep(ms: number): Promise<void>;
}

/** The commands of one run: `program` parses and runs its command line, `dynamicWords` is for `complete`. */
export interface Composition {
    readonly program: Command;
    readonly dynamicWords: DynamicWords;
    /**
     * The exit code that the command set, else 0; of an error that `program.parseAsync` rejects with, see `failureOf`.
     */
    exitCode(): number;
}

/** Longest wait for candidates from the cluster, since the shell waits at the prompt. */
const completionTimeoutMs = 3_000;

/**
 * Builds the commands of one run; runs nothing. `name` is the command in help and errors: `antctl`, `kubectl antrea`.
 * `program.parseAsync` rejects with CommanderError (`exitCodeOf`), also after help, instead of exiting, or with the
 * error of the command; `exitCode` is final when it has settled.
 */
export function compose(name: string, platform: Platform): Composition {
    const { environment } = platform.terminal;
    const completers = new Map<Command, Completer>();
    let exitCode = exitOk;
    const context: CommandContext = {
        style: styleFor(platform.terminal),
        now: () => platform.now(),
        sleep: (ms) => platform.sleep(ms),
        session: (command) => openSession(globalOptionsOf(command), environment),
        print: (command, report, render) => {
            const { output } = globalOptionsOf(command);
            platform.writeOut(formatReport(report, output, (each) => render(each, context.style)));
        },
        write: (text) => platform.writeOut(text),
        note: (text) => platform.writeErr(`${text}\n`),
        readSources: (path, recursive) => platform.readSources(path, recursive),
        exitWith: (code) => {
            exitCode = code;
        },
        completeWith: (command, completer) => {
            completers.set(command, completer);
            return command;
        },
    };

    const ipam = new Command("ipam")
        .summary("IP address management: pools, allocations and their owners")
        .description("Shows and explains IPPools and the addresses that Pods have from them.")
        .addCommand(showCommand(context))
        .addCommand(whoCommand(context))
        .addCommand(explainCommand(context))
        .addCommand(planCommand(context))
        .addCommand(checkCommand(context))
        .addCommand(convertCommand(context));
    const program = createProgram(name)
        .addCommand(ipam)
        .addCommand(serviceCommand(context))
        .addCommand(versionCommand(context))
        .addCommand(completionCommand(context));
    settle(program, { name, writeOut: (text) => platform.writeOut(text), writeErr: (text) => platform.writeErr(text) });

    // An error during completion cannot be reported at the prompt; no candidates are offered.
    const dynamicWords: DynamicWords = {
        argument: async ({ command, typed, before, options }) => {
            const completer = completers.get(command);
            if (completer === undefined) return [];
            try {
                using session = openSession(sessionOptions(options), environment);
                return await completer({ session, typed, before, options });
            } catch {
                return [];
            }
        },
        option: async (option, options) => {
            try {
                if (option === "context") {
                    const files = findKubeconfig(options.get("kubeconfig"), environment);
                    return files === undefined ? [] : kubeconfigContexts(files).map((value) => ({ value }));
                }
                if (option !== "namespace" && option !== "node") return [];
                using session = openSession(sessionOptions(options), environment);
                const { cluster } = session;
                const named = await (option === "node" ? cluster.nodes() : cluster.namespaces());
                return named.map(({ name: value }) => ({ value }));
            } catch {
                return [];
            }
        },
    };
    return { program, dynamicWords, exitCode: () => exitCode };
}

function sessionOptions(options: TypedOptions): Parameters<typeof openSession>[0] {
    const kubeconfig = options.get("kubeconfig");
    const context = options.get("context");
    return {
        ...(kubeconfig === undefined ? {} : { kubeconfig }),
        ...(context === undefined ? {} : { context }),
        requestTimeout: completionTimeoutMs,
    };
}
