import { aborted } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { type Flags, type OwnFlags, parseFlags } from "./flags.ts";
import { type Lifecycle } from "./lifecycle.ts";
import { createLogger, levelFromVerbosity, type LogDestination, type Logger } from "./logger.ts";

/** What `compose` receives: flags, logger, and the means to learn of and cause the end of the process. */
export interface MainContext {
    readonly flags: Flags;
    readonly logger: Logger;
    /** Aborts at the first SIGTERM or SIGINT, and on `fail`. */
    readonly signal: AbortSignal;
    /**
     * Ends the process because of an error: logs it, stops all parts, exits with code 1. Without effect once the end
     * has begun, by an earlier call or by a signal.
     */
    fail(error: unknown): void;
}

type MainEvent = "SIGTERM" | "SIGINT" | "uncaughtException" | "unhandledRejection";

/** The part of `process` that `runMain` uses; `exit` of the real one does not return. */
export interface MainProcess {
    readonly argv: readonly string[];
    on(event: MainEvent, listener: (value: unknown) => void): unknown;
    exit(code: number): void;
}

/**
 * Options of `runMain`: name, version and flags of the program, what it is composed of, and for tests its process and
 * output.
 */
export interface MainOptions {
    /** Name of the program and id of its outermost module, e.g. `antrea-agent`. */
    readonly name: string;
    readonly version: string;
    /** Flags besides `--v`, `--check`, `--print-start-order` and `--version`. Default: `--config FILE`. */
    readonly flags?: OwnFlags;
    /**
     * Reads the settings and builds the parts, without starting anything. An exception is logged and ends the process
     * with code 1.
     */
    compose(context: MainContext): Promise<Lifecycle> | Lifecycle;
    /** Default: the global `process`. */
    readonly process?: MainProcess;
    /** Receives log lines and the output of flags. Default: standard output. */
    readonly destination?: LogDestination;
}

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;

/**
 * Runs a daemon: parses flags, composes, starts, waits, stops, exits. `--version` prints the version and exits before
 * compose, `--check` exits after it; so does `--print-start-order`, which prints the Lifecycle's `startOrder` one per
 * line and logs errors only. The first SIGTERM or SIGINT stops the parts in order, a second one exits at once with 128 plus
 * its number.
 *
 * The exit code is 0 after a clean stop and 1 after invalid flags or settings, a part that did not start or stop, or
 * `fail`. An uncaught exception or unhandled rejection exits with 1 at once, without stopping the parts, as the state
 * is unknown. Never rejects: errors are logged.
 */
export async function runMain(options: MainOptions): Promise<void> {
    const main: MainProcess = options.process ?? process;
    const destination = options.destination === undefined ? {} : { destination: options.destination };
    let logger = createLogger({ module: options.name, ...destination });
    const ending = new AbortController();
    let failed = false;
    const exitCode = (): number => (failed ? 1 : 0);

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
            return main.exit(exitCode());
        }
        if (flags.check) {
            if (!failed) logger.info("the settings can be used");
            return main.exit(exitCode());
        }
        await operate(lifecycle, logger, ending.signal);
    } catch (error) {
        // A signal while it composed: nothing was started.
        if (!(ending.signal.aborted && isAborted(error))) {
            failed = true;
            logger.error("failed", { error });
        }
    }
    logger.info("exiting", { code: exitCode() });
    main.exit(exitCode());
}

/** Starts the parts, waits for the signal and stops them. Rejects with the error of the start, else of the stop. */
async function operate(lifecycle: Lifecycle, logger: Logger, signal: AbortSignal): Promise<void> {
    try {
        await lifecycle.start(signal);
    } catch (error) {
        if (!signal.aborted || !isAborted(error)) throw error;
        // A signal during the start: the parts were stopped, as requested; `stop` reports whether all did.
        return lifecycle.stop();
    }
    logger.info("running");
    await aborted(signal);
    await lifecycle.stop();
}
