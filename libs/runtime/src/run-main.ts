import { aborted } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { type Flags, type OwnFlags, parseFlags } from "./flags.ts";
import { type Lifecycle } from "./lifecycle.ts";
import { createLogger, levelFromVerbosity, type LogDestination, type Logger } from "./logger.ts";

/** What `compose` gets. */
export interface MainContext {
    readonly flags: Flags;
    readonly logger: Logger;
    /** Aborts at the first signal to stop, and on `fail`. */
    readonly signal: AbortSignal;
    /** Ends the process from within: logs the error, stops all parts, exits with code 1. Only the first call counts. */
    fail(error: unknown): void;
}

type MainEvent = "SIGTERM" | "SIGINT" | "uncaughtException" | "unhandledRejection";

/** The part of `process` that is needed. */
export interface MainProcess {
    readonly argv: readonly string[];
    on(event: MainEvent, listener: (value: unknown) => void): unknown;
    exit(code: number): void;
}

export interface MainOptions {
    /** The name of the program, also the id of its outermost module, e.g. `antrea-agent`. */
    readonly name: string;
    readonly version: string;
    /** The flags that it knows besides `--v`, `--check`, `--print-start-order` and `--version`. Default: `--config FILE`. */
    readonly flags?: OwnFlags;
    /**
     * Reads the settings and builds the parts; starts nothing. When it throws, the error is logged and the exit code
     * is 1.
     */
    compose(context: MainContext): Promise<Lifecycle> | Lifecycle;
    /** Default: the process. */
    readonly process?: MainProcess;
    /** Where log lines and the version go. Default: standard output. */
    readonly destination?: LogDestination;
}

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;

/**
 * The life of a daemon: flags, compose, start, wait, stop, exit. With `--check` it ends after compose; so it does with
 * `--print-start-order`, which prints the names of the parts, one a line, and logs errors only. The first SIGTERM or
 * SIGINT stops the parts in order, a second one exits at once with 128 plus its number. Exit code 0 after a clean stop, 1 after anything else: flags or
 * settings that are wrong, a part that did not start or stop, `fail`, and, at once and without stopping the parts, an
 * uncaught exception or an unhandled rejection (the state is unknown then).
 */
export async function runMain(options: MainOptions): Promise<void> {
    const main: MainProcess = options.process ?? process;
    const destination = options.destination === undefined ? {} : { destination: options.destination };
    let logger = createLogger({ module: options.name, ...destination });
    const ending = new AbortController();
    let failed = false;

    const crash = (message: string) => (error: unknown) => {
        logger.error(message, { error });
        main.exit(1);
    };
    main.on("uncaughtException", crash("uncaught exception"));
    main.on("unhandledRejection", crash("unhandled rejection"));
    for (const name of ["SIGTERM", "SIGINT"] as const) {
        main.on(name, () => {
            if (ending.signal.aborted) {
                logger.warn("second signal, exiting at once", { signal: name });
                return main.exit(128 + signalNumbers[name]);
            }
            logger.info("stopping", { signal: name });
            ending.abort();
        });
    }
    const fail = (error: unknown): void => {
        if (ending.signal.aborted) return;
        failed = true;
        logger.error("stopping because of an error", { error });
        ending.abort();
    };

    try {
        const flags = parseFlags(main.argv.slice(2), options.flags);
        if (flags.version) {
            (options.destination ?? process.stdout).write(`${options.version}\n`);
            return main.exit(0);
        }
        const level = flags.printStartOrder ? "error" : levelFromVerbosity(flags.verbosity);
        logger = createLogger({ module: options.name, level, ...destination });
        logger.info("starting", { version: options.version, node: process.version, verbosity: flags.verbosity });
        const lifecycle = await options.compose({ flags, logger, signal: ending.signal, fail });
        if (flags.printStartOrder) {
            for (const part of lifecycle.startOrder) (options.destination ?? process.stdout).write(`${part}\n`);
            return main.exit(0);
        }
        if (flags.check) {
            logger.info("the settings can be used");
            return main.exit(0);
        }
        await lifecycle.start(ending.signal);
        logger.info("running");
        await aborted(ending.signal);
        await lifecycle.stop();
    } catch (error) {
        // A signal during the start: everything is stopped, and that is what was asked for.
        if (!(ending.signal.aborted && isAborted(error))) {
            failed = true;
            logger.error("failed", { error });
        }
    }
    logger.info("exiting", { code: failed ? 1 : 0 });
    main.exit(failed ? 1 : 0);
}
